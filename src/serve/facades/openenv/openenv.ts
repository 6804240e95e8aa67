// OpenEnv, for TRL, verifiers, AgileRL, Unsloth and whoever else has its clients: a WebSocket with a session each, and HTTP.
// https://github.com/huggingface/OpenEnv (core/env_server), version 0.3

import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { WebSocket } from 'ws';
import { ReverieError, reverieError } from '../../../core/errors.js';
import type { Servable } from '../../../run/serving/index.js';
import { servedByName } from '../../core/task-choice.js';
import type { Facade, FacadeContext } from '../../http/facade.js';
import { type FrameHandlers, serveFrames } from '../../http/frames.js';
import { openApiDocument } from '../../http/openapi.js';
import { parseJson } from '../../http/request-guards.js';
import { envWire } from './env-wire.js';
import { httpRoutes } from './http-routes.js';
import { answerRpc, RPC_CODES, RpcFault, rpcFailure } from './json-rpc.js';
import { boundMethods, looseMethods, officialMcp } from './mcp-methods.js';

import { Player, REPLY_LIMITS, type ReplyLimits } from './player.js';

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

// `POST /mcp` and the WebSocket `/mcp`, for each environment under /envs/NAME too: JSON-RPC, where a failure is an answer
// of status 200.

type Context = FacadeContext & { readonly replies: ReplyLimits };

/** Adds the routes to an application of their own, as they read bodies and tell errors in their own way. */
function mcpRoutes(app: FastifyInstance, context: Context): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => done(null, body));
  app.setErrorHandler(answerError);
  for (const url of ['/mcp', '/envs/:env/mcp']) {
    const servedFor = ({ params }: FastifyRequest) => servedByName(context.sessions, (params as { env?: string }).env);
    app.post(url, (request, reply) => answerPost(context, servedFor(request), request, reply));
    app.route({
      method: 'GET',
      url,
      handler: (request, reply) => answerGet(context, servedFor(request), request, reply),
      wsHandler: (socket, request) => serveMcp(socket, request, servedFor(request), context),
    });
  }
}

async function answerPost(
  { sessions, ownerOf, replies }: Context,
  served: Servable,
  request: FastifyRequest,
  reply: FastifyReply,
) {
  const message = parsed(request.body);
  if (message instanceof RpcFault) return rpcFailure(message);
  request.body = message;
  const official = officialMcp(sessions, request);
  if (official !== undefined) return official(request, reply, served);
  return answerRpc(message, looseMethods({ sessions, served, owner: ownerOf(request), replies }));
}

function answerGet({ sessions }: Context, served: Servable, request: FastifyRequest, reply: FastifyReply) {
  const official = officialMcp(sessions, request);
  if (official !== undefined) return official(request, reply, served);
  throw reverieError('ROUTE_UNKNOWN', { method: 'GET', path: request.url });
}

/** A connection's first call begins an episode. */
function serveMcp(socket: WebSocket, request: FastifyRequest, served: Servable, context: Context): void {
  const { sessions, ownerOf, replies, limits } = context;
  const owner = ownerOf(request);
  let player: Player | undefined;
  const opened = () =>
    new Player({ sessions, served, id: sessions.open({ env: served.name, owner }).id, owner, replies });
  const handlers: FrameHandlers = {
    async answer(text, signal) {
      const message = parsed(text);
      if (message instanceof RpcFault) return JSON.stringify(rpcFailure(message));
      player ??= opened();
      return JSON.stringify(await answerRpc(message, boundMethods(player, signal, true)));
    },
    failure: (error) => JSON.stringify(rpcFailure(error)),
    async left() {
      if (player !== undefined) await sessions.close(player.sessionId, owner).catch(() => {});
    },
  };
  serveFrames(socket, request, handlers, limits);
}

function parsed(text: unknown): unknown {
  try {
    return parseJson(typeof text === 'string' ? text : '');
  } catch (error) {
    return new RpcFault(RPC_CODES.parse, `Parse error: ${(error as ReverieError).message}`);
  }
}

/** Bodies too large and the like: an answer too. Who may not ask at all, and paths that are not, are told as everywhere. */
function answerError(error: FastifyError | ReverieError, _request: FastifyRequest, reply: FastifyReply): void {
  if (error instanceof ReverieError && [401, 403, 404, 421].includes(error.status)) throw error;
  const fault = error instanceof ReverieError ? error : new RpcFault(RPC_CODES.request, error.message);
  void reply.status(200).send(rpcFailure(fault));
}
