// Tokens: who may come in, as whom, and with which quota. Only their hashes are kept.

import { createHash, timingSafeEqual } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';
import { parse } from 'yaml';
import { z } from 'zod';
import { describeIssues, reverieError } from '../../core/errors.js';
import type { Owner } from '../core/session-contract.js';

/** What one owner may use; what is not given has no limit but the server's own. */
export interface Quota {
  /** Sessions open at once. */
  readonly sessions?: number;
  /** Snapshots kept: the latest. */
  readonly snapshots?: number;
  /** What language models may cost while the server runs, in the currency of the prices. */
  readonly money?: number;
  /** Tokens in and out of language models while the server runs. */
  readonly tokens?: number;
  readonly stepsPerMinute?: number;
  /** Bytes in and out within a minute. */
  readonly bytesPerMinute?: number;
}

/** One that may come in. */
export interface Caller {
  readonly owner: Owner;
  /** May see metrics and the sessions of all. */
  readonly operator: boolean;
  readonly quota: Quota;
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

  get callers(): readonly Caller[] {
    return this.known.map(({ caller }) => caller);
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
export const COOKIE = 'reverie';

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
export function cookieIn({ cookie = '' }: IncomingHttpHeaders): string | undefined {
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
  bytesPerMinute: count.optional().describe('bytes in and out within a minute'),
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
