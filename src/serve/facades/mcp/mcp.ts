// The Model Context Protocol over streamable HTTP: any agent harness walks into an environment as into a server of tools.
// At /mcp/NAME; /mcp alone is OpenEnv's too, which hands over who speaks the official protocol.

import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Facade, FacadeContext } from '../../http/facade.js';
import { environmentNamed } from '../named-environment.js';
import { answerOfficialMcp } from '../openenv/official-mcp.js';
import { McpSessions } from './mcp-sessions.js';

type Params = { Params: { env?: string } };

export const mcpFacade: Facade = {
  name: 'mcp',
  endpoint: '/mcp',
  reserved: ['mcp'],
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
