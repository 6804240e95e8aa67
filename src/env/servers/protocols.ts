// The protocols of servers that a scenario can name, and who makes a client of each.

import { z } from 'zod';
import { Registry } from '../../core/registry.js';
import type { DomainEntry } from '../tools/domain.js';
import type { OpenEnvSocket } from './openenv.js';
import { type ServerProtocol, type ServerSettings, serverKeys } from './server-http.js';

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
