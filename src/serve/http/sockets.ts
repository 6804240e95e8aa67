// What every WebSocket is held to, whatever is spoken on it, and the end of all of them when a server stops.

import type { WebSocket, WebSocketServer } from 'ws';
import type { HttpLimits } from './http-limits.js';

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
