// Whether predicted intervals hold the truth as often as they say: through the place of the truth in its predicted distribution.

import type { Estimate } from './estimate.js';
import { normalCdf } from './normal-distribution.js';
import { allShares, sameLength, unfit } from './numbers.js';
import { shareEstimate } from './share.js';

/** Probability integral transform (Dawid 1984): predicted chance of less than x. Of a point (std 0): 0, 1/2 or 1. */
export function pitGaussian(x: number, mean: number, std: number): number {
  if (!(std >= 0)) throw unfit('interval coverage', `the standard deviation is ${std}.`);
  if (std === 0) return x < mean ? 0 : x > mean ? 1 : 0.5;
  return normalCdf((x - mean) / std);
}

/** The same of an equally weighted mixture; `means` and `stds` one a member. */
export function pitMixture(x: number, means: ArrayLike<number>, stds: ArrayLike<number>): number {
  sameLength('interval coverage', means, stds);
  if (means.length === 0) throw unfit('interval coverage', 'there is no member.');
  let sum = 0;
  for (let i = 0; i < means.length; i++) sum += pitGaussian(x, means[i], stds[i]);
  return sum / means.length;
}

/**
 * Share of truths inside the central predicted interval of `level` (0.9: from the 5th to the 95th percentile), from their
 * probability integral transforms.
 *
 * @throws FIDELITY_NUMBERS_INVALID if a pit or the level is outside [0, 1]
 */
export function coverage(pits: ArrayLike<number>, level: number): Estimate {
  allShares('interval coverage', pits);
  allShares('interval coverage', [level]);
  let inside = 0;
  for (let i = 0; i < pits.length; i++) inside += Math.abs(pits[i] - 0.5) <= level / 2 ? 1 : 0;
  return shareEstimate(inside, pits.length);
}
