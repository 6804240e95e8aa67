// `POST /mcp` and the WebSocket `/mcp`, for each environment under /envs/NAME too: JSON-RPC, where a failure is an answer
// of status 200.

import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { WebSocket } from 'ws';
import { ReverieError, reverieError } from '../../../errors.js';
import type { Servable } from '../../../run/index.js';
import type { FacadeContext } from '../../http/facade.js';
import { type FrameHandlers, serveFrames } from '../../http/frames.js';
import { parseJson } from '../../http/json-guard.js';
import { servedByName } from '../served-name.js';
import { answerRpc, RPC_CODES, RpcFault, rpcFailure } from './json-rpc.js';
import { boundMethods, looseMethods } from './mcp-methods.js';
import { officialMcp } from './official-mcp.js';
import { Player } from './player.js';
import type { ReplyLimits } from './reply-in-time.js';

type Context = FacadeContext & { readonly replies: ReplyLimits };

/** Adds the routes to an application of their own, as they read bodies and tell errors in their own way. */
export function mcpRoutes(app: FastifyInstance, context: Context): void {
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
