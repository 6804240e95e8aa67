// The form of a protocol's entry: what a scenario says of a server that speaks it, and who makes a client of that.

import { z } from 'zod';
import { type Entry, Registry } from '../../core/registry.js';
import type { DomainEntry } from '../tools/domains.js';
import type { OpenEnvSocket } from './openenv.js';
import type { EnvironmentServer, ServerOptions } from './server-http.js';

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

/** A connection to `/ws`, for who looks at its frames one by one. @throws Error where there is none to be had in time */
export async function connectOpenEnv(
  url: string,
  headers: Readonly<Record<string, string>>,
  timeoutSeconds: number,
): Promise<OpenEnvSocket> {
  const { OpenEnvSocket: Socket } = await import('./openenv.js');
  return Socket.connect(url, headers, timeoutSeconds);
}

export const openEnv: ServerProtocol = {
  name: 'openenv',
  title: 'OpenEnv',
  summary: 'An environment on a server of OpenEnv.',
  schema: z.strictObject({
    openenv: z.string().min(1).describe('address of a server of OpenEnv, or of one of its environments (…/envs/NAME)'),
  }),
  make: async () => {
    const { OpenEnvServer } = await import('./openenv.js');
    return ({ openenv }, options) => new OpenEnvServer(String(openenv), options);
  },
};

export const ors: ServerProtocol = {
  name: 'ors',
  title: 'Open Reward Standard',
  summary: 'An environment on a server of the Open Reward Standard.',
  schema: z.strictObject({ ors: z.string().min(1).describe('address of a server of the Open Reward Standard') }),
  make: async () => {
    const { OrsServer } = await import('./ors.js');
    return ({ ors: url }, options) => new OrsServer(String(url), options);
  },
};

const command = z.array(z.string().min(1)).min(1);

export const mcp: ServerProtocol = {
  name: 'mcp',
  title: 'Model Context Protocol',
  summary: 'The tools of a server of the Model Context Protocol.',
  schema: z.strictObject({
    mcp: z
      .union([z.string().min(1), command])
      .describe(
        'address of an MCP server (streamable HTTP), or a program and its arguments that speaks MCP on its standard input and output',
      ),
  }),
  make: async () => {
    const { McpServer } = await import('./mcp.js');
    return ({ mcp: where }, options) => new McpServer(z.union([z.string(), command]).parse(where), options);
  },
};

/** By the key that a scenario names them with. */
export const serverProtocols = new Registry<ServerProtocol>('server protocol', [openEnv, ors, mcp]);

export const serverDomains: readonly DomainEntry[] = serverProtocols.list().map(entryOf);

function entryOf(protocol: ServerProtocol): DomainEntry {
  const { name, summary } = protocol;
  const schema = protocol.schema.extend(serverKeys);
  return {
    name,
    summary,
    namedBy: name,
    schema,
    make: async () => {
      const { serverDomain } = await import('./server-domain.js');
      const serverOf = await protocol.make();
      return async (given) => {
        const settings = schema.parse(given) as unknown as ServerSettings;
        const { timeoutSeconds, taskLimit, environment } = settings;
        return serverDomain(protocol, serverOf(settings, { timeoutSeconds, taskLimit, environment }), settings);
      };
    },
  };
}
