// What every request is held to, whatever route it is for: its URL, the type, size and shape of its body; and what every answer
// says.

import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { FastifyInstance } from 'fastify';
import secureJson from 'secure-json-parse';
import type { z } from 'zod';
import { reverieError } from '../../core/errors.js';
import { unguessable } from '../core/session-ids.js';
import { HTTP_LIMITS, type HttpLimits } from './http-limits.js';

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
    throw invalid(`not JSON that can be used: ${(error as Error).message}`, error);
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
      if (++depth > jsonDepth) throw invalid(`nested deeper than ${jsonDepth} levels`);
    } else if (CLOSING.has(code)) depth--;
    if (values > jsonValues) throw invalid(`more than ${jsonValues} values`);
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

function invalid(problem: string, cause?: unknown) {
  return reverieError('REQUEST_INVALID', { problem }, cause);
}

// One id a request, the caller's own where it sends one: in the answer, in errors and in the log.

/** New ids: of this process, and counted. They name requests and open nothing, so they may be guessed. */
const PROCESS = unguessable().slice(0, 12);
let made = 0;

const TRACEPARENT = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;
const REQUEST_ID = /^[\w.:-]{1,128}$/;

/** The W3C trace context that came with a request, if it is well-formed. */
export function traceparentIn({ traceparent }: IncomingHttpHeaders): string | undefined {
  return typeof traceparent === 'string' && TRACEPARENT.test(traceparent) ? traceparent : undefined;
}

/** The trace of a `traceparent`, else `X-Request-ID`, else a new one. What is not well-formed is not taken. */
export function traceIdOf({ headers }: Pick<IncomingMessage, 'headers'>): string {
  const given = headers['x-request-id'];
  const named = typeof given === 'string' && REQUEST_ID.test(given) ? given : undefined;
  return traceparentIn(headers)?.split('-')[1] ?? named ?? `${PROCESS}-${(++made).toString(36)}`;
}

// What a request carries is checked once, at the border.

/** @throws REQUEST_INVALID, naming every field that is wrong */
export function checkedBody<T>(schema: z.ZodType<T>, body: unknown): T {
  const read = schema.safeParse(body);
  if (read.success) return read.data;
  const problem = read.error.issues.map(({ path, message }) => `${path.join('.') || 'body'}: ${message}`).join('; ');
  throw reverieError('REQUEST_INVALID', { problem });
}

/** For answers in a browser, which are data or pages of this server alone. */
const BROWSER_HEADERS = Object.entries({
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'SAMEORIGIN',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
}).flat();

/** JSON is the one type of body that is read; a facade adds its own. */
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

/** What every answer says, name and value by turns. @param id  of the request, whose `headers` these are */
export function answerHeaders(id: string, headers: IncomingHttpHeaders): string[] {
  const parent = traceparentIn(headers);
  const said = [...BROWSER_HEADERS, 'x-request-id', id];
  return parent === undefined ? said : [...said, 'traceparent', parent];
}

/** @throws URL_TOO_LONG, BODY_TYPE_REFUSED */
export function guardRequest(
  { headers, url = '' }: { readonly headers: IncomingHttpHeaders; readonly url?: string },
  { urlLength }: HttpLimits,
): void {
  if (url.length > urlLength) throw reverieError('URL_TOO_LONG', { limit: urlLength });
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding !== 'identity') {
    throw reverieError('BODY_TYPE_REFUSED', { type: `"${headers['content-type'] ?? ''}" in ${encoding}` });
  }
}
