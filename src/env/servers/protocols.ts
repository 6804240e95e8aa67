// The protocols of servers that a scenario can name, by the key that holds the address, and who makes a client of each.

import { z } from 'zod';
import type { DomainEntry } from '../tools/domain.js';
import { type EnvironmentServer, type ServerOptions, type ServerSettings, serverKeys } from './server-http.js';

/** Makes a client; talks to no server yet. @throws REMOTE_URL_INVALID */
type ServerMaker = (where: unknown, options: ServerOptions) => EnvironmentServer;

const command = z.array(z.string().min(1)).min(1);

export const serverDomains: readonly DomainEntry[] = [
  entryOf(
    'openenv',
    'An environment on a server of OpenEnv.',
    z.string().min(1).describe('address of a server of OpenEnv, or of one of its environments (…/envs/NAME)'),
    async () => {
      const { OpenEnvServer } = await import('./openenv.js');
      return (url, options) => new OpenEnvServer(String(url), options);
    },
  ),
  entryOf(
    'ors',
    'An environment on a server of the Open Reward Standard.',
    z.string().min(1).describe('address of a server of the Open Reward Standard'),
    async () => {
      const { OrsServer } = await import('./ors.js');
      return (url, options) => new OrsServer(String(url), options);
    },
  ),
  entryOf(
    'mcp',
    'The tools of a server of the Model Context Protocol.',
    z
      .union([z.string().min(1), command])
      .describe(
        'address of an MCP server (streamable HTTP), or a program and its arguments that speaks MCP on its standard input and output',
      ),
    async () => {
      const { McpServer } = await import('./mcp.js');
      return (where, options) => new McpServer(z.union([z.string(), command]).parse(where), options);
    },
  ),
];

function entryOf(name: string, summary: string, address: z.ZodType, make: () => Promise<ServerMaker>): DomainEntry {
  const schema = z.strictObject({ [name]: address, ...serverKeys });
  return {
    name,
    summary,
    namedBy: name,
    schema,
    make: async () => {
      const { serverDomain } = await import('./server-domain.js');
      const serverOf = await make();
      return async (given) => {
        const settings = schema.parse(given) as unknown as ServerSettings;
        const { timeoutSeconds, taskLimit, environment } = settings;
        return serverDomain(name, serverOf(settings[name], { timeoutSeconds, taskLimit, environment }), settings);
      };
    },
  };
}
