import { EventEmitter } from 'node:events';
import { expect, it, vi } from 'vitest';
import type { WebSocketServer } from 'ws';
import { dropDeafSockets } from '../../../src/serve/http/sockets.js';

it('drops a client that asks on and never reads', () => {
  const server = new EventEmitter();
  dropDeafSockets(server as WebSocketServer, { unreadBytes: 1000 });
  const socket = Object.assign(new EventEmitter(), { bufferedAmount: 1000, terminate: vi.fn() });
  server.emit('connection', socket);
  socket.emit('message', '{}');
  expect(socket.terminate).not.toHaveBeenCalled();
  socket.bufferedAmount = 1001;
  socket.emit('message', '{}');
  expect(socket.terminate).toHaveBeenCalledOnce();
});
