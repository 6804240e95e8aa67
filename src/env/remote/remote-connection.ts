// JSON over HTTP with one server of environments. What got no answer is sent again: every request here either changes nothing
// or carries an id by which the server does it once.

import type { Agent } from 'undici';
import type { z } from 'zod';
import { describeIssues, ReverieError, reverieError } from '../../core/errors.js';
import { undici } from '../../core/packs.js';

export interface ConnectionOptions {
  /** Sent where the server asks for one; by default the password in the URL, or the variable REVERIE_TOKEN. */
  readonly token?: string;
  /** Until an answer is given up; the server itself gives up on a step after 55 s unless it was told otherwise. */
  readonly timeoutSeconds?: number;
}

interface Asked {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly path: string;
  readonly body?: unknown;
  readonly signal?: AbortSignal;
}

const TIMEOUT_SECONDS = 70;
const TRIES = 4;
const FIRST_PAUSE_MS = 100;
const MAX_ANSWER_BYTES = 64 * 2 ** 20;
const GONE = ['SESSION_UNKNOWN', 'SESSION_GONE'];

export class RemoteConnection {
  /** Without what may be secret. */
  readonly url: string;
  private readonly agent: Agent;
  private readonly headers: Readonly<Record<string, string>>;
  private readonly timeoutSeconds: number;

  /** @throws REMOTE_URL_INVALID */
  constructor(url: string, { token, timeoutSeconds = TIMEOUT_SECONDS }: ConnectionOptions = {}) {
    const parsed = addressOf(url);
    this.url = `${parsed.origin}${parsed.pathname}`.replace(/\/+$/, '');
    const secret = token ?? (decodeURIComponent(parsed.password) || process.env['REVERIE_TOKEN']);
    this.headers = secret ? { authorization: `Bearer ${secret}` } : {};
    this.timeoutSeconds = timeoutSeconds;
    this.agent = new (undici().Agent)({
      connections: 1,
      maxResponseSize: MAX_ANSWER_BYTES,
      headersTimeout: 0,
      bodyTimeout: 0,
    });
  }

  /** @throws SERVER_UNREACHABLE, REMOTE_TIMEOUT, REMOTE_REFUSED, SERVER_FAULT; what `signal` is aborted with */
  async get<T>(path: string, schema: z.ZodType<T>): Promise<T> {
    return this.read({ method: 'GET', path }, schema);
  }

  /** @throws as `get` */
  async post<T>(path: string, body: unknown, schema: z.ZodType<T>, signal?: AbortSignal): Promise<T> {
    return this.read({ method: 'POST', path, body, signal }, schema);
  }

  /** For answers that have no body. @throws as `get` */
  async tell(method: 'POST' | 'DELETE', path: string): Promise<void> {
    await this.answer({ method, path });
  }

  close(): Promise<void> {
    return this.agent.destroy();
  }

  private async read<T>(asked: Asked, schema: z.ZodType<T>): Promise<T> {
    const text = await this.answer(asked);
    const parsed = schema.safeParse(parsedJson(text));
    if (parsed.success) return parsed.data;
    throw this.invalid(asked, describeIssues(parsed.error));
  }

  /** The body of an answer of success. */
  private async answer(asked: Asked): Promise<string> {
    const { status, text } = await this.exchanged(asked);
    if (status >= 200 && status < 300) return text;
    const { error } = (parsedJson(text) ?? {}) as { error?: { code?: unknown; message?: unknown; hint?: unknown } };
    if (typeof error?.code !== 'string') throw this.invalid(asked, `status ${status}, and no error of this API`);
    const { code, message: problem, hint } = error;
    throw reverieError('REMOTE_REFUSED', { url: this.url, what: whatOf(asked), code, problem, hint: hint ?? '' });
  }

  private async exchanged(asked: Asked): Promise<{ status: number; text: string }> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.exchange(asked);
      } catch (error) {
        asked.signal?.throwIfAborted();
        this.requireRepeatable(error, asked);
        if (attempt === TRIES) throw this.unreachable(error);
      }
      await new Promise((resolve) => setTimeout(resolve, FIRST_PAUSE_MS * 2 ** (attempt - 1)));
    }
  }

  private async exchange({ method, path, body, signal }: Asked): Promise<{ status: number; text: string }> {
    const timeout = AbortSignal.timeout(this.timeoutSeconds * 1000);
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const headers = body === undefined ? this.headers : { ...this.headers, 'content-type': 'application/json' };
    const reply = await undici().request(`${this.url}${path}`, {
      method,
      headers,
      ...sent,
      dispatcher: this.agent,
      signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
    });
    return { status: reply.statusCode, text: await reply.body.text() };
  }

  /** Trying again helps neither against a server that is too slow nor against answers that are too large. */
  private requireRepeatable(error: unknown, asked: Asked): void {
    const { name, code } = error as NodeJS.ErrnoException;
    if (name === 'TimeoutError') {
      const values = { url: this.url, seconds: this.timeoutSeconds, what: whatOf(asked) };
      throw reverieError('REMOTE_TIMEOUT', values, error);
    }
    if (code === 'UND_ERR_RES_EXCEEDED_MAX_SIZE') {
      throw this.invalid(asked, `it is larger than ${MAX_ANSWER_BYTES} bytes`, error);
    }
  }

  private unreachable(error: unknown): Error {
    const { message, code } = error as NodeJS.ErrnoException;
    return reverieError('SERVER_UNREACHABLE', { url: this.url, problem: message || code || String(error) }, error);
  }

  private invalid(asked: Asked, problem: string, cause?: unknown): Error {
    return reverieError(
      'SERVER_FAULT',
      {
        problem: `What the server at ${this.url} answered to ${whatOf(asked)} is not understood: ${problem}.`,
        hint: 'Check that it is reverie serve of this version, and that nothing between changes answers; docs/native-api.md has their form.',
      },
      cause,
    );
  }
}

/** Whether the server refused because it no longer knows the session. */
export function isSessionGone(error: unknown): boolean {
  if (!(error instanceof ReverieError)) return false;
  return error.code === 'REMOTE_REFUSED' && GONE.includes(String(error.values['code']));
}

function addressOf(url: string): URL {
  try {
    const parsed = new URL(url);
    if (['http:', 'https:'].includes(parsed.protocol)) return parsed;
  } catch {
    // Said below, as what has another scheme.
  }
  throw reverieError('REMOTE_URL_INVALID', { url });
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function whatOf({ method, path }: Asked): string {
  return `${method} ${path}`;
}
