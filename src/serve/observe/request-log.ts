// One line in the log for each request and each WebSocket, and their numbers for the metrics.

import type { IncomingMessage } from 'node:http';
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
export const LEFT = 499;

/** What is to be done with each request. */
export interface RequestLog {
  begin(request: FastifyRequest): void;
  /** Once: what comes later is not told. */
  end(request: FastifyRequest, status: number): void;
}

/** Paths are logged without what follows the `?`. Registered after WebSockets. */
export function logRequests(app: FastifyInstance, isLogging: boolean, told: (facts: RequestFacts) => void): RequestLog {
  app.decorateRequest('failure', undefined);
  app.decorateRequest('startedAt', undefined);
  const sockets = new WeakMap<IncomingMessage, FastifyRequest>();
  app.websocketServer.on('connection', (_socket, raw) => {
    const request = sockets.get(raw);
    if (request !== undefined) tellSocket(request);
  });
  return {
    begin(request) {
      request.startedAt = performance.now();
      if (request.ws && isLogging) sockets.set(request.raw, request);
    },
    end(request, status) {
      const { method, startedAt, failure } = request;
      if (startedAt === undefined) return;
      request.startedAt = undefined;
      const seconds = (performance.now() - startedAt) / 1000;
      told({ method, route: request.routeOptions.url ?? 'unknown', status, seconds });
      if (!isLogging) return;
      const code = failure === undefined ? {} : { code: failure };
      request.log.info({ ...factsOf(request), status, ...code, ms: Math.round(seconds * 1e4) / 10 }, 'request');
    },
  };
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
