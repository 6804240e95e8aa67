// Who may come in. Checked before anything else is done for a request, so before a WebSocket's handshake too.

import { createHash, timingSafeEqual } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';
import { parse } from 'yaml';
import { z } from 'zod';
import { describeIssues, reverieError } from '../../core/errors.js';
import { type Owner, type QuotaLimits, unguessable } from '../core/session-contract.js';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Who may use a route: whoever has a token unless said otherwise. */
    access?: 'open' | 'operator';
  }
  interface FastifyRequest {
    /** Who asks; undefined on open routes. */
    caller: Caller | undefined;
  }
}

export interface AccessRules extends HostRules {
  /** None: whoever reaches the server is `local`, and its operator. */
  readonly tokens?: Tokens;
  /** Browsers that showed a token: what their cookies stand for. */
  readonly logins?: Logins;
}

const LOCAL: Caller = { owner: 'local', operator: true, quota: {} };

/** Lets a request in and says so, or has answered it. @throws HOST_REFUSED, ORIGIN_REFUSED, TOKEN_NEEDED, TOKEN_WRONG, OPERATOR_NEEDED */
type AccessGuard = (request: FastifyRequest, reply: FastifyReply) => boolean;

export function accessGuard(app: FastifyInstance, rules: AccessRules): AccessGuard {
  app.decorateRequest('caller', undefined);
  const checkOrigin = originCheck(rules);
  return (request, reply) => {
    checkOrigin(request);
    const { access } = request.routeOptions.config;
    if (access === 'open') return true;
    const caller = rules.tokens === undefined ? LOCAL : callerIn(request.headers, rules);
    if (caller === undefined) {
      if (!isPage(request)) throw reverieError(tokenIn(request.headers) === undefined ? 'TOKEN_NEEDED' : 'TOKEN_WRONG');
      reply.redirect(`${LOGIN_PATH}?next=${encodeURIComponent(request.url)}`, 303);
      return false;
    }
    if (access === 'operator' && !caller.operator) throw reverieError('OPERATOR_NEEDED');
    request.caller = caller;
    return true;
  };
}

function callerIn(headers: IncomingHttpHeaders, { tokens, logins }: AccessRules): Caller | undefined {
  const token = tokenIn(headers);
  if (token !== undefined) return tokens!.find(token);
  const cookie = cookieIn(headers);
  return cookie === undefined ? undefined : logins?.get(cookie);
}

/** Somebody opens a page in a browser and can be asked for a token there. */
function isPage({ method, headers, ws }: FastifyRequest): boolean {
  return method === 'GET' && !ws && (headers.accept ?? '').includes('text/html') && headers.authorization === undefined;
}

// Pages of other sites in the browser of someone who may reach the server: they may not use it. A page whose name was
// rebound to this machine is known by its Host header, any other by what browsers say of where a request comes from.

interface HostRules {
  /** Names and addresses the server may be asked by, without ports; `any`: tokens keep strangers out. */
  readonly hosts: readonly string[] | 'any';
  /** Hosts whose pages may use the server besides its own. */
  readonly pagesOf: readonly string[];
}

/** What is looked at of a request: fastify's and node's own both are one. */
interface Visit {
  readonly method?: string;
  readonly headers: IncomingHttpHeaders;
  /** Whether it is a WebSocket's handshake. */
  readonly ws?: boolean;
}

export const LOOPBACK_NAMES = ['localhost', '127.0.0.1', '[::1]'];

const HARMLESS = new Set(['GET', 'HEAD']);

/** What holds a request to the rules. It throws HOST_REFUSED, ORIGIN_REFUSED. */
function originCheck({ hosts, pagesOf }: HostRules): (visit: Visit) => void {
  // Nearly every request says the same: the host that was let in last is not taken apart again.
  let letIn: string | undefined;
  return (visit) => {
    const host = visit.headers.host ?? '';
    if (hosts !== 'any' && host !== letIn) {
      if (!hosts.includes(nameOf(host))) throw reverieError('HOST_REFUSED', { host });
      letIn = host;
    }
    checkPage(visit, host, pagesOf);
  };
}

function checkPage({ headers, method = '', ws }: Visit, host: string, pagesOf: readonly string[]): void {
  const { origin } = headers;
  if (origin !== undefined) {
    const from = hostOf(origin);
    if (from === undefined || (from !== host.toLowerCase() && !pagesOf.includes(nameOf(from)))) {
      throw reverieError('ORIGIN_REFUSED', { origin });
    }
    return;
  }
  const site = headers['sec-fetch-site'];
  const isForeign = site === 'cross-site' || site === 'same-site';
  const isLink = headers['sec-fetch-mode'] === 'navigate' && HARMLESS.has(method) && !ws;
  if (isForeign && !isLink) throw reverieError('ORIGIN_REFUSED', { origin: `another site (${site})` });
}

