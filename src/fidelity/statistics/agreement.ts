// How two lists of numbers go together, and what a wrong order of policies costs. null where one of the lists does not vary, or
// there are fewer than two.

import { mean } from '../../core/statistics.js';
import { allFinite, sameLength, unfit } from './estimate.js';

/**
 * Pearson's product-moment correlation, in [-1, 1].
 *
 * @throws DATA_MISMATCH if lengths differ, or for NaN or infinity
 */
export function pearson(x: ArrayLike<number>, y: ArrayLike<number>): number | null {
  checked('pearson', x, y);
  const n = x.length;
  if (n < 2) return null;
  const meanX = mean(x);
  const meanY = mean(y);
  let xx = 0;
  let yy = 0;
  let xy = 0;
  for (let i = 0; i < n; i++) {
    const dx = x[i] - meanX;
    const dy = y[i] - meanY;
    xx += dx * dx;
    yy += dy * dy;
    xy += dx * dy;
  }
  if (isConstant(x) || isConstant(y) || xx === 0 || yy === 0) return null;
  return withinOne((xy / xx) * Math.sqrt(xx / yy));
}

/**
 * Spearman's rank correlation: Pearson's of ranks, ties by their mean rank.
 *
 * @throws DATA_MISMATCH if lengths differ, or for NaN or infinity
 */
export function spearman(x: ArrayLike<number>, y: ArrayLike<number>): number | null {
  checked('spearman', x, y);
  return pearson(ranks(x), ranks(y));
}

/**
 * Kendall's tau-b, which allows for ties (Kendall 1945). Every pair is looked at: for as many as there are policies.
 *
 * @throws DATA_MISMATCH if lengths differ, or for NaN or infinity
 */
export function kendall(x: ArrayLike<number>, y: ArrayLike<number>): number | null {
  checked('kendall', x, y);
  let balance = 0;
  let untiedX = 0;
  let untiedY = 0;
  for (let i = 0; i < x.length; i++) {
    for (let j = 0; j < i; j++) {
      const [a, b] = [Math.sign(x[i] - x[j]), Math.sign(y[i] - y[j])];
      balance += a * b;
      untiedX += a * a;
      untiedY += b * b;
    }
  }
  if (untiedX === 0 || untiedY === 0) return null;
  return withinOne((balance / untiedX) * Math.sqrt(untiedX / untiedY));
}

/** Ranks from 1 on; equal numbers share their mean rank. */
export function ranks(values: ArrayLike<number>): Float64Array {
  const n = values.length;
  const order = Uint32Array.from({ length: n }, (_, i) => i).sort((i, j) => values[i] - values[j]);
  const out = new Float64Array(n);
  for (let start = 0; start < n; ) {
    let end = start + 1;
    while (end < n && values[order[end]] === values[order[start]]) end++;
    for (let i = start; i < end; i++) out[order[i]] = (start + 1 + end) / 2;
    start = end;
  }
  return out;
}

function checked(statistic: string, x: ArrayLike<number>, y: ArrayLike<number>): void {
  sameLength(statistic, x, y);
  allFinite(statistic, x);
  allFinite(statistic, y);
}

/** A mean of equal numbers may be off by a rounding, which would pass for variation. */
function isConstant(values: ArrayLike<number>): boolean {
  return Array.prototype.every.call(values, (value) => value === values[0]);
}

/** A correlation that rounding took past an end. */
function withinOne(value: number): number {
  return Math.min(1, Math.max(-1, value));
}

/** One return a policy, the same order in both. Named, because what follows is not symmetric. */
interface PolicyReturns {
  readonly real: ArrayLike<number>;
  readonly dreamt: ArrayLike<number>;
}

/**
 * Mean maximum rank violation (SIMPLER, 2405.05941, section 3): for each policy the largest real gap to another one that the
 * simulation puts on the wrong side of it, averaged; in units of real return. 0 is best; null for fewer than two policies. As in
 * the released code of SIMPLER, a pair that is only tied in the simulation counts, for its better policy alone.
 *
 * @throws DATA_MISMATCH if lengths differ, or for NaN or infinity
 */
export function mmrv({ real, dreamt }: PolicyReturns): number | null {
  checked('mmrv', real, dreamt);
  const n = real.length;
  if (n < 2) return null;
  let sum = 0;
  for (let i = 0; i < n; i++) {
    let largest = 0;
    for (let j = 0; j < n; j++) {
      const wrong = dreamt[i] > dreamt[j] !== real[i] > real[j];
      if (wrong) largest = Math.max(largest, Math.abs(real[i] - real[j]));
    }
    sum += largest;
  }
  return sum / n;
}

/** MMRV as a share of the range of real returns, in [0, 1]; null where real returns do not vary. */
export function mmrvShare(returns: PolicyReturns): number | null {
  const value = mmrv(returns);
  const real = Array.from(returns.real);
  const range = Math.max(...real) - Math.min(...real);
  return value === null || range === 0 ? null : value / range;
}

/**
 * Real return of the best policy minus that of the best among the `k` that the simulation puts first (Fu et al. 2021, Benchmarks
 * for Deep Off-Policy Evaluation, section 4). Among policies tied in the simulation the worst come first, so that a simulation
 * that tells nothing apart earns nothing by their order. null without policies.
 *
 * @throws DATA_MISMATCH if lengths differ, k is not a whole number from 1 on, or for NaN or infinity
 */
export function regretAt(k: number, { real, dreamt }: PolicyReturns): number | null {
  checked('regret', real, dreamt);
  if (!(Number.isInteger(k) && k >= 1)) throw unfit('regret', `k is ${k}.`);
  if (real.length === 0) return null;
  const order = Array.from({ length: real.length }, (_, i) => i).sort(
    (i, j) => dreamt[j] - dreamt[i] || real[i] - real[j],
  );
  return Math.max(...Array.from(real)) - Math.max(...order.slice(0, k).map((i) => real[i]));
}
