// WebSockets: frames are answered one after the other, so that answers come in the order of their requests, and only so many
// may wait.

import type { FastifyRequest } from 'fastify';
import type { RawData, WebSocket, WebSocketServer } from 'ws';
import { type ReverieError, reverieError } from '../../core/errors.js';
import { asCatalogued, type HttpLimits } from './requests.js';

export interface FrameHandlers {
  /** Answers one frame; undefined: it gets no answer. */
  answer(text: string, signal: AbortSignal): Promise<string | undefined>;
  /** What is answered where `answer` threw, or too many frames wait (REQUESTS_TOO_MANY). */
  failure(error: ReverieError): string;
  /** The connection is gone and no frame is under way any more. */
  left(): void | Promise<void>;
}

/** RFC 6455, 7.4.1. */
const GOING_AWAY = 1001;
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
  limits: HttpLimits,
): void {
  const gone = new AbortController();
  let waiting = 0;
  let underway: Promise<void> = Promise.resolve();
  const send = (text: string | undefined) => {
    if (text !== undefined && socket.readyState === socket.OPEN) socket.send(text);
  };
  const answer = async (text: string) => {
    try {
      if (!gone.signal.aborted) send(await handlers.answer(text, gone.signal));
    } catch (error) {
      if (gone.signal.aborted) return;
      const known = asCatalogued(error, request, limits);
      if (known.code === 'SERVER_FAILED') request.log.error({ err: error }, 'frame failed');
      send(handlers.failure(known));
    } finally {
      waiting--;
    }
  };
  const broken = (error: unknown) => {
    request.log.error({ err: error }, 'connection given up');
    socket.terminate();
  };
  socket.on('error', () => socket.terminate());
  socket.on('message', (data: RawData, isBinary: boolean) => {
    if (isBinary) {
      socket.close(UNSUPPORTED, 'text frames only');
    } else if (waiting >= limits.underway) {
      send(handlers.failure(reverieError('REQUESTS_TOO_MANY', { limit: limits.underway })));
      socket.close(POLICY, 'REQUESTS_TOO_MANY');
    } else {
      waiting++;
      underway = underway.then(() => answer(String(data))).catch(broken);
    }
  });
  socket.on('close', () => {
    gone.abort(new Error('the client left'));
    void underway.then(() => handlers.left()).catch(broken);
  });
}

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
  const close = (socket: WebSocket) =>
    new Promise<void>((resolve) => {
      const timer = setTimeout(() => socket.terminate(), PATIENCE);
      socket.once('close', () => {
        clearTimeout(timer);
        resolve();
      });
      socket.close(GOING_AWAY, 'server is shutting down');
    });
  await Promise.all([...server.clients].map(close));
}