/** Host and port of an origin; undefined for `null` and what is none. */
function hostOf(origin: string): string | undefined {
  return URL.canParse(origin) ? new URL(origin).host || undefined : undefined;
}

/** A host without its port. */
function nameOf(host: string): string {
  return host.toLowerCase().replace(/:\d*$/, '');
}

const LOGIN_PATH = '/login';

const HOURS = 12;
const BROWSERS = 1000;
const FORM = 'application/x-www-form-urlencoded';

type Logins = LRUCache<string, Caller>;

export function browserLogins(): Logins {
  return new LRUCache({ max: BROWSERS, ttl: HOURS * 3600_000 });
}

/** GET and POST /login, POST /logout. */
export async function addLogin(app: FastifyInstance, tokens: Tokens, logins: Logins): Promise<void> {
  await app.register(async (scope) => {
    scope.addContentTypeParser(FORM, { parseAs: 'string' }, (_request, body, done) => {
      done(null, Object.fromEntries(new URLSearchParams(String(body))));
    });
    const open = { config: { access: 'open' as const } };
    scope.get(LOGIN_PATH, open, (request, reply) => sendForm(reply, nextOf(request.query)));
    scope.post(LOGIN_PATH, open, (request, reply) => {
      const { token = '' } = (request.body ?? {}) as { token?: unknown };
      const caller = tokens.find(String(token));
      const next = nextOf(request.body);
      if (caller === undefined) return sendForm(reply.status(401), next, reverieError('TOKEN_WRONG').message);
      const id = unguessable();
      logins.set(id, caller);
      return reply.header('set-cookie', cookieOf(request, id, HOURS * 3600)).redirect(next, 303);
    });
    scope.post('/logout', open, (request, reply) => {
      const id = cookieIn(request.headers);
      if (id !== undefined) logins.delete(id);
      return reply.header('set-cookie', cookieOf(request, '', 0)).redirect(LOGIN_PATH, 303);
    });
  });
}

/** Where to go afterwards: never to another site. */
function nextOf(given: unknown): string {
  const { next } = (given ?? {}) as { next?: unknown };
  return typeof next === 'string' && /^\/(?![/\\])[\x21-\x7e]*$/.test(next) ? next : '/docs';
}

function cookieOf({ headers }: FastifyRequest, value: string, seconds: number): string {
  const secure = headers['x-forwarded-proto'] === 'https' ? '; Secure' : '';
  return `${COOKIE}=${value}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${seconds}${secure}`;
}

const STYLE =
  'body{font:16px system-ui,sans-serif;max-width:22rem;margin:15vh auto;padding:0 1rem}input,button{font:inherit;width:100%;box-sizing:border-box;padding:.5rem;margin:.25rem 0}';

function sendForm(reply: FastifyReply, next: string, problem = ''): FastifyReply {
  const page = `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Reverie</title><style>${STYLE}</style></head><body><h1>Reverie</h1><p role="alert">${problem}</p>
<form method="post" action="${LOGIN_PATH}"><label>Token <input type="password" name="token" autocomplete="current-password" required autofocus></label>
<input type="hidden" name="next" value="${next.replace(/[&"<>]/g, (one) => `&#${one.charCodeAt(0)};`)}"><button>Log in</button></form></body></html>`;
  return (
    reply
      .type('text/html; charset=utf-8')
      .header('cache-control', 'no-store')
      // Without a referrer a browser sends this form with `Origin: null`, which is no page of ours.
      .header('referrer-policy', 'same-origin')
      .header('content-security-policy', "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'")
      .send(page)
  );
}

/** One that may come in. */
export interface Caller {
  readonly owner: Owner;
  /** May see metrics and the sessions of all. */
  readonly operator: boolean;
  readonly quota: QuotaLimits;
}

/** `sha256`: 64 hex digits. */
export type TokenEntry = Caller & { readonly sha256: string };

export function hashOfToken(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}

export class Tokens {
  private readonly known: readonly { readonly caller: Caller; readonly hash: Buffer }[];

  constructor(entries: readonly TokenEntry[]) {
    this.known = entries.map(({ sha256, ...caller }) => ({ caller, hash: Buffer.from(sha256, 'hex') }));
  }

  /** Whose token it is. Takes as long whichever it is, and if it is none. */
  find(token: string): Caller | undefined {
    const hash = createHash('sha256').update(token).digest();
    let found: Caller | undefined;
    for (const one of this.known) if (timingSafeEqual(one.hash, hash)) found = one.caller;
    return found;
  }
}

// The token in a request: in a header, in the header that a URL's user and password become, or behind a page's cookie.

/** Name of the cookie that a browser gets for its token at /login. */
const COOKIE = 'reverie';

/**
 * What a request shows. `Basic` is for clients that can set no header but put the user and password of their URL into
 * one, such as OpenEnv's; the user's name does not count.
 */
