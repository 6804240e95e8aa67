// Text frames of a WebSocket, one after the other: each is answered before the next is looked at, so that answers come in
// the order of their requests, and only so many may wait.

import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { RawData, WebSocket, WebSocketServer } from 'ws';
import { type ReverieError, reverieError } from '../../core/errors.js';
import type { Owner } from '../core/session-contract.js';
import type { Caller } from './access.js';
import { asCatalogued, HTTP_LIMITS, type HttpLimits } from './requests.js';

export interface FrameHandlers {
  /** Answers one frame; undefined: it gets no answer. */
  answer(text: string, signal: AbortSignal): Promise<string | undefined>;
  /** What is answered where `answer` threw, or too many frames wait (REQUESTS_TOO_MANY). */
  failure(error: ReverieError): string;
  /** The connection is gone and no frame is under way any more. */
  left(): void | Promise<void>;
}

/** RFC 6455, 7.4.1. */
const UNSUPPORTED = 1003;
const POLICY = 1008;

/**
 * Serves a connection until it closes. `answer`'s signal is aborted when the client leaves. A client that sends on and on
 * without awaiting answers is told so and closed.
 */
export function serveFrames(
  socket: WebSocket,
  request: FastifyRequest,
  handlers: FrameHandlers,
  limits: HttpLimits = HTTP_LIMITS,
): void {
  const gone = new AbortController();
  /** Not answered yet; the first is under way. */
  const waiting: string[] = [];
  let underway: Promise<void> = Promise.resolve();
  const send = (text: string | undefined) => {
    if (text !== undefined && socket.readyState === socket.OPEN) socket.send(text);
  };
  const failed = (error: unknown) => {
    const known = asCatalogued(error, request, limits);
    if (known.code === 'SERVER_FAILED') request.log.error({ err: error }, 'frame failed');
    return handlers.failure(known);
  };
  const answered = async (text: string) => {
    if (gone.signal.aborted) return;
    try {
      send(await handlers.answer(text, gone.signal));
    } catch (error) {
      if (!gone.signal.aborted) send(failed(error));
    }
  };
  const broken = (error: unknown) => {
    request.log.error({ err: error }, 'connection given up');
    socket.terminate();
  };
  const answerAll = async () => {
    while (waiting.length > 0) {
      await answered(waiting[0]).catch(broken);
      waiting.shift();
    }
  };
  socket.on('message', (data: RawData, isBinary: boolean) => {
    if (isBinary) return socket.close(UNSUPPORTED, 'text frames only');
    if (waiting.length >= limits.underway) {
      send(handlers.failure(reverieError('REQUESTS_TOO_MANY', { limit: limits.underway })));
      return socket.close(POLICY, 'REQUESTS_TOO_MANY');
    }
    waiting.push(String(data));
    if (waiting.length === 1) underway = answerAll();
  });
  socket.on('close', () => {
    gone.abort(new Error('the client left'));
    void underway.then(() => handlers.left()).catch(broken);
  });
}

// What every WebSocket is held to, whatever is spoken on it, and the end of all of them when a server stops.

/** RFC 6455, 7.4.1: the endpoint goes away. */
const GOING_AWAY = 1001;
/** Milliseconds for clients to say goodbye. */
const PATIENCE = 1000;

/** A client that asks on and on and never reads is dropped before its answers fill the memory. */
export function dropDeafSockets(server: WebSocketServer, { unreadBytes }: Pick<HttpLimits, 'unreadBytes'>): void {
  server.on('connection', (socket) => {
    socket.on('message', () => {
      if (socket.bufferedAmount > unreadBytes) socket.terminate();
    });
  });
}

/** Closes every connection with 1001; resolves once all are gone. */
export async function closeSockets(server: WebSocketServer): Promise<void> {
  await Promise.all([...server.clients].map(closeSocket));
}

