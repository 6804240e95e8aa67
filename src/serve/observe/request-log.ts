// One line in the log for each request and each WebSocket, and their numbers for the metrics.

import type { FastifyInstance, FastifyRequest } from 'fastify';

export interface RequestFacts {
  readonly method: string;
  /** The route as it was declared, without what a client put into it; `unknown` where there is none. */
  readonly route: string;
  readonly status: number;
  readonly seconds: number;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Code of the error it was answered with. */
    failure: string | undefined;
  }
}

/** nginx's word for a client that left before it was answered. */
const LEFT = 499;

/** Paths are logged without what follows the `?`. */
export function logRequests(app: FastifyInstance, told: (facts: RequestFacts) => void): void {
  app.decorateRequest('failure', undefined);
  const underway = new WeakMap<FastifyRequest, number>();
  const tell = (request: FastifyRequest, status: number) => {
    const startedAt = underway.get(request);
    if (startedAt === undefined) return;
    underway.delete(request);
    const seconds = (performance.now() - startedAt) / 1000;
    const { method } = request;
    told({ method, route: request.is404 ? 'unknown' : (request.routeOptions.url ?? 'unknown'), status, seconds });
    const code = request.failure === undefined ? {} : { code: request.failure };
    request.log.info({ ...factsOf(request), status, ...code, ms: Math.round(seconds * 1e4) / 10 }, 'request');
  };
  app.addHook('onRequest', async (request) => void underway.set(request, performance.now()));
  app.addHook('onResponse', async (request, reply) => tell(request, reply.statusCode));
  app.addHook('onRequestAbort', async (request) => tell(request, LEFT));
  app.addHook('preHandler', async (request) => {
    if (!request.ws) return;
    const { socket } = request.raw;
    const facts = factsOf(request);
    socket.once('close', () => request.log.info({ ...facts, bytes: socket.bytesRead }, 'socket closed'));
    request.log.info(facts, 'socket opened');
  });
}

function factsOf({ method, url, caller }: FastifyRequest): Record<string, unknown> {
  const owner = caller === undefined ? {} : { owner: caller.owner };
  return { method, path: url.split('?', 1)[0], ...owner };
}
