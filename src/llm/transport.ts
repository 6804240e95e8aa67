// One HTTP exchange with a server: a pool of connections, a deadline of our own, a cap on what is read, and what a failure says.
// Replies are collected straight from undici's dispatcher, which costs half of what its request() does.

import { hash } from 'node:crypto';
import type { Dispatcher } from 'undici';
import { reverieError } from '../core/errors.js';
import { undici } from '../core/packs.js';
import { abortError, onAbort } from './flow.js';

export interface HttpReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

/** The reply has more bytes than may be read; the message says how many. */
export class ReplyTooLarge extends Error {}

interface TransportOptions {
  readonly connections: number;
  readonly maxReplyBytes: number;
}

const CONNECT_MILLISECONDS = 60_000;
/** That requests in flight are given to end. */
const CLOSE_MILLISECONDS = 1000;

export class Transport {
  private readonly pool: Dispatcher;
  private readonly origin: string;
  private readonly path: string;

  constructor(
    private readonly url: string,
    private readonly headers: Readonly<Record<string, string>>,
    private readonly options: TransportOptions,
  ) {
    const { origin, pathname, protocol } = new URL(url);
    this.origin = origin;
    this.path = `${pathname.replace(/\/+$/, '')}/chat/completions`;
    const settings = {
      connections: options.connections,
      pipelining: 1,
      // Thinking models are silent for minutes: only our own deadline ends a request.
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: { timeout: CONNECT_MILLISECONDS },
      keepAliveTimeout: 300_000,
      keepAliveMaxTimeout: 600_000,
    };
    this.pool = isProxied(url)
      ? new (undici().EnvHttpProxyAgent)({ ...settings, proxyTunnel: protocol === 'https:' })
      : new (undici().Pool)(origin, settings);
  }

  /**
   * Resolves with whatever status the server answers; redirects are not followed.
   * @throws ServerFailure, ReplyTooLarge, an AbortError
   */
  send(body: string, timeoutSeconds: number, signal?: AbortSignal, session?: string): Promise<HttpReply> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(abortError(signal));
      const limits = { url: this.url, timeoutSeconds, maxBytes: this.options.maxReplyBytes };
      const collector = new ReplyCollector(limits, { resolve, reject }, signal);
      // Names of tasks are of any script; a header is ASCII.
      const id = session && /[^ -~]/.test(session) ? hash('sha256', session, 'hex') : session;
      const headers = id === undefined ? this.headers : { ...this.headers, 'x-session-id': id };
      this.pool.dispatch({ origin: this.origin, method: 'POST', path: this.path, headers, body }, collector);
    });
  }

  async close(): Promise<void> {
    const closed = this.pool.close();
    const timer = setTimeout(() => this.pool.destroy(), CLOSE_MILLISECONDS);
    await closed.catch(() => undefined);
    clearTimeout(timer);
  }
}

/** Whether HTTP_PROXY or HTTPS_PROXY is for it (NO_PROXY is undici's to read); this machine's own servers never are. */
function isProxied(url: string): boolean {
  const { hostname, protocol } = new URL(url);
  if (/^(localhost|127\.[\d.]+|\[::1\])$/.test(hostname)) return false;
  const { http_proxy, HTTP_PROXY, https_proxy, HTTPS_PROXY } = process.env;
  const http = http_proxy || HTTP_PROXY;
  return Boolean(protocol === 'https:' ? https_proxy || HTTPS_PROXY || http : http);
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
    private readonly limits: { readonly url: string; readonly timeoutSeconds: number; readonly maxBytes: number },
    private readonly settlers: Settlers,
    signal: AbortSignal | undefined,
  ) {
    this.timer = setTimeout(() => this.expire(), limits.timeoutSeconds * 1000);
    this.forgetSignal = signal && onAbort(signal, () => this.fail(abortError(signal)));
  }

  expire(): void {
    const stage =
      this.controller === undefined ? 'no connection' : this.status === 0 ? 'no reply' : 'no end of the reply';
    const { url, timeoutSeconds } = this.limits;
    this.fail(new ServerFailure({ url, problem: `${stage} within ${timeoutSeconds} s`, timeout: true }));
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller;
    if (this.settled) controller.abort(new Error('called off'));
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: HttpReply['headers']): void {
    this.status = status;
    this.headers = headers;
    const declared = Number(headers['content-length'] ?? 0);
    if (declared > this.limits.maxBytes) this.fail(new ReplyTooLarge(`${declared} bytes`));
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.settled) return;
    this.bytes += chunk.length;
    if (this.bytes > this.limits.maxBytes) this.fail(new ReplyTooLarge(`more than ${this.bytes - chunk.length} bytes`));
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
    const timeout = code === 'UND_ERR_CONNECT_TIMEOUT';
    const stage = this.status === 0 ? '' : 'connection ended before the reply did: ';
    this.fail(
      new ServerFailure({ url: this.limits.url, problem: `${stage}${message || code}`, timeout, cause: error }),
    );
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
const CONGESTION = new Set([408, 429, 503, 529]);
const TOO_LONG_STATUSES = new Set([400, 413, 422]);
/** Exhausted quotas: a retry within minutes does not help. */
const SPENT = /insufficient[_ ](quota|balance|credits)|exceeded your current quota|per[- ]day|daily/i;
/** A model is loading, in the words of llama.cpp. */
const LOADING = /loading model|model is (currently )?loading/i;
/** Azure, OpenAI, DashScope, Gemini, OpenRouter. */
const FILTERED =
  /content[_ ]filter|content management policy|data_inspection_failed|inappropriate content|PROHIBITED_CONTENT|flagged|moderation/i;
