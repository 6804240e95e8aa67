// Clients of OpenEnv's WebSocket for the benchmarks: one session a socket, one request at a time on each.

import { once } from 'node:events';
import { WebSocket } from 'ws';

export interface Reply {
  readonly type: string;
  readonly data: { readonly observation?: unknown; readonly reward?: number | null; readonly done?: boolean };
}

/** Sockets, opened a few at a time so that the server's backlog is not what is measured. */
export async function openSockets(url: string, count: number): Promise<WebSocket[]> {
  const sockets: WebSocket[] = [];
  const address = `${url.replace('http', 'ws')}/ws`;
  for (let from = 0; from < count; from += 128) {
    const some = Array.from({ length: Math.min(128, count - from) }, async () => {
      const socket = new WebSocket(address, { perMessageDeflate: false });
      await once(socket, 'open');
      return socket;
    });
    sockets.push(...(await Promise.all(some)));
  }
  return sockets;
}

export function closeSockets(sockets: readonly WebSocket[]): void {
  for (const socket of sockets) socket.terminate();
}

/** @throws where the server answers an error, or closes */
export async function askSocket(socket: WebSocket, message: object): Promise<Reply> {
  const reply = new Promise<Reply>((resolve, reject) => {
    const onClose = () => reject(new Error('the socket was closed'));
    socket.once('close', onClose);
    socket.once('message', (data) => {
      socket.off('close', onClose);
      resolve(JSON.parse(String(data)) as Reply);
    });
  });
  socket.send(JSON.stringify(message));
  const answer = await reply;
  if (answer.type === 'error') throw new Error(JSON.stringify(answer.data));
  return answer;
}

/** Steps a second while every socket lives one episode of pendulum. Resets are not counted. */
export async function socketSteps(sockets: readonly WebSocket[], steps: number): Promise<number> {
  await Promise.all(sockets.map((socket) => askSocket(socket, { type: 'reset', data: { seed: 1 } })));
  const started = performance.now();
  const episode = async (socket: WebSocket) => {
    for (let step = 0; step < steps; step++) await askSocket(socket, { type: 'step', data: { values: [0.5] } });
  };
  await Promise.all(sockets.map(episode));
  return (sockets.length * steps) / ((performance.now() - started) / 1000);
}
