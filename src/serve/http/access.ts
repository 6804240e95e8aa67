// Who may come in. Checked before anything else is done for a request, so before a WebSocket's handshake too.

import { timingSafeEqual } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { parse } from 'yaml';
import { z } from 'zod';
import { sha256 } from '../../core/canonical-json.js';
import { describeIssues, reverieError } from '../../core/errors.js';
import type { Owner, QuotaLimits } from '../core/session-contract.js';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Who may use a route; by default every token. */
    access?: 'open' | 'operator';
  }
  interface FastifyRequest {
    /** Who asks; undefined on open routes. */
    caller: Caller | undefined;
  }
}

export interface AccessRules {
  /** None: every client is `local`, and an operator. */
  readonly tokens?: Tokens;
  /** Names and addresses the server may be asked by, without ports; `any`: tokens keep strangers out. */
  readonly hosts: readonly string[] | 'any';
  /** Hosts whose pages may use the server besides its own. */
  readonly pagesOf: readonly string[];
}

const LOCAL: Caller = { owner: 'local', operator: true, quota: {} };

/** @throws HOST_REFUSED, ORIGIN_REFUSED, TOKEN_NEEDED, TOKEN_WRONG, OPERATOR_NEEDED */
export function accessGuard(app: FastifyInstance, rules: AccessRules): (request: FastifyRequest) => void {
  app.decorateRequest('caller', undefined);
  const checkOrigin = originCheck(rules);
  return (request) => {
    checkOrigin(request);
    const { access } = request.routeOptions.config;
    if (access === 'open') return;
    const caller = callerIn(request.headers, rules);
    if (access === 'operator' && !caller.operator) throw reverieError('OPERATOR_NEEDED');
    request.caller = caller;
  };
}

/** @throws TOKEN_NEEDED, TOKEN_WRONG */
function callerIn(headers: IncomingHttpHeaders, { tokens }: AccessRules): Caller {
  if (tokens === undefined) return LOCAL;
  const token = tokenIn(headers);
  if (token === undefined) throw reverieError('TOKEN_NEEDED');
  const caller = tokens.find(token);
  if (caller === undefined) throw reverieError('TOKEN_WRONG');
  return caller;
}

// Pages of other sites in the browser of someone who may reach the server: they may not use it. A page whose name was
// rebound to this machine is known by its Host header, any other by what browsers say of where a request comes from.

export const LOOPBACK_NAMES = ['localhost', '127.0.0.1', '[::1]'];

const HARMLESS = new Set(['GET', 'HEAD']);

/** What holds a request to the rules. It throws HOST_REFUSED, ORIGIN_REFUSED. */
function originCheck({ hosts, pagesOf }: AccessRules): (request: FastifyRequest) => void {
  // Nearly every request says the same: the host that was let in last is not taken apart again.
  let letIn: string | undefined;
  return (request) => {
    const host = request.headers.host ?? '';
    if (hosts !== 'any' && host !== letIn) {
      if (!hosts.includes(nameOf(host))) throw reverieError('HOST_REFUSED', { host });
      letIn = host;
    }
    checkPage(request, host, pagesOf);
  };
}

function checkPage({ headers, method, ws }: FastifyRequest, host: string, pagesOf: readonly string[]): void {
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

/** One that may come in. */
interface Caller {
  readonly owner: Owner;
  /** May see metrics and the sessions of all. */
  readonly operator: boolean;
  readonly quota: QuotaLimits;
}

/** `sha256`: 64 hex digits. */
export type TokenEntry = Caller & { readonly sha256: string };

export class Tokens {
  private readonly known: readonly { readonly caller: Caller; readonly hash: Buffer }[];

  constructor(entries: readonly TokenEntry[]) {
    this.known = entries.map(({ sha256, ...caller }) => ({ caller, hash: Buffer.from(sha256, 'hex') }));
  }

  /** Whose token it is. Takes as long whichever it is, and if it is none. */
  find(token: string): Caller | undefined {
    const hash = Buffer.from(sha256(token), 'hex');
    let found: Caller | undefined;
    for (const one of this.known) if (timingSafeEqual(one.hash, hash)) found = one.caller;
    return found;
  }
}

/**
 * The token that a request shows. `Basic` is for browsers, which ask for a name and a password, and for clients that can set
 * no header but put the user and password of their URL into one, such as OpenEnv's; the user's name does not count.
 */
export function tokenIn(headers: IncomingHttpHeaders): string | undefined {
  const [scheme, given] = splitOnce(headers.authorization ?? '', ' ');
  if (scheme.toLowerCase() === 'bearer') return given.trim();
  if (scheme.toLowerCase() === 'basic') return splitOnce(Buffer.from(given, 'base64').toString('utf8'), ':')[1];
  const key = headers['x-api-key'];
  return typeof key === 'string' && key !== '' ? key : undefined;
}

function splitOnce(text: string, separator: string): [before: string, after: string] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + separator.length)];
}

// Where tokens come from: a file of them, or one in the environment.

/** Shorter ones can be guessed. */
const SHORTEST = 16;

const quota = z.strictObject({
  sessions: z.int().min(0).optional().describe('sessions open at once'),
  stepsPerMinute: z.int().min(0).optional().describe('steps within a minute'),
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
  const own = { owner: 'default', operator: true, quota: {}, sha256: sha256(fromEnvironment) };
  return refuseTwins(source, [...entries, own]);
}

function fileEntries(path: string): readonly TokenEntry[] {
  const read = tokenFileSchema.safeParse(contentOf(path));
  if (!read.success) throw invalid(`"${path}"`, describeIssues(read.error));
  const entries = read.data.map(({ name: owner, token, sha256: hash, operator, quota }) => {
    return { owner, operator, quota, sha256: hash?.toLowerCase() ?? sha256(token!) };
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
