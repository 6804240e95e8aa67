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
    /** Milliseconds, until it is told of. */
    startedAt: number | undefined;
  }
}

/** nginx's word for a client that left before it was answered. */
const LEFT = 499;

/** Paths are logged without what follows the `?`. */
export function logRequests(app: FastifyInstance, told: (facts: RequestFacts) => void): void {
  app.decorateRequest('failure', undefined);
  app.decorateRequest('startedAt', undefined);
  const tell = (request: FastifyRequest, status: number) => {
    const { startedAt } = request;
    if (startedAt === undefined) return;
    request.startedAt = undefined;
    const seconds = (performance.now() - startedAt) / 1000;
    const { method } = request;
    told({ method, route: request.is404 ? 'unknown' : (request.routeOptions.url ?? 'unknown'), status, seconds });
    const code = request.failure === undefined ? {} : { code: request.failure };
    request.log.info({ ...factsOf(request), status, ...code, ms: Math.round(seconds * 1e4) / 10 }, 'request');
  };
  app.addHook('onRequest', (request, _reply, done) => {
    request.startedAt = performance.now();
    done();
  });
  app.addHook('onResponse', (request, reply, done) => {
    tell(request, reply.statusCode);
    done();
  });
  app.addHook('onRequestAbort', async (request) => tell(request, LEFT));
  app.addHook('preHandler', (request, _reply, done) => {
    if (request.ws) tellSocket(request);
    done();
  });
}

function tellSocket(request: FastifyRequest): void {
  const { socket } = request.raw;
  const facts = factsOf(request);
  socket.once('close', () => request.log.info({ ...facts, bytes: socket.bytesRead }, 'socket closed'));
  request.log.info(facts, 'socket opened');
}

function factsOf({ method, url, caller }: FastifyRequest): Record<string, unknown> {
  const owner = caller === undefined ? {} : { owner: caller.owner };
  return { method, path: url.split('?', 1)[0], ...owner };
}
