// How much one client may ask of the server at once.

import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import secureJson from 'secure-json-parse';
import type { z } from 'zod';
import { type ErrorCode, ReverieError, reverieError } from '../../core/errors.js';
import { unguessable } from '../core/session-contract.js';

export interface HttpLimits {
  /** Bytes of a request's body, or of a WebSocket's frame. */
  readonly bodyBytes: number;
  /** Objects and lists within each other in a body or frame. */
  readonly jsonDepth: number;
  /** Keys of objects and items of lists in a body or frame, together. */
  readonly jsonValues: number;
  /** Bytes of a request's line and headers. */
  readonly headerBytes: number;
  /** Characters of a request's URL. */
  readonly urlLength: number;
  /** Connections open at once; more are closed as they come. */
  readonly connections: number;
  /** Requests on one WebSocket that were not answered yet. */
  readonly underway: number;
  /** Bytes of answers on one WebSocket that its client did not read yet. */
  readonly unreadBytes: number;
  /** Seconds a client may take to send a request's headers, and half of what it may take for all of it. */
  readonly headerSeconds: number;
  /** Seconds after which a connection is closed on which nothing is sent. Longer than any answer takes. */
  readonly silentSeconds: number;
}

export const HTTP_LIMITS: HttpLimits = {
  bodyBytes: 1 << 20,
  jsonDepth: 64,
  jsonValues: 100_000,
  headerBytes: 16 * 1024,
  urlLength: 4096,
  connections: 16_384,
  underway: 64,
  unreadBytes: 16 << 20,
  headerSeconds: 15,
  silentSeconds: 180,
};

// JSON from strangers: measured before it is parsed, so that no depth, number of keys or prototype key gets any further.

export type JsonLimits = Pick<HttpLimits, 'jsonDepth' | 'jsonValues'>;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPENING = new Set([0x5b, 0x7b]);
const CLOSING = new Set([0x5d, 0x7d]);

/**
 * The value of a JSON text.
 * @throws REQUEST_INVALID for what is not JSON, too deep, of too many values, or has a key that reaches a prototype
 */
export function parseJson(text: string, limits: JsonLimits = HTTP_LIMITS): unknown {
  refuseUnbounded(text, limits);
  try {
    return secureJson.parse(text);
  } catch (error) {
    throw requestInvalid(`not JSON that can be used: ${(error as Error).message}`, error);
  }
}

/** One pass over the text, without recursion. */
function refuseUnbounded(text: string, { jsonDepth, jsonValues }: JsonLimits): void {
  // As many characters hold no more levels or values than that.
  if (text.length <= Math.min(jsonDepth, jsonValues)) return;
  let depth = 0;
  let values = 1;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at);
    else if (code === COMMA) values++;
    else if (OPENING.has(code)) {
      values++;
      if (++depth > jsonDepth) throw requestInvalid(`nested deeper than ${jsonDepth} levels`);
    } else if (CLOSING.has(code)) depth--;
    if (values > jsonValues) throw requestInvalid(`more than ${jsonValues} values`);
  }
}

/** Where the string that starts at `from` ends. */
function endOfString(text: string, from: number): number {
  for (let at = from + 1; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === BACKSLASH) at++;
    else if (code === QUOTE) return at;
  }
  return text.length;
}

export function requestInvalid(problem: string, cause?: unknown) {
  return reverieError('REQUEST_INVALID', { problem }, cause);
}

// One id a request, the caller's own where it sends one: in the answer, in errors and in the log.

/** New ids: of this process, and counted. They name requests and open nothing, so they may be guessed. */
const PROCESS = unguessable().slice(0, 12);
let made = 0;

const REQUEST_ID = /^[\w.:-]{1,128}$/;

/** `X-Request-ID`, else a new one. What is not well-formed is not taken. */
export function traceIdOf({ headers }: Pick<IncomingMessage, 'headers'>): string {
  const given = headers['x-request-id'];
  const named = typeof given === 'string' && REQUEST_ID.test(given) ? given : undefined;
  return named ?? `${PROCESS}-${(++made).toString(36)}`;
}

// What a request carries is checked once, at the border.

/** @throws REQUEST_INVALID, naming every field that is wrong */
export function checkedBody<T>(schema: z.ZodType<T>, body: unknown): T {
  const read = schema.safeParse(body);
  if (read.success) return read.data;
  const problem = read.error.issues.map(({ path, message }) => `${path.join('.') || 'body'}: ${message}`).join('; ');
  throw requestInvalid(problem);
}

