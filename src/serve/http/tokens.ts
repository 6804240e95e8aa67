// Tokens: who may come in, as whom, and with which quota. Only their hashes are kept.

import { createHash, timingSafeEqual } from 'node:crypto';
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
