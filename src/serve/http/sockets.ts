// The end of all WebSockets when a server stops.

import type { WebSocket, WebSocketServer } from 'ws';

/** RFC 6455, 7.4.1: the endpoint goes away. */
const GOING_AWAY = 1001;
/** Milliseconds for clients to say goodbye. */
const PATIENCE = 1000;

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