export function tokenIn(headers: IncomingHttpHeaders): string | undefined {
  const [scheme, given] = splitOnce(headers.authorization ?? '', ' ');
  if (scheme.toLowerCase() === 'bearer') return given.trim();
  if (scheme.toLowerCase() === 'basic') return splitOnce(Buffer.from(given, 'base64').toString('utf8'), ':')[1];
  const key = headers['x-api-key'];
  return typeof key === 'string' && key !== '' ? key : undefined;
}

/** Value of the cookie that stands for a token. */
function cookieIn({ cookie = '' }: IncomingHttpHeaders): string | undefined {
  const pairs = cookie.split(';').map((pair) => splitOnce(pair.trim(), '='));
  return pairs.find(([name]) => name === COOKIE)?.[1];
}

function splitOnce(text: string, separator: string): [before: string, after: string] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + separator.length)];
}

// Where tokens come from: a file of them, or one in the environment.

/** Shorter ones can be guessed. */
const SHORTEST = 16;

const count = z.int().min(0);
const quota = z.strictObject({
  sessions: count.optional().describe('sessions open at once'),
  snapshots: z.int().min(1).optional().describe('snapshots kept at once'),
  stepsPerMinute: count.optional().describe('steps within a minute'),
  spend: z
    .strictObject({
      money: z.number().min(0).optional().describe('in the currency of the configured prices'),
      tokens: count.optional().describe('tokens in and out of language models'),
    })
    .optional()
    .describe('what language models may cost while the server runs'),
});
const entry = z
  .strictObject({
    name: z
      .string()
      .regex(/^[\w.@-]{1,64}$/, 'a name of 1 to 64 letters, digits, "_", ".", "@" and "-"')
      .describe('owner of the sessions that are opened with the token'),
    token: z.string().min(SHORTEST, `at least ${SHORTEST} characters`).optional().describe('the token itself'),
    sha256: z
      .string()
      .regex(/^[0-9a-f]{64}$/i, '64 hex digits')
      .optional()
      .describe('its SHA-256 instead, in hex, so that the file holds no secret'),
    operator: z.boolean().default(false).describe('may read /metrics and see the sessions of all'),
    quota: quota.default({}).describe('what its owner may use; a limit that is not given is the one of the server'),
  })
  .refine(({ token, sha256 }) => (token === undefined) !== (sha256 === undefined), 'give either token or sha256');

/** A list of tokens; the same file format as docs/serving.md shows. */
export const tokenFileSchema = z.array(entry).min(1, 'at least one token');

/**
 * Tokens of a file (YAML or JSON) and of the environment's REVERIE_TOKEN, whose owner is called `default` and is an
 * operator. Empty where neither is given.
 * @throws TOKENS_INVALID
 */
export function readTokens(path: string | undefined, fromEnvironment: string | undefined): readonly TokenEntry[] {
  const entries = path === undefined ? [] : fileEntries(path);
  if (fromEnvironment === undefined) return entries;
  const source = 'REVERIE_TOKEN';
  if (fromEnvironment.length < SHORTEST) throw invalid(source, `at least ${SHORTEST} characters are needed`);
  const own = { owner: 'default', operator: true, quota: {}, sha256: hashOfToken(fromEnvironment) };
  return refuseTwins(source, [...entries, own]);
}

function fileEntries(path: string): readonly TokenEntry[] {
  const read = tokenFileSchema.safeParse(contentOf(path));
  if (!read.success) throw invalid(`"${path}"`, describeIssues(read.error));
  const entries = read.data.map(({ name: owner, token, sha256, operator, quota: { spend, ...given } }) => {
    return { owner, operator, quota: { ...given, ...spend }, sha256: sha256?.toLowerCase() ?? hashOfToken(token!) };
  });
  return refuseTwins(`"${path}"`, entries);
}

function contentOf(path: string): unknown {
  try {
    return parse(readFileSync(path, 'utf8'));
  } catch (error) {
    // A parser's message shows lines of the file, and these are secrets.
    const { code, name } = error as NodeJS.ErrnoException;
    throw invalid(`"${path}"`, code === 'ENOENT' ? 'no such file' : `cannot be read (${code ?? name})`);
  }
}

function refuseTwins(source: string, entries: readonly TokenEntry[]): readonly TokenEntry[] {
  for (const [i, { owner, sha256 }] of entries.entries()) {
    const before = entries.slice(0, i);
    if (before.some((one) => one.owner === owner)) throw invalid(source, `two tokens are called ${owner}`);
    if (before.some((one) => one.sha256 === sha256)) throw invalid(source, `${owner} has the token of another`);
  }
  return entries;
}

function invalid(source: string, problem: string) {
  return reverieError('TOKENS_INVALID', { source, problem });
}