const FILTERED_STATUSES = new Set([400, 403, 422, 451]);
/** OpenAI and vLLM, llama.cpp, SGLang, and those that speak like Anthropic. */
const TOO_LONG =
  /context[ _](length|size|window)|prompt is too long|input is too long|longer than the model|max_model_len/i;
const QUOTED_PROBLEM = 300;

export class ServerFailure extends Error {
  constructor(private readonly facts: FailureFacts) {
    super(facts.problem, { cause: facts.cause });
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
    const { location } = reply.headers;
    const to = location === undefined ? '' : ` to ${location}`;
    const problem = `${reply.status}${to} ${redacted.slice(0, QUOTED_PROBLEM)}`.trim();
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
    return PASSING.has(status) && !SPENT.test(problem);
  }

  /** Whether it is only busy. */
  get isBusy(): boolean {
    const { status, problem } = this.facts;
    return status === 429 || status === 529 || (status === 503 && LOADING.test(problem));
  }

  get congestion(): boolean {
    return this.facts.timeout === true || CONGESTION.has(this.facts.status ?? 0);
  }

  toReverieError(tries: number): Error {
    const { url, problem, timeout, unreadable, status } = this.facts;
    const values = { url, problem, tries, retryable: true };
    if (timeout) return reverieError('LLM_TIMEOUT', values, this);
    if (unreadable) return reverieError('LLM_REPLY_UNREADABLE', values, this);
    if (this.isServers) return reverieError('LLM_UNREACHABLE', values, this);
    if (TOO_LONG_STATUSES.has(status!) && TOO_LONG.test(problem)) {
      return reverieError('LLM_CONTEXT_EXCEEDED', { url, problem, retryable: false, ofModel: true }, this);
    }
    const isFiltered = FILTERED_STATUSES.has(status!) && FILTERED.test(problem);
    const refusal = { problem: `${url}: ${problem}`, hint: refusalHint(status!), retryable: false };
    return reverieError('LLM_REFUSED', isFiltered ? { ...refusal, ofModel: true } : refusal, this);
  }
}

function refusalHint(status: number): string {
  if (status === 401 || status === 403) return 'Check the API key in the environment variable that apiKeyEnv names.';
  if (status === 404) return 'Check the URL (it usually ends in /v1) and the name of the model.';
  if (status >= 300 && status < 400) return 'Redirects are not followed: give the URL it redirects to.';
  if (status === 402 || status === 429) return 'Raise the quota at the provider.';
  return 'Check the model, its parameters and the length of prompts against what the server allows; model.llm.stateTokens, historyTokens and retrieval shorten those for calls of tools.';
}

function errorMessage(text: string): string {
  try {
    const body = JSON.parse(text.slice(0, 65_536));
    // OpenRouter has the provider's message in a separate field.
    const error = body?.error?.metadata?.raw ?? body?.error?.message ?? body?.error ?? body?.message ?? body?.detail;
    const code = body?.error?.code;
    if (error !== undefined)
      return `${typeof error === 'string' ? error : JSON.stringify(error)}${code ? ` (${code})` : ''}`;
  } catch {
    // Not JSON: shown as it is.
  }
  const title = /<title>([^<]*)/i.exec(text)?.[1];
  return title === undefined ? text : `a web page "${title.trim()}"`;
}