/** For answers in a browser, which are data or pages of this server alone. */
export const BROWSER_HEADERS = {
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'SAMEORIGIN',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
};

/** JSON is the one type of body that is read; a protocol adds its own. */
export function readJson(app: FastifyInstance, limits: HttpLimits): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    /^application\/(?:[\w.-]+\+)?json\b/,
    { parseAs: 'string' },
    (_request: unknown, body: string | Buffer, done: (error: Error | null, value?: unknown) => void) => {
      let value: unknown;
      try {
        value = body.length === 0 ? undefined : parseJson(String(body), limits);
      } catch (error) {
        done(error as Error);
        return;
      }
      done(null, value);
    },
  );
}

/** @throws URL_TOO_LONG, BODY_TYPE_REFUSED */
export function guardRequest({ headers, url }: FastifyRequest, { urlLength }: HttpLimits): void {
  if (url.length > urlLength) throw reverieError('URL_TOO_LONG', { limit: urlLength });
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding !== 'identity') {
    throw reverieError('BODY_TYPE_REFUSED', { type: `"${headers['content-type'] ?? ''}" in ${encoding}` });
  }
}

/**
 * `{"error": {code, message, hint, trace}}` with the catalogue's status; what is not said of an error is in the log. Protocols that
 * say otherwise set their own.
 */
export function errorAnswer(limits: HttpLimits) {
  return (error: unknown, request: FastifyRequest, reply: FastifyReply): void => {
    const known = asCatalogued(error, request, limits);
    const { code, message, hint, status } = known;
    if (code === 'SERVER_FAILED') request.log.error({ err: error }, 'request failed');
    request.failure = code;
    // Browsers ask for a name and a password then.
    if (status === 401) void reply.header('www-authenticate', ['Bearer', 'Basic realm="Reverie"']);
    sayWhenToRetry(reply, known);
    void reply.status(status).send({ error: { code, message, hint, trace: request.id } });
  };
}

/** Seconds after which a request may succeed that was refused now. */
const RETRY_AFTER: Partial<Record<ErrorCode, number>> = {
  CAPACITY_REACHED: 2,
  SERVER_DRAINING: 5,
  WORKER_UNUSABLE: 5,
};

/** Header Retry-After, where asking again helps. */
export function sayWhenToRetry(reply: FastifyReply, { code, values }: ReverieError): void {
  const seconds = RETRY_AFTER[code] ?? values['retryAfter'];
  if (seconds !== undefined) void reply.header('retry-after', String(seconds));
}

/** The same for what fails before there is a route, such as a URL that cannot be decoded. */
export function answerFrameworkError(limits: HttpLimits) {
  const answer = errorAnswer(limits);
  return (error: FastifyError, request: FastifyRequest, reply: FastifyReply): void => {
    answer(error, request, reply.header('x-request-id', request.id));
  };
}

/** Any error as one of the catalogue: what is not known is the server's fault and says nothing of how. */
export function asCatalogued(
  error: unknown,
  { headers }: { readonly headers: IncomingHttpHeaders },
  { bodyBytes }: HttpLimits,
): ReverieError {
  if (error instanceof ReverieError) return error;
  const { statusCode = 500, message } = error as FastifyError;
  if (statusCode === 413) return reverieError('BODY_TOO_LARGE', { limit: bodyBytes }, error);
  if (statusCode === 415)
    return reverieError('BODY_TYPE_REFUSED', { type: `"${headers['content-type'] ?? ''}"` }, error);
  if (statusCode >= 500) return reverieError('SERVER_FAILED', {}, error);
  return requestInvalid(message, error);
}

// Clients of servers made with FastAPI show `detail` of an error: it stands beside what this server says everywhere.

/**
 * For all routes of this scope. A server whose slots are all taken counts as one that is starting: the OpenReward client
 * asks such a one again, for minutes.
 */
export function tellDetail(app: FastifyInstance): void {
  app.addHook('preSerialization', async (_request, reply, payload) => {
    const { error } = (payload ?? {}) as { error?: { code: string; message: string; hint: string } };
    if (typeof error !== 'object' || reply.statusCode < 400) return payload;
    if (error.code === 'CAPACITY_REACHED') void reply.header('x-backend-state', 'starting');
    return { detail: `${error.message} ${error.hint}`, error };
  });
}
