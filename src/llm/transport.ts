// One HTTP exchange with a server: a pool of connections per URL, a deadline of our own, and a cap on what is read.
// Replies are collected straight from undici's dispatcher, which costs half of what its request() does.

import type { Dispatcher, Pool } from 'undici';
import { undici } from '../core/late-packages.js';
import { abortError, type CallSignal, onAbort } from './abort.js';

export interface HttpReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

export type TransportProblem = 'unreachable' | 'timeout' | 'too-large';

/** Why there is no reply. */
export class TransportError extends Error {
  constructor(
    readonly problem: TransportProblem,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

export interface TransportOptions {
  readonly connections: number;
  readonly connectSeconds: number;
  readonly timeoutSeconds: number;
  readonly maxReplyBytes: number;
}

export interface HttpRequest {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly body?: string;
  /** Instead of the transport's own. */
  readonly timeoutSeconds?: number;
}

/** Events of a stream repeat ids and names around every token. */
const STREAM_OVERHEAD = 16;
/** Milliseconds that requests in flight are given to end. */
const SLOWEST_CLOSE = 1000;

export class Transport {
  private readonly pool: Pool;
  /** Origin and path of the base URL, without a slash at its end. */
  private readonly basePath: string;

  constructor(
    url: string,
    private readonly headers: Readonly<Record<string, string>>,
    private readonly options: TransportOptions,
  ) {
    const { origin, pathname } = new URL(url);
    this.basePath = pathname.replace(/\/+$/, '');
    this.pool = new (undici().Pool)(origin, {
      connections: options.connections,
      pipelining: 1,
      // Thinking models are silent for minutes: only our own deadline ends a request.
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: { timeout: options.connectSeconds * 1000 },
      keepAliveTimeout: 300_000,
      keepAliveMaxTimeout: 600_000,
    });
  }

  /**
   * Resolves with whatever status the server answers; redirects are not followed. `path` is relative to the base URL
   * or, with a leading slash, to its origin. Rejects with a TransportError, or with the signal's reason.
   */
  send(request: HttpRequest, signal?: CallSignal): Promise<HttpReply> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(abortError(signal));
      const { method, path, body, timeoutSeconds = this.options.timeoutSeconds } = request;
      const limits = { timeoutSeconds, maxBytes: this.options.maxReplyBytes };
      const collector = new ReplyCollector(limits, { resolve, reject }, signal);
      const fullPath = path.startsWith('/') ? path : `${this.basePath}/${path}`;
      this.pool.dispatch({ method, path: fullPath, headers: this.headers, body }, collector);
    });
  }

  async close(): Promise<void> {
    const closed = this.pool.close();
    const timer = setTimeout(() => this.pool.destroy(), SLOWEST_CLOSE);
    await closed.catch(() => undefined);
    clearTimeout(timer);
  }
}

interface Settlers {
  resolve(reply: HttpReply): void;
  reject(reason: unknown): void;
}

class ReplyCollector implements Dispatcher.DispatchHandler {
  private controller: Dispatcher.DispatchController | undefined;
  private settled = false;
  private status = 0;
  private headers: HttpReply['headers'] = {};
  private chunks: Buffer[] = [];
  private bytes = 0;
  private readonly timer: NodeJS.Timeout;
  private readonly forgetSignal: (() => void) | undefined;

  constructor(
    private readonly limits: { readonly timeoutSeconds: number; readonly maxBytes: number },
    private readonly settlers: Settlers,
    signal: CallSignal | undefined,
  ) {
    this.timer = setTimeout(expire, limits.timeoutSeconds * 1000, this);
    this.forgetSignal = signal && onAbort(signal, () => this.fail(abortError(signal)));
  }

  expire(): void {
    const stage =
      this.controller === undefined ? 'no connection' : this.status === 0 ? 'no reply' : 'no end of the reply';
    this.fail(new TransportError('timeout', `${stage} within ${this.limits.timeoutSeconds} s`));
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller;
    if (this.settled) controller.abort(new Error('called off'));
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: HttpReply['headers']): void {
    this.status = status;
    this.headers = headers;
    const declared = Number(headers['content-length'] ?? 0);
    if (declared > this.maxBytes()) this.failTooLarge(`${declared} bytes`);
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.settled) return;
    this.bytes += chunk.length;
    if (this.bytes > this.maxBytes()) this.failTooLarge(`more than ${this.bytes - chunk.length} bytes`);
    else this.chunks.push(chunk);
  }

  onResponseEnd(): void {
    if (this.settled) return;
    this.finish();
    const bytes = this.chunks.length === 1 ? this.chunks[0] : Buffer.concat(this.chunks);
    this.settlers.resolve({ status: this.status, headers: this.headers, text: bytes.toString('utf8') });
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    const { code, message } = error as NodeJS.ErrnoException;
    const isSlow = code === 'UND_ERR_CONNECT_TIMEOUT';
    const stage = this.status === 0 ? '' : 'connection ended before the reply did: ';
    this.fail(new TransportError(isSlow ? 'timeout' : 'unreachable', `${stage}${message || code}`, { cause: error }));
  }

  private maxBytes(): number {
    return isEventStream(this.headers) ? this.limits.maxBytes * STREAM_OVERHEAD : this.limits.maxBytes;
  }

  private failTooLarge(size: string): void {
    this.fail(new TransportError('too-large', size));
  }

  private fail(reason: unknown): void {
    if (this.settled) return;
    this.finish();
    this.chunks = [];
    this.settlers.reject(reason);
    this.controller?.abort(new Error('called off'));
  }

  private finish(): void {
    this.settled = true;
    clearTimeout(this.timer);
    this.forgetSignal?.();
  }
}

function expire(collector: ReplyCollector): void {
  collector.expire();
}

export function isEventStream(headers: HttpReply['headers']): boolean {
  return String(headers['content-type'] ?? '').startsWith('text/event-stream');
}