function closeSocket(socket: WebSocket): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => socket.terminate(), PATIENCE);
    socket.once('close', () => {
      clearTimeout(timer);
      resolve();
    });
    socket.close(GOING_AWAY, 'server is shutting down');
  });
}

const MINUTE = 60_000;

interface Window {
  startedAt: number;
  bytes: number;
}

export class ByteMeter {
  private readonly windows = new Map<Owner, Window>();

  /** @param now milliseconds */
  constructor(private readonly now: () => number = Date.now) {}

  add(owner: Owner, bytes: number): void {
    this.windowOf(owner).bytes += bytes;
  }

  isUsedUp({ owner, quota: { bytesPerMinute = Number.POSITIVE_INFINITY } }: Caller): boolean {
    return this.windowOf(owner).bytes >= bytesPerMinute;
  }

  /** @throws QUOTA_EXCEEDED once a minute's bytes are used up */
  check(caller: Caller): void {
    if (!this.isUsedUp(caller)) return;
    const { bytes: used, startedAt } = this.windowOf(caller.owner);
    const retryAfter = Math.max(1, Math.ceil((startedAt + MINUTE - this.now()) / 1000));
    const { bytesPerMinute: limit } = caller.quota;
    throw reverieError('QUOTA_EXCEEDED', { what: 'bytes per minute', used, limit, retryAfter });
  }

  private windowOf(owner: Owner): Window {
    const known = this.windows.get(owner);
    if (known !== undefined && this.now() - known.startedAt < MINUTE) return known;
    const window = { startedAt: this.now(), bytes: 0 };
    this.windows.set(owner, window);
    return window;
  }
}

/** Tells of the bytes that went over a connection since it was last asked for them. */
function bytesSince(): (socket: Socket) => number {
  const seen = new WeakMap<Socket, number>();
  return (socket) => {
    const total = socket.bytesRead + socket.bytesWritten;
    const before = seen.get(socket) ?? 0;
    seen.set(socket, total);
    return total - before;
  };
}

/** All bytes of a server. Connections are looked at when they end and when somebody wants to know, not with each request. */
export class NetworkBytes {
  private readonly open = new Set<Socket>();
  private readonly since = bytesSince();

  constructor(
    server: Server,
    private readonly told: (bytes: number) => void,
  ) {
    server.on('connection', (socket: Socket) => {
      this.open.add(socket);
      socket.once('close', () => {
        this.open.delete(socket);
        told(this.since(socket));
      });
    });
  }

  /** Tells of all that went over since it was last told of. */
  tell(): void {
    for (const socket of this.open) this.told(this.since(socket));
  }
}

type Metered = Pick<FastifyRequest, 'raw' | 'caller'> & { readonly ws?: boolean };

/** What is to be done with each request where bytes are limited. */
interface RequestMeter {
  /** Before it is read. @throws QUOTA_EXCEEDED */
  check(request: Metered): void;
  /** After it was answered, or given up. */
  count(request: Metered): void;
}

/** Counts for `meter`. Registered after WebSockets, as one that is over its quota is closed with 1008. */
export function meterBytes(app: FastifyInstance, meter: ByteMeter): RequestMeter {
  const callers = new WeakMap<IncomingMessage, Caller>();
  const since = bytesSince();
  const count = (socket: Socket, caller: Caller | undefined) => {
    const bytes = since(socket);
    if (caller !== undefined) meter.add(caller.owner, bytes);
  };
  app.websocketServer.on('connection', (socket, raw) => {
    const caller = callers.get(raw);
    socket.on('message', () => {
      count(raw.socket, caller);
      if (caller !== undefined && meter.isUsedUp(caller)) socket.close(POLICY, 'QUOTA_EXCEEDED');
    });
    socket.on('close', () => count(raw.socket, caller));
  });
  return {
    check({ raw, ws, caller }) {
      if (caller === undefined) return;
      meter.check(caller);
      if (ws) callers.set(raw, caller);
    },
    count: ({ raw, caller }) => count(raw.socket, caller),
  };
}
