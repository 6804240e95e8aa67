// OpenEnv, for TRL, verifiers, AgileRL, Unsloth and whoever else has its clients: a WebSocket with a session each, and HTTP.
// https://github.com/huggingface/OpenEnv (core/env_server), version 0.3

import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Facade, FacadeContext } from '../../http/facade.js';
import { openApiDocument } from '../../http/openapi.js';
import { servedByName } from '../served-name.js';
import { envWire } from './env-wire.js';
import { httpRoutes } from './http-routes.js';
import { mcpRoutes } from './mcp-routes.js';
import { REPLY_LIMITS, type ReplyLimits } from './reply-in-time.js';
import { openEnvDescriptions, ownDescriptions } from './route-descriptions.js';
import { serveOpenEnv } from './web-socket.js';

/** @throws TOOL_NAME_RESERVED when it registers, for an environment that OpenEnv could not serve */
export function makeOpenEnvFacade(replies: ReplyLimits = REPLY_LIMITS): Facade {
  return {
    name: 'openenv',
    reserved: ['ws', 'envs', 'reset', 'step', 'state', 'metadata', 'schema', 'mcp', 'web'],
    routes: openEnvDescriptions,
    async register(app: FastifyInstance, facadeContext: FacadeContext) {
      const context = { ...facadeContext, replies };
      for (const served of context.sessions.environments.values()) envWire(served);
      await app.register(async (own) => httpRoutes(own, context));
      await app.register(async (own) => mcpRoutes(own, context));
      // `openenv validate --url` of one environment looks for it beneath that.
      const document = openApiDocument(ownDescriptions, context.version);
      app.get('/envs/:env/openapi.json', () => document);
      for (const url of ['/ws', '/envs/:env/ws']) {
        const servedFor = ({ params }: FastifyRequest) =>
          servedByName(context.sessions, (params as { env?: string }).env);
        // Before the connection is upgraded, so that a wrong name is an HTTP 404.
        const preValidation = async (request: FastifyRequest) => void servedFor(request);
        app.get(url, { websocket: true, preValidation }, (socket, request) =>
          serveOpenEnv(socket, request, servedFor(request), context),
        );
      }
    },
  };
}

export const openEnvFacade = makeOpenEnvFacade();
