// What a wrong order of policies costs, in real return.

import { allFinite, sameLength, unfit } from './numbers.js';

/** One return a policy, the same order in both. Named, because neither statistic is symmetric. */
export interface PolicyReturns {
  readonly real: ArrayLike<number>;
  readonly dreamt: ArrayLike<number>;
}

/**
 * Mean maximum rank violation (SIMPLER, 2405.05941, section 3): for each policy the largest real gap to another one that the
 * dream puts on the wrong side of it, averaged; in units of real return. 0 is best; null for fewer than two policies. As in
 * the released code of SIMPLER, a pair that is only tied in the dream counts, for its better policy alone.
 *
 * @throws FIDELITY_NUMBERS_INVALID if lengths differ, or for NaN or infinity
 */
export function mmrv({ real, dreamt }: PolicyReturns): number | null {
  checked('mmrv', { real, dreamt });
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
 * Real return of the best policy minus that of the best among the `k` that the dream puts first (Fu et al. 2021, Benchmarks
 * for Deep Off-Policy Evaluation, section 4). Among policies tied in the dream the worst come first, so that a dream that
 * tells nothing apart earns nothing by their order. null without policies.
 *
 * @throws FIDELITY_NUMBERS_INVALID if lengths differ, k is not a whole number from 1 on, or for NaN or infinity
 */
export function regretAt(k: number, { real, dreamt }: PolicyReturns): number | null {
  checked('regret', { real, dreamt });
  if (!(Number.isInteger(k) && k >= 1)) throw unfit('regret', `k is ${k}.`);
  if (real.length === 0) return null;
  const order = Array.from({ length: real.length }, (_, i) => i).sort(
    (i, j) => dreamt[j] - dreamt[i] || real[i] - real[j],
  );
  return Math.max(...Array.from(real)) - Math.max(...order.slice(0, k).map((i) => real[i]));
}

function checked(statistic: string, { real, dreamt }: PolicyReturns): void {
  sameLength(statistic, real, dreamt);
  allFinite(statistic, real);
  allFinite(statistic, dreamt);
}
