// A WebSocket that asks one frame and awaits one, as OpenEnv's client does; and one that sends what no client should.

import { once } from 'node:events';
import { WebSocket } from 'ws';

// biome-ignore lint/suspicious/noExplicitAny: what came over the wire
export type Reply = any;

export class FramesClient {
  private readonly replies: Reply[] = [];
  private readonly waiting: ((reply: Reply) => void)[] = [];
  readonly closed: Promise<number>;

  private constructor(readonly socket: WebSocket) {
    socket.on('message', (data) => {
      const reply = JSON.parse(String(data));
      const next = this.waiting.shift();
      if (next === undefined) this.replies.push(reply);
      else next(reply);
    });
    this.closed = new Promise((resolve) => socket.on('close', resolve));
    socket.on('error', () => {});
  }

  /** @param url  `http://host:port`, or with a prefix; @throws with the status where the server does not upgrade */
  static async connect(url: string, path = '/ws'): Promise<FramesClient> {
    const socket = new WebSocket(`${url.replace(/^http/, 'ws')}${path}`);
    const client = new FramesClient(socket);
    await once(socket, 'open');
    return client;
  }

  /** Sends a frame, or text as it is. */
  send(frame: object | string): void {
    this.socket.send(typeof frame === 'string' ? frame : JSON.stringify(frame));
  }

  next(): Promise<Reply> {
    const known = this.replies.shift();
    if (known !== undefined) return Promise.resolve(known);
    return new Promise((resolve) => this.waiting.push(resolve));
  }

  ask(frame: object | string): Promise<Reply> {
    this.send(frame);
    return this.next();
  }

  /** Replies that nobody asked for. */
  get unread(): number {
    return this.replies.length;
  }

  async leave(): Promise<void> {
    this.socket.close();
    await this.closed;
  }
}
