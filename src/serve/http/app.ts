// One fastify application: every facade's routes over the same sessions, one way to say what went wrong.

import websocket from '@fastify/websocket';
import Fastify, { type FastifyError, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { ReverieError, reverieError } from '../../errors.js';
import type { Sessions } from '../core/session-contract.js';
import { DESCRIPTION_PATHS, describeRoutes } from './describe-routes.js';
import type { Facade, FacadeContext } from './facade.js';

export interface AppOptions {
  readonly sessions: Sessions;
  readonly facades: readonly Facade[];
  readonly version: string;
  /** Bytes of a request's body, or of a frame. */
  readonly bodyLimit: number;
}

/** Environments are named by their paths: these names would clash with routes. @throws ENV_NAME_RESERVED */
function checkNames(sessions: Sessions, facades: readonly Facade[]): void {
  const reserved = new Set<string>([...DESCRIPTION_PATHS, ...facades.flatMap((facade) => facade.reserved)]);
  for (const name of sessions.environments.keys()) {
    if (reserved.has(name)) throw reverieError('ENV_NAME_RESERVED', { name });
  }
}

export async function makeApp({ sessions, facades, version, bodyLimit }: AppOptions): Promise<FastifyInstance> {
  checkNames(sessions, facades);
  const app = Fastify({ bodyLimit, logger: false });
  app.setErrorHandler(answerError);
  app.setNotFoundHandler((request) => {
    throw reverieError('ROUTE_UNKNOWN', { method: request.method, path: request.url });
  });
  await app.register(websocket, { options: { maxPayload: bodyLimit, perMessageDeflate: false } });
  const context: FacadeContext = { sessions, version, ownerOf: () => 'local' };
  describeRoutes(app, facades, version);
  for (const facade of facades) await facade.register(app, context);
  return app;
}

/** `{"error": {"code", "message", "hint"}}` with the catalogue's status. Facades whose protocol says otherwise set their own. */
function answerError(error: FastifyError | ReverieError, _request: FastifyRequest, reply: FastifyReply): void {
  const known = error instanceof ReverieError ? error : asCatalogued(error);
  const { code, message, hint, status } = known;
  void reply.status(status).send({ error: { code, message, hint } });
}

function asCatalogued(error: FastifyError): ReverieError {
  const status = error.statusCode ?? 500;
  if (status >= 500) return reverieError('SERVER_FAILED', {}, error);
  return reverieError('REQUEST_INVALID', { problem: error.message }, error);
}
