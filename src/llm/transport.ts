// One HTTP exchange with a server: a pool of connections per URL, a deadline of our own, and a cap on what is read.
// Replies are collected straight from undici's dispatcher, which costs half of what its request() does.

import type { Dispatcher, Pool } from 'undici';
import { reverieError } from '../core/errors.js';
import { undici } from '../core/packs.js';
import { abortError, type CallSignal, onAbort } from './flow.js';

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
    if (declared > this.limits.maxBytes) this.failTooLarge(`${declared} bytes`);
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.settled) return;
    this.bytes += chunk.length;
    if (this.bytes > this.limits.maxBytes) this.failTooLarge(`more than ${this.bytes - chunk.length} bytes`);
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

// A request that a server or the network failed, before it is known whether another try will do.

interface FailureFacts {
  readonly url: string;
  /** What happened, in words; nothing secret in it. */
  readonly problem: string;
  readonly status?: number;
  readonly retryAfter?: number;
  readonly timeout?: boolean;
  /** Whether there was a reply, of which nothing could be made. */
  readonly unreadable?: boolean;
  readonly cause?: unknown;
}

/** Statuses after which the same request may succeed. */
const PASSING = new Set([408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529]);
const SLOW_DOWN = new Set([429, 503, 529]);
const TOO_LONG_STATUSES = new Set([400, 413, 422]);
/** OpenAI and vLLM, llama.cpp, SGLang, and those that speak like Anthropic. */
const TOO_LONG =
  /context[ _](length|size|window)|prompt is too long|input is too long|longer than the model|max_model_len/i;
const QUOTED_PROBLEM = 300;

export class ServerFailure extends Error {
  constructor(private readonly facts: FailureFacts) {
    super(facts.problem, { cause: facts.cause });
  }

  static ofTransport(url: string, error: TransportError): ServerFailure {
    return new ServerFailure({
      url,
      problem: error.message,
      timeout: error.problem === 'timeout',
      cause: error,
    });
  }

  /** `apiKey` is taken out of what the server says. */
  static ofReply(
    url: string,
    reply: HttpReply,
    retryAfter: number | undefined,
    apiKey: string | undefined,
  ): ServerFailure {
    const said = errorMessage(reply.text);
    const redacted = apiKey ? said.replaceAll(apiKey, '[key]') : said;
    const problem = `${reply.status} ${redacted.slice(0, QUOTED_PROBLEM)}`.trim();
    return new ServerFailure({ url, problem, status: reply.status, retryAfter });
  }

  get problem(): string {
    return this.facts.problem;
  }

  get retryAfter(): number | undefined {
    return this.facts.retryAfter;
  }

  /** Whether it is the server's failure, and not that of the request. */
  get isServers(): boolean {
    const { status, problem } = this.facts;
    if (status === undefined) return true;
    return PASSING.has(status) && !/insufficient_quota|exceeded your current quota/i.test(problem);
  }

  /** Whether the conversation is longer than the server's model can read. */
  get tooLong(): boolean {
    const { status, problem } = this.facts;
    return TOO_LONG_STATUSES.has(status ?? 0) && TOO_LONG.test(problem);
  }

  /** Whether the server is well and only asks for less. */
  get slowDown(): boolean {
    return SLOW_DOWN.has(this.facts.status ?? 0);
  }

  get congestion(): boolean {
    return this.slowDown || this.facts.timeout === true || this.facts.status === 408;
  }

  toReverieError(tries: number): Error {
    const { url, problem, timeout, unreadable, status } = this.facts;
    const values = { url, problem, tries, retryable: true };
    if (timeout) return reverieError('LLM_TIMEOUT', values, this);
    if (unreadable) return reverieError('LLM_REPLY_UNREADABLE', values, this);
    if (this.isServers) return reverieError('LLM_UNREACHABLE', values, this);
    if (this.tooLong) {
      return reverieError('LLM_CONTEXT_EXCEEDED', { url, problem, retryable: false, ofModel: true }, this);
    }
    return reverieError(
      'LLM_REFUSED',
      { problem: `${url}: ${problem}`, hint: refusalHint(status!), retryable: false },
      this,
    );
  }
}

function refusalHint(status: number): string {
  if (status === 401 || status === 403) return 'Check the API key in the environment variable that apiKeyEnv names.';
  if (status === 404) return 'Check the URL (it usually ends in /v1) and the name of the model.';
  if (status >= 300 && status < 400) return 'Redirects are not followed: give the URL it redirects to.';
  if (status === 429) return 'Raise the quota at the provider.';
  return 'Check the model, its parameters and the length of prompts against what the server allows; model.llm.stateTokens, historyTokens and retrieval shorten those for calls of tools.';
}

function errorMessage(text: string): string {
  try {
    const body = JSON.parse(text.slice(0, 65_536));
    const error = body?.error?.message ?? body?.error ?? body?.message ?? body?.detail;
    const code = body?.error?.code;
    if (error !== undefined)
      return `${typeof error === 'string' ? error : JSON.stringify(error)}${code ? ` (${code})` : ''}`;
  } catch {
    // Not JSON: shown as it is.
  }
  return text;
}
