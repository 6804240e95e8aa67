// The form of a protocol's entry: what a scenario says of a server that speaks it, and who makes a client of that.

import { z } from 'zod';
import type { Entry } from '../../core/registry.js';
import type { EnvironmentServer, ServerOptions } from './server-contract.js';

/** Settings of any server, beside its address. */
export const serverKeys = {
  environment: z.string().min(1).optional().describe('a server: which of its environments; by default its first'),
  taskLimit: z.int().min(1).default(100).describe('a server: tasks of each split that are asked for; 100'),
  sessions: z.int().min(1).default(8).describe('a server: sessions that are held there at once; 8'),
  timeoutSeconds: z.number().positive().default(60).describe('a server: longest time for one answer; 60'),
  patienceSeconds: z
    .number()
    .min(0)
    .default(30)
    .describe('a server: how long one that is gone, or full, is asked again before the run stops; 30'),
};

export type ServerSettings = Readonly<Record<string, unknown>> & {
  readonly [Key in keyof typeof serverKeys]: z.output<(typeof serverKeys)[Key]>;
};

/** Makes a client; talks to nobody yet. @throws REMOTE_URL_INVALID */
export type ServerMaker = (settings: ServerSettings, options: ServerOptions) => EnvironmentServer;

/** `name` is the key of the section `domain` that holds the address. */
export interface ServerProtocol extends Entry<ServerMaker> {
  /** As people write it. */
  readonly title: string;
  /** Its own keys, the address among them. */
  readonly schema: z.ZodObject;
}
