// Requests for steps, good and bad, and the status that each is answered with, in their order: those of step-requests.yaml, and such
// as are put together here.

import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import type { Exchange, Part } from './raw-exchange.js';

export interface Sent extends Exchange {
  readonly name: string;
  /** Of each answer; none where the client leaves first. */
  readonly status: readonly number[];
}

export const LIMITS = { bodyBytes: 4096, jsonDepth: 16, jsonValues: 300, headerSeconds: 5 };
export const TOKEN = 'alice-0123456789abcdef';
export const FEW = 'few-0123456789abcdef';

const ACTION = '{"action":[0.5]}';
const JSON_TYPE = { 'Content-Type': 'application/json' };

export interface Request {
  readonly method?: string;
  readonly session?: string;
  readonly path?: string;
  readonly version?: string;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string | null>>;
}

export const stepOf = (session: string) => `/v1/sessions/${session}/step`;

/** A request as bytes; a header that is null is left out. */
export function bytesOf(request: Request = {}): string {
  const { method = 'POST', session = 'arm', path = stepOf(session), version = '1.1', body = ACTION, headers } = request;
  const length = body === '' ? {} : { 'Content-Length': String(Buffer.byteLength(body)) };
  const all = { Host: '127.0.0.1', 'X-Request-ID': 'mine', ...JSON_TYPE, ...length, ...headers };
  const lines = Object.entries(all).filter(([, value]) => value !== null);
  return `${method} ${path} HTTP/${version}\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${body}`;
}

const CLOSE = { Connection: 'close' };

/** One request, one answer. */
function one({ name, status, ...request }: Request & { readonly name: string; readonly status: number }): Sent {
  return { name, status: [status], parts: [bytesOf(request)], answers: 1 };
}

function raw(name: string, status: readonly number[], parts: readonly Part[], answers?: number): Sent {
  return { name, status, parts, answers };
}

const written: Record<'open' | 'tokens', Parameters<typeof one>[0][]> = parse(
  readFileSync(new URL('step-requests.yaml', import.meta.url), 'utf8'),
);
const chunked = bytesOf({ body: '', headers: { 'Transfer-Encoding': 'chunked', ...CLOSE } });

export const REQUESTS: readonly Sent[] = [
  ...written.open.map(one),
  one({ name: 'a URL that is too long', status: 422, session: 'x'.repeat(5000) }),
  one({ name: 'an id that is too long', status: 422, session: 'x'.repeat(256) }),
  one({ name: 'a deep body', status: 422, body: `{"action":${'['.repeat(40)}${']'.repeat(40)}}` }),
  one({ name: 'too many values', status: 422, body: `{"action":[${'0,'.repeat(400)}0]}` }),
  one({ name: 'a large body', status: 413, body: `{"action":[0.5],"x":"${'x'.repeat(5000)}"}` }),
  raw('one that is kept', [200, 200], [bytesOf(), bytesOf({ headers: CLOSE })]),
  raw('HTTP/1.0', [200], [bytesOf({ version: '1.0' })]),
  raw('HTTP/1.0, kept', [200], [bytesOf({ version: '1.0', headers: { Connection: 'keep-alive' } })], 1),
  raw('chunks', [200], [chunked, `10\r\n${ACTION}\r\n0\r\n\r\n`]),
  raw('a body that comes later', [200], [bytesOf().slice(0, -ACTION.length), ACTION], 1),
  raw('a body in two parts', [200], [bytesOf().slice(0, -5), bytesOf().slice(-5)], 1),
  raw('a head in two parts', [200], [bytesOf().slice(0, 30), bytesOf().slice(30)], 1),
  raw('several at once', [200, 200], [bytesOf() + bytesOf({ body: '{"action":[-1]}', headers: CLOSE })]),
  raw(
    'a good one behind one that waits',
    [201, 200, 200],
    [bytesOf({ path: '/v1/sessions/arm/snapshot', body: '{}' }) + bytesOf() + bytesOf({ headers: CLOSE })],
  ),
  raw('half a body', [], [bytesOf().slice(0, -3)], 0),
  raw('a head alone', [], [bytesOf().slice(0, -ACTION.length)], 0),
  raw('a length that is none', [400], [bytesOf({ headers: { 'Content-Length': 'x' } })]),
  raw('two lengths', [400], [bytesOf({ headers: { 'Content-Length': '16\r\nContent-Length: 17' } })]),
  raw('a length and chunks', [400], [bytesOf({ headers: { 'Transfer-Encoding': 'chunked' } })]),
  raw('no host', [400], [bytesOf({ headers: { Host: null } })]),
  raw('a look at the head', [404], [bytesOf({ method: 'HEAD', body: '', headers: CLOSE })]),
  one({ name: 'a step after all that', status: 200 }),
];

export const REQUESTS_WITH_TOKENS: readonly Sent[] = written.tokens.map(one);
