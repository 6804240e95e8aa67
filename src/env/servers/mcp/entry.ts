// `domain: { mcp: URL }`, or a command that is one: `domain: { mcp: [python, server.py] }`.

import { z } from 'zod';
import type { ServerProtocol } from '../server-protocol.js';

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
    const { McpServer } = await import('./mcp-server.js');
    return ({ mcp: where }, options) => new McpServer(z.union([z.string(), command]).parse(where), options);
  },
};
