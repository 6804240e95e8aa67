// How the next token is chosen from log-probabilities: greedily or at random, among the most likely, among those allowed.

import type { Rng } from '../../core/rng.js';

export interface SamplingOptions {
  /** 1 samples what the model says, less is more certain; 0 takes the most likely token. 1 unless given. */
  readonly temperature?: number;
  /** Only this many of the most likely tokens may be chosen. */
  readonly topK?: number;
  /** Only the most likely tokens that together have this probability may be chosen (Holtzman et al. 2020). */
  readonly topP?: number;
}

/**
 * The token chosen by one draw of `rng`; greedy choices draw nothing. Of equal tokens the one with the smaller id is more likely.
 * @param logProbs of all tokens, at the temperature of the options
 * @param allowed the tokens that may be chosen, ascending; absent: all
 */
export function chooseToken(
  logProbs: Float32Array,
  { temperature = 1, topK, topP }: SamplingOptions,
  rng: Rng,
  allowed?: readonly number[],
): number {
  if (temperature === 0) return mostLikely(logProbs, allowed);
  if (allowed?.length === 1) return allowed[0];
  const candidates = topK === undefined && topP === undefined ? allowed : likeliest(logProbs, topK, topP, allowed);
  return draw(logProbs, rng.uniform(), candidates);
}

function mostLikely(logProbs: Float32Array, allowed?: readonly number[]): number {
  let best = allowed?.[0] ?? 0;
  const count = allowed?.length ?? logProbs.length;
  for (let i = 1; i < count; i++) {
    const token = allowed?.[i] ?? i;
    if (logProbs[token] > logProbs[best]) best = token;
  }
  return best;
}

/** The token in which a share of the candidates' total probability falls, in order of id. */
function draw(logProbs: Float32Array, share: number, candidates?: readonly number[]): number {
  const count = candidates?.length ?? logProbs.length;
  const sums = new Float64Array(count);
  // Candidates may all be unlikely: their largest log-probability is taken off first.
  const peak = candidates === undefined ? 0 : logProbs[mostLikely(logProbs, candidates)];
  let sum = 0;
  for (let i = 0; i < count; i++) {
    sum += Math.exp(logProbs[candidates?.[i] ?? i] - peak);
    sums[i] = sum;
  }
  const target = share * sum;
  let at = sums.findIndex((total) => total > target);
  if (at < 0) at = count - 1;
  return candidates?.[at] ?? at;
}

/** Tokens within `topK` and `topP`, ascending. */
function likeliest(
  logProbs: Float32Array,
  topK = Number.POSITIVE_INFINITY,
  topP = 1,
  allowed?: readonly number[],
): number[] {
  const tokens = allowed === undefined ? Array.from(logProbs.keys()) : [...allowed];
  tokens.sort((a, b) => logProbs[b] - logProbs[a] || a - b);
  const peak = logProbs[tokens[0]];
  const total = topP < 1 ? tokens.reduce((sum, token) => sum + Math.exp(logProbs[token] - peak), 0) : 0;
  let kept = Math.min(tokens.length, topK);
  if (topP < 1) {
    let sum = 0;
    for (let i = 0; i < kept; i++) {
      sum += Math.exp(logProbs[tokens[i]] - peak);
      if (sum >= topP * total) kept = i + 1;
    }
  }
  return tokens.slice(0, kept).sort((a, b) => a - b);
}
