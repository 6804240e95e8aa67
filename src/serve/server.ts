// Starts and stops a server of environments.

import type { AddressInfo } from 'node:net';
import { type AnyScenario, openServable, type Servable, versions } from '../run/index.js';
import { type SessionLimits, SessionTable } from './core/session-table.js';
import { nativeFacade } from './facades/native/native.js';
import { makeApp } from './http/app.js';

export interface ServeOptions {
  /** What is served: scenarios, the first of which clients get where they name none. */
  readonly scenarios: readonly AnyScenario[];
  /** Serve the real environments even where there is a dream of them. */
  readonly real?: boolean;
  /** A world model, or a run that holds one, for the scenarios of family `vector`. */
  readonly model?: string;
  /** Folder for what is kept while serving: replies of language models, experience. */
  readonly folder: string;
  readonly host?: string;
  /** 0: a free one. */
  readonly port?: number;
  readonly limits?: Partial<SessionLimits>;
  readonly log: (line: string) => void;
}

export interface RunningServer {
  /** `http://host:port` */
  readonly url: string;
  readonly sessions: SessionTable;
  /** Takes no new sessions, waits for those that are there up to `seconds`, then closes everything. */
  stop(seconds: number): Promise<void>;
}

const FACADES = [nativeFacade];
const BODY_LIMIT = 1 << 20;

/** @throws as `openServable`; ENV_NAME_RESERVED; what listening throws */
export async function startServer(options: ServeOptions): Promise<RunningServer> {
  const { scenarios, host = '127.0.0.1', port = 8000, limits, ...servable } = options;
  const served: Servable[] = [];
  for (const scenario of scenarios) served.push(await openServable(scenario, servable));
  const sessions = new SessionTable(served, limits);
  const { reverie: version } = versions();
  const app = await makeApp({ sessions, facades: FACADES, version, bodyLimit: BODY_LIMIT });
  await app.listen({ host, port });
  const { port: bound } = app.server.address() as AddressInfo;
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${bound}`,
    sessions,
    stop: async (seconds) => {
      await sessions.drain(seconds);
      await app.close();
      for (const one of served) await one.close();
    },
  };
}
