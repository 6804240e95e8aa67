// How varied texts, embeddings and states are, and how much of the real ones the dreamt ones reach.

import type { Estimate } from './estimate.js';
import { allFinite, sameLength, unfit } from './numbers.js';
import { shareEstimate } from './share.js';

const WORD = /[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]/gu;

/**
 * Different n-grams of words as a share of all (Li et al. 2016, 1510.03055), over all texts together; words and single marks
 * count as tokens, in lower case. null where no text has n tokens. Falls with the amount of text: compare equal amounts alone.
 *
 * @throws FIDELITY_NUMBERS_INVALID unless n is a whole number from 1 on
 */
export function distinctN(texts: readonly string[], n: number): number | null {
  if (!(Number.isInteger(n) && n >= 1)) throw unfit('distinct n-grams', `n is ${n}.`);
  const seen = new Set<string>();
  let all = 0;
  for (const text of texts) {
    const tokens = text.toLowerCase().match(WORD) ?? [];
    for (let i = 0; i + n <= tokens.length; i++) seen.add(tokens.slice(i, i + n).join(' '));
    all += Math.max(0, tokens.length - n + 1);
  }
  return all === 0 ? null : seen.size / all;
}

/**
 * Mean cosine distance of two different embeddings, in [0, 2]; null for fewer than two. O(n): by the length of their sum.
 *
 * @throws FIDELITY_NUMBERS_INVALID if their lengths differ, or one is all zeros or not finite
 */
export function spread(embeddings: readonly ArrayLike<number>[]): number | null {
  const n = embeddings.length;
  if (n < 2) return null;
  const sum = new Float64Array(embeddings[0].length);
  for (const embedding of embeddings) {
    sameLength('spread', embeddings[0], embedding);
    allFinite('spread', embedding);
    const length = Math.hypot(...Array.from(embedding));
    if (length === 0) throw unfit('spread', 'an embedding is all zeros.');
    for (let d = 0; d < sum.length; d++) sum[d] += embedding[d] / length;
  }
  const square = sum.reduce((total, value) => total + value * value, 0);
  return Math.max(0, 1 - (square - n) / (n * (n - 1)));
}

export interface HashCoverage {
  /** Share of the different real ones that the dreamt ones reach. */
  readonly reached: Estimate;
  /** Share of the different dreamt ones that are not among the real ones. */
  readonly novel: Estimate;
}

/** How two sets of hashes (of states, of observations) overlap; how often each occurs does not matter. */
export function hashCoverage({
  real,
  dreamt,
}: {
  readonly real: Iterable<string>;
  readonly dreamt: Iterable<string>;
}): HashCoverage {
  const known = new Set(real);
  const found = new Set(dreamt);
  const both = [...found].filter((hash) => known.has(hash)).length;
  return { reached: shareEstimate(both, known.size), novel: shareEstimate(found.size - both, found.size) };
}
