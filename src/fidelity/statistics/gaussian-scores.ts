// Proper scores of Gaussian predictions and equally weighted mixtures of them (what an ensemble predicts). Lower is better.

import { LOG_SQRT_TWO_PI, normalCdf, normalDensity } from './normal-distribution.js';
import { sameLength, unfit } from './numbers.js';

const SQRT_PI = Math.sqrt(Math.PI);

/**
 * Negative log-likelihood of x, in nats.
 *
 * @throws FIDELITY_NUMBERS_INVALID unless std > 0 and all are finite: a prediction without spread has no likelihood
 */
export function gaussianNll(x: number, mean: number, std: number): number {
  if (!(std > 0 && Number.isFinite(std))) throw unfit('negative log-likelihood', `the standard deviation is ${std}.`);
  const z = (x - mean) / std;
  if (!Number.isFinite(x - mean)) throw unfit('negative log-likelihood', `${x} was held against ${mean}.`);
  return 0.5 * z * z + Math.log(std) + LOG_SQRT_TWO_PI;
}

/**
 * Negative log-likelihood of x under a mixture, in nats; `means` and `stds` one a member. Summed as logarithms, so that stds
 * far smaller than the error do not underflow.
 *
 * @throws FIDELITY_NUMBERS_INVALID if lengths differ, or as `gaussianNll`
 */
export function mixtureNll(x: number, means: ArrayLike<number>, stds: ArrayLike<number>): number {
  checkedMembers('negative log-likelihood', means, stds);
  return mixed(Float64Array.from({ length: means.length }, (_, i) => gaussianNll(x, means[i], stds[i])));
}

/**
 * The same for vectors: a mixture of diagonal Gaussians, `means` and `stds` one vector a member. Sum over elements, in nats.
 *
 * @throws FIDELITY_NUMBERS_INVALID if lengths differ, or as `gaussianNll`
 */
export function jointMixtureNll(
  x: ArrayLike<number>,
  means: readonly ArrayLike<number>[],
  stds: readonly ArrayLike<number>[],
): number {
  checkedMembers('negative log-likelihood', means, stds);
  return mixed(Float64Array.from(means, (mean, i) => vectorNll(x, mean, stds[i])));
}

/** CRPS of a Gaussian, in the units of x (Gneiting and Raftery 2007, section 4.2); of a point (std 0) the absolute error. */
export function crpsGaussian(x: number, mean: number, std: number): number {
  if (!(std >= 0)) throw unfit('CRPS', `the standard deviation is ${std}.`);
  if (std === 0) return Math.abs(x - mean);
  const z = (x - mean) / std;
  return std * (z * (2 * normalCdf(z) - 1) + 2 * normalDensity(z) - 1 / SQRT_PI);
}

/**
 * CRPS of a mixture in closed form (Grimit et al. 2006, Q. J. R. Meteorol. Soc. 132, equation 5), in the units of x; of points
 * (stds 0) that of their empirical distribution. O(members squared).
 *
 * @throws FIDELITY_NUMBERS_INVALID if lengths differ, there is no member, or a std is negative or NaN
 */
export function crpsMixture(x: number, means: ArrayLike<number>, stds: ArrayLike<number>): number {
  checkedMembers('CRPS', means, stds);
  const n = means.length;
  let apart = 0;
  let among = 0;
  for (let i = 0; i < n; i++) {
    if (!(stds[i] >= 0)) throw unfit('CRPS', `the standard deviation of member ${i} is ${stds[i]}.`);
    apart += meanDistance(x - means[i], stds[i]);
    among += meanDistance(0, Math.SQRT2 * stds[i]);
    for (let j = 0; j < i; j++) among += 2 * meanDistance(means[i] - means[j], Math.hypot(stds[i], stds[j]));
  }
  return apart / n - among / (2 * n * n);
}

/** Mean of |X| for X normal with this mean and standard deviation. */
function meanDistance(mean: number, std: number): number {
  if (std === 0) return Math.abs(mean);
  const z = mean / std;
  return std * (2 * normalDensity(z) + z * (2 * normalCdf(z) - 1));
}

function vectorNll(x: ArrayLike<number>, mean: ArrayLike<number>, std: ArrayLike<number>): number {
  sameLength('negative log-likelihood', x, mean);
  sameLength('negative log-likelihood', x, std);
  let sum = 0;
  for (let d = 0; d < x.length; d++) sum += gaussianNll(x[d], mean[d], std[d]);
  return sum;
}

/** Of equally weighted members' negative log-likelihoods. */
function mixed(members: Float64Array): number {
  const least = members.reduce((a, b) => Math.min(a, b));
  let sum = 0;
  for (const member of members) sum += Math.exp(least - member);
  return least - Math.log(sum / members.length);
}

function checkedMembers(statistic: string, means: ArrayLike<unknown>, stds: ArrayLike<unknown>): void {
  sameLength(statistic, means, stds);
  if (means.length === 0) throw unfit(statistic, 'there is no member.');
}
