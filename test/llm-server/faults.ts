// What goes wrong with a request at the test server: drawn from a seed, the request's body and how often that body was
// seen before, so that the same run meets the same faults whatever its timing.

import { createHash } from 'node:crypto';
import { Rng } from '../../src/core/rng.js';

/** Shares of requests (0 to 1) that meet a fault; at most one of them each, so they must not add up to more than 1. */
export interface FaultShares {
  /** 429 with `Retry-After: 0`. */
  readonly rate429?: number;
  readonly rate500?: number;
  /** 200 with a body that is no JSON. */
  readonly malformed?: number;
  /** A refusal by a content filter. */
  readonly refuse?: number;
  /** The connection is cut in the middle of the reply. */
  readonly dropStream?: number;
  /** A reply of 8 MB. */
  readonly hugeReply?: number;
  /** A text of JSON arrays nested 10,000 deep. */
  readonly deepJson?: number;
  /** No answer at all. */
  readonly hang?: number;
}

export interface Faults extends FaultShares {
  readonly seed: number;
  /** Milliseconds that every answer takes longer. */
  readonly slowMs?: number;
  /** Share of answers whose token counts are negative, absurd, no numbers or missing; besides the other faults. */
  readonly lyingUsage?: number;
}

export type FaultKind = keyof FaultShares;

const KINDS: readonly FaultKind[] = [
  'rate429',
  'rate500',
  'malformed',
  'refuse',
  'dropStream',
  'hugeReply',
  'deepJson',
  'hang',
];

const LIES: readonly unknown[] = [
  undefined,
  null,
  { prompt_tokens: -5, completion_tokens: -1 },
  { prompt_tokens: 'many', completion_tokens: null },
  { prompt_tokens: 1e12, completion_tokens: 1e12 },
  { prompt_tokens: 0, completion_tokens: 0 },
];

export interface Draw {
  readonly fault?: FaultKind;
  /** What to send as usage instead of the truth. */
  readonly lie?: { readonly usage: unknown };
}

/** The stream of one body at one retry. */
export function requestRng(seed: number, bodyText: string, retry: number): Rng {
  const digest = createHash('sha256').update(bodyText).digest();
  return Rng.fromSeed(seed).split(digest.readUInt32LE(0), digest.readUInt32LE(4), retry);
}

export function drawFault(faults: Faults, bodyText: string, retry: number): Draw {
  const rng = requestRng(faults.seed, bodyText, retry);
  let left = rng.uniform();
  const lies = rng.uniform() < (faults.lyingUsage ?? 0);
  const lie = lies ? { usage: LIES[rng.int(LIES.length)] } : undefined;
  for (const kind of KINDS) {
    left -= faults[kind] ?? 0;
    if (left < 0) return { fault: kind, lie };
  }
  return { lie };
}
