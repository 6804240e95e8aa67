// One line in the log for each request and each WebSocket, and their numbers for the metrics.

import type { IncomingMessage } from 'node:http';
import type { FastifyBaseLogger, FastifyInstance, FastifyRequest } from 'fastify';
import type { Caller } from '../http/tokens.js';

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

/** A request that is over. */
export interface Answered {
  readonly method: string;
  readonly url: string;
  readonly route: string;
  readonly status: number;
  /** Milliseconds, as `performance.now()` has them. */
  readonly startedAt: number;
  readonly caller: Caller | undefined;
  /** Code of the error it was answered with. */
  readonly failure: string | undefined;
  /** Knows its trace. */
  readonly log: Pick<FastifyBaseLogger, 'info'> | undefined;
}

/** What is to be done with each request. */
export interface RequestLog {
  begin(request: FastifyRequest): void;
  /** Once: what comes later is not told. */
  end(request: FastifyRequest, status: number): void;
  /** Both at once, of one that fastify never saw. */
  tell(answered: Answered): void;
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
  const tell = (answered: Answered) => {
    const { method, route, status, startedAt, failure, log } = answered;
    const seconds = (performance.now() - startedAt) / 1000;
    told({ method, route, status, seconds });
    if (!isLogging) return;
    const code = failure === undefined ? {} : { code: failure };
    log?.info({ ...factsOf(answered), status, ...code, ms: Math.round(seconds * 1e4) / 10 }, 'request');
  };
  return {
    tell,
    begin(request) {
      request.startedAt = performance.now();
      if (request.ws && isLogging) sockets.set(request.raw, request);
    },
    end(request, status) {
      const { method, url, startedAt, caller, failure, log } = request;
      if (startedAt === undefined) return;
      request.startedAt = undefined;
      tell({ method, url, route: request.routeOptions.url ?? 'unknown', status, startedAt, caller, failure, log });
    },
  };
}

function tellSocket(request: FastifyRequest): void {
  const { socket } = request.raw;
  const facts = factsOf(request);
  socket.once('close', () => request.log.info({ ...facts, bytes: socket.bytesRead }, 'socket closed'));
  request.log.info(facts, 'socket opened');
}

function factsOf({ method, url, caller }: Pick<Answered, 'method' | 'url' | 'caller'>): Record<string, unknown> {
  const owner = caller === undefined ? {} : { owner: caller.owner };
  return { method, path: url.split('?', 1)[0], ...owner };
}
