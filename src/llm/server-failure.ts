// A request that a server or the network failed, before it is known whether another try will do.

import { reverieError } from '../core/errors.js';
import type { HttpReply, TransportError } from './transport.js';

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
const QUOTED = 300;

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
    const problem = `${reply.status} ${redacted.slice(0, QUOTED)}`.trim();
    return new ServerFailure({ url, problem, status: reply.status, retryAfter });
  }

  /** Instead of a request that is not sent, as too many before it failed like this one. */
  leftAlone(): ServerFailure {
    return new ServerFailure({ ...this.facts, problem: `left alone after many failures (${this.facts.problem})` });
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
  return 'Check the model, its parameters and the length of prompts against what the server allows; model.llm.promptTokens keeps those for calls of tools within a window.';
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
