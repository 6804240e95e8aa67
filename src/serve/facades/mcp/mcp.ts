// The Model Context Protocol over streamable HTTP: any agent harness walks into an environment as into a server of tools.
// At /mcp/NAME; /mcp alone is OpenEnv's too, which hands over who speaks the official protocol.

import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Facade, FacadeContext } from '../../http/facade.js';
import type { RouteDescription } from '../../http/route-description.js';
import { environmentNamed } from '../named-environment.js';
import { answerOfficialMcp } from '../openenv/official-mcp.js';
import { McpSessions } from './mcp-sessions.js';
import { wishSchema } from './wish.js';

const json = z.record(z.string(), z.unknown());

const mcpDescriptions: readonly RouteDescription[] = (['post', 'get', 'delete'] as const).map((method) => ({
  method,
  path: '/mcp/:env',
  tag: 'Model Context Protocol',
  summary: { post: 'Send a message', get: 'Listen to messages', delete: 'Close the session' }[method],
  description: 'Streamable HTTP: connect with a client of the protocol. The query counts with `initialize`.',
  parameters: { env: 'Name of the environment' },
  ...(method === 'post'
    ? { query: wishSchema, body: { schema: json } }
    : { headers: { 'Mcp-Session-Id': 'The session' } }),
  answer: { status: 200, description: 'JSON-RPC, or server-sent events of it' },
}));

type Params = { Params: { env?: string } };

export const mcpFacade: Facade = {
  name: 'mcp',
  endpoint: '/mcp',
  reserved: ['mcp'],
  routes: mcpDescriptions,
  register(app: FastifyInstance, context: FacadeContext) {
    const mcp = new McpSessions(context);
    const servedFor = (request: FastifyRequest<Params>) => environmentNamed(context.sessions, request.params.env);
    app.route<Params>({
      method: ['GET', 'POST', 'DELETE'],
      url: '/mcp/:env',
      handler: (request, reply) => mcp.answer(request, reply, servedFor(request)),
    });
    for (const url of ['/mcp', '/envs/:env/mcp']) {
      app.delete<Params>(url, (request, reply) => mcp.answer(request, reply, servedFor(request)));
    }
    answerOfficialMcp(context.sessions, (request, reply, served) => mcp.answer(request, reply, served));
  },
};
