// Requests for steps, good and bad, and the status that each is answered with, in their order.

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
  readonly path?: string;
  readonly version?: string;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string | undefined>>;
}

/** A request as bytes; a header that is undefined is left out. */
export function bytesOf({
  method = 'POST',
  path = STEP,
  version = '1.1',
  body = ACTION,
  headers,
}: Request = {}): string {
  const length = body === '' ? {} : { 'Content-Length': String(Buffer.byteLength(body)) };
  const all = { Host: '127.0.0.1', 'X-Request-ID': 'mine', ...JSON_TYPE, ...length, ...headers };
  const lines = Object.entries(all).filter(([, value]) => value !== undefined);
  return `${method} ${path} HTTP/${version}\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${body}`;
}

export const stepOf = (session: string) => `/v1/sessions/${session}/step`;
const STEP = stepOf('arm');
const CLOSE = { Connection: 'close' };

/** One request, one answer. */
function one(name: string, status: number, request: Request = {}): Sent {
  return { name, status: [status], parts: [bytesOf(request)], answers: 1 };
}

function raw(name: string, status: readonly number[], parts: readonly Part[], answers?: number): Sent {
  return { name, status, parts, answers };
}

const GOOD: readonly Sent[] = [
  one('a step', 200),
  one('a step with spaces', 200, { body: ' { "action" : [ -1.25 ] } \n' }),
  one('a number for a row of one', 200, { body: '{"action":0.25}' }),
  one('a step that says its charset', 200, { headers: { 'Content-Type': 'application/json; charset=utf-8' } }),
  one('a step with a deadline', 200, { body: '{"action":[0],"timeout_seconds":5}' }),
  one('a step of a trace', 200, {
    headers: { Traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01', 'X-Request-ID': undefined },
  }),
  one('headers in capitals', 200, { headers: { 'CONTENT-TYPE': 'application/json', 'Content-Type': undefined } }),
  one('a page of its own', 200, { headers: { Origin: 'http://127.0.0.1' } }),
  one('a connection that ends', 200, { headers: CLOSE }),
  raw('one that is kept', [200, 200], [bytesOf(), bytesOf({ headers: CLOSE })]),
  one('a session with capitals and signs', 200, { path: stepOf('Leg_2-b') }),
  one('tools', 200, { path: stepOf('desk'), body: '{"action":{"content":"hello"}}' }),
  one('tools that fail', 200, {
    path: stepOf('desk'),
    body: '{"action":{"tool_calls":[{"name":"no","arguments":{}}]}}',
  }),
];

const UNUSUAL: readonly Sent[] = [
  one('an id of the request', 200, { body: '{"action":[0.5],"request_id":"r1"}' }),
  one('the same again', 200, { body: '{"action":[0.5],"request_id":"r1"}' }),
  one('the same id for something else', 409, { body: '{"action":[0.75],"request_id":"r1"}' }),
  one('a query', 200, { path: `${STEP}?x=1` }),
  one('an id to decode', 200, { path: stepOf('%61rm') }),
  one('an id with a dot', 200, { path: stepOf('a.b') }),
  one('a slash more', 404, { path: `${STEP}/` }),
  one('two slashes', 404, { path: '/v1/sessions//step' }),
  one('a path in capitals', 404, { path: STEP.toUpperCase() }),
  one('a whole URL', 200, { path: `http://127.0.0.1${STEP}` }),
  one('a URL that is too long', 422, { path: stepOf('x'.repeat(5000)) }),
  one('an id that is too long', 422, { path: stepOf('x'.repeat(256)) }),
  one('another charset', 200, { headers: { 'Content-Type': 'application/json;charset=UTF-8' } }),
  one('JSON of another kind', 200, { headers: { 'Content-Type': 'application/vnd.api+json' } }),
  one('a body as it is', 200, { headers: { 'Content-Encoding': 'identity' } }),
  raw('HTTP/1.0', [200], [bytesOf({ version: '1.0' })]),
  raw('HTTP/1.0, kept', [200], [bytesOf({ version: '1.0', headers: { Connection: 'keep-alive' } })], 1),
  raw(
    'chunks',
    [200],
    [bytesOf({ body: '', headers: { 'Transfer-Encoding': 'chunked', ...CLOSE } }), `10\r\n${ACTION}\r\n0\r\n\r\n`],
  ),
  one('a body that is announced', 200, { headers: { Expect: '100-continue' } }),
  raw('a body that comes later', [200], [bytesOf().slice(0, -ACTION.length), ACTION], 1),
  raw('a body in two parts', [200], [bytesOf().slice(0, -5), bytesOf().slice(-5)], 1),
  raw('a head in two parts', [200], [bytesOf().slice(0, 30), bytesOf().slice(30)], 1),
  raw(
    'several at once',
    [200, 200, 200],
    [bytesOf() + bytesOf({ body: '{"action":[-1]}' }) + bytesOf({ headers: CLOSE })],
  ),
  raw(
    'a good one behind one that waits',
    [201, 200, 200],
    [bytesOf({ path: '/v1/sessions/arm/snapshot', body: '{}' }) + bytesOf() + bytesOf({ headers: CLOSE })],
  ),
  raw('half a body', [], [bytesOf().slice(0, -3)], 0),
  raw('a head alone', [], [bytesOf().slice(0, -ACTION.length)], 0),
];

const BAD: readonly Sent[] = [
  one('a session that is not there', 404, { path: stepOf('nobody') }),
  one('one that was closed', 410, { path: stepOf('gone') }),
  one('one that has not begun', 409, { path: stepOf('fresh') }),
  one('one whose episode is over', 409, { path: stepOf('over') }),
  one('an action that is too long', 400, { body: '{"action":[0.5,1]}' }),
  one('an action beyond its bounds', 400, { body: '{"action":[99]}' }),
  one('an action of words', 422, { body: '{"action":"left"}' }),
  one('no action', 422, { body: '{}' }),
  one('a field nobody knows', 422, { body: '{"action":[0.5],"acton":[1]}' }),
  one('a list', 422, { body: '[1]' }),
  one('null', 422, { body: 'null' }),
  one('half of JSON', 422, { body: '{"action":[0.5' }),
  one('bytes that are no text', 422, { body: '{"action":[0.5]\u0000}' }),
  one('a prototype', 422, { body: '{"action":[0.5],"__proto__":{"x":1}}' }),
  one('a prototype in signs', 422, { body: '{"action":[0.5],"\\u005f_proto__":{"x":1}}' }),
  one('a constructor', 422, { body: '{"action":[0.5],"constructor":{"prototype":{"x":1}}}' }),
  one('a deep body', 422, { body: `{"action":${'['.repeat(40)}${']'.repeat(40)}}` }),
  one('too many values', 422, { body: `{"action":[${'0,'.repeat(400)}0]}` }),
  one('a large body', 413, { body: `{"action":[0.5],"x":"${'x'.repeat(5000)}"}` }),
  one('no body', 422, { body: '', headers: { 'Content-Length': '0' } }),
  one('no length', 422, { body: '' }),
  raw('a length that is none', [400], [bytesOf({ headers: { 'Content-Length': 'x' } })]),
  raw('two lengths', [400], [bytesOf({ headers: { 'Content-Length': '16\r\nContent-Length: 17' } })]),
  raw('a length and chunks', [400], [bytesOf({ headers: { 'Transfer-Encoding': 'chunked' } })]),
  one('text', 415, { headers: { 'Content-Type': 'text/plain' } }),
  one('no type', 415, { headers: { 'Content-Type': undefined } }),
  one('a type with more behind it', 415, { headers: { 'Content-Type': 'application/json evil' } }),
  one('a packed body', 415, { headers: { 'Content-Encoding': 'gzip' } }),
  one('another host', 421, { headers: { Host: 'evil.example' } }),
  raw('no host', [400], [bytesOf({ headers: { Host: undefined } })]),
  one('a page of another site', 403, { headers: { Origin: 'http://evil.example' } }),
  one('a page without a name', 403, { headers: { Origin: 'null' } }),
  one('what a browser says of another site', 403, { headers: { 'Sec-Fetch-Site': 'cross-site' } }),
  one('a way that is not there', 404, { method: 'PUT' }),
  one('a look', 404, { method: 'GET', body: '' }),
  raw('a look at the head', [404], [bytesOf({ method: 'HEAD', body: '', headers: CLOSE })]),
  one('a question', 404, { method: 'OPTIONS', body: '' }),
];

/** Sessions: `arm` and `Leg_2-b` are in an episode, `over` was, `gone` is closed, `fresh` has not begun; `desk` is one of tools. */
export const REQUESTS: readonly Sent[] = [...GOOD, ...UNUSUAL, ...BAD, one('a step after all that', 200)];

const bearer = (token: string) => ({ Authorization: `Bearer ${token}` });

/** `arm` is alice's, `spare` that of somebody who may take two steps a minute. */
export const REQUESTS_WITH_TOKENS: readonly Sent[] = [
  one('no token', 401),
  one('a wrong token', 401, { headers: bearer(`${TOKEN}x`) }),
  one('an empty token', 401, { headers: { Authorization: 'Bearer ' } }),
  one('a token', 200, { headers: bearer(TOKEN) }),
  one('a key', 200, { headers: { 'X-Api-Key': TOKEN } }),
  one('a password', 200, { headers: { Authorization: `Basic ${Buffer.from(`x:${TOKEN}`).toString('base64')}` } }),
  one('a token in the URL', 401, { path: `${STEP}?token=${TOKEN}` }),
  one('a cookie that stands for none', 401, { headers: { Cookie: 'reverie=guessed' } }),
  one('two tokens', 401, { headers: { Authorization: 'Bearer wrong', 'X-Api-Key': TOKEN } }),
  one("somebody else's session", 404, { headers: bearer(FEW) }),
  one('a page of another site, with a token', 403, { headers: { ...bearer(TOKEN), Origin: 'http://evil.example' } }),
  one('a first step', 200, { path: stepOf('spare'), headers: bearer(FEW) }),
  one('a second step', 200, { path: stepOf('spare'), headers: bearer(FEW) }),
  one('a third, which is too many', 429, { path: stepOf('spare'), headers: bearer(FEW) }),
  one('a token after all that', 200, { headers: bearer(TOKEN) }),
];
