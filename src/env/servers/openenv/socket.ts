// One connection of OpenEnv's WebSocket `/ws`: a frame out, a frame back, in order. It has no ids, so who stops waiting for an answer
// must not ask again on the same connection: the late answer would be taken for the next one's.

import type { WebSocket } from 'undici';
import { undici } from '../../../core/packs.js';

/** Milliseconds that a server has to close a connection it was asked to close. */
const FAREWELL = 2000;

export interface Frame {
  readonly type?: unknown;
  readonly data?: unknown;
  /** What came instead, where it was no JSON. */
  readonly garbled?: string;
}

export class OpenEnvSocket {
  /** Frames that came before anybody waited for one: a full server says so unasked. */
  private readonly inbox: Frame[] = [];
  private waiting: ((frame: Frame | undefined) => void) | undefined;
  private readonly closed: Promise<void>;
  private isClosed = false;

  private constructor(private readonly socket: WebSocket) {
    socket.addEventListener('message', ({ data }) => this.arrived(readFrame(String(data))));
    this.closed = new Promise((resolve) => {
      socket.addEventListener('close', () => {
        this.isClosed = true;
        this.waiting?.(undefined);
        resolve();
      });
    });
  }

  /**
   * @param url  `ws://HOST:PORT/ws`
   * @throws Error where it takes no connection within the time
   */
  static async connect(
    url: string,
    headers: Readonly<Record<string, string>>,
    timeoutSeconds: number,
  ): Promise<OpenEnvSocket> {
    const socket = new (undici().WebSocket)(url, { headers: { ...headers } });
    let timer: NodeJS.Timeout | undefined;
    try {
      await new Promise<void>((resolve, reject) => {
        const refused = (problem: string) => reject(new Error(problem));
        timer = setTimeout(() => refused(`no connection within ${timeoutSeconds} s`), timeoutSeconds * 1000);
        socket.addEventListener('open', () => resolve(), { once: true });
        socket.addEventListener('error', () => refused('it takes no connection'), { once: true });
      });
    } catch (error) {
      socket.close();
      throw error;
    } finally {
      clearTimeout(timer);
    }
    return new OpenEnvSocket(socket);
  }

  /** `late`: nothing came in time; undefined: the connection is closed. @throws the reason of `signal` */
  async ask(frame: object, timeoutSeconds: number, signal?: AbortSignal): Promise<Frame | 'late' | undefined> {
    signal?.throwIfAborted();
    if (!this.isClosed) this.socket.send(JSON.stringify(frame));
    const waiting = this.inbox.shift();
    if (waiting !== undefined) return waiting;
    return this.isClosed ? undefined : this.next(timeoutSeconds, signal);
  }

  /** Resolves once the server has closed it: one that takes few sessions takes the next one then. */
  async close(): Promise<void> {
    if (!this.isClosed) this.socket.send(JSON.stringify({ type: 'close' }));
    const timer = setTimeout(() => this.socket.close(), FAREWELL);
    await this.closed;
    clearTimeout(timer);
  }

  /** Without a farewell, and without waiting for the server. */
  drop(): void {
    if (!this.isClosed) this.socket.close();
  }

  private next(timeoutSeconds: number, signal?: AbortSignal): Promise<Frame | 'late' | undefined> {
    return new Promise((resolve, reject) => {
      const settled = () => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', stopped);
        this.waiting = undefined;
      };
      const stopped = () => {
        settled();
        reject(signal!.reason);
      };
      const timer = setTimeout(() => {
        settled();
        resolve('late');
      }, timeoutSeconds * 1000);
      signal?.addEventListener('abort', stopped, { once: true });
      this.waiting = (frame) => {
        settled();
        resolve(frame);
      };
    });
  }

  private arrived(frame: Frame): void {
    if (this.waiting === undefined) this.inbox.push(frame);
    else this.waiting(frame);
  }
}

/** What is no JSON by JSON's rules (Python writes NaN) is a fault of the server. */
function readFrame(text: string): Frame {
  try {
    return JSON.parse(text) as Frame;
  } catch {
    return { type: `no JSON: ${text.slice(0, 200)}`, garbled: text };
  }
}
