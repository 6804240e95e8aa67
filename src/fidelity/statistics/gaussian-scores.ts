// Proper scores of Gaussian predictions and equally weighted mixtures of them (what an ensemble predicts). Lower is better.

import { allShares, type Estimate, sameLength, shareEstimate, unfit } from './estimate.js';

const SQRT_PI = Math.sqrt(Math.PI);

/**
 * Negative log-likelihood of x, in nats.
 *
 * @throws DATA_MISMATCH unless std > 0 and all are finite: a prediction without spread has no likelihood
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
 * @throws DATA_MISMATCH if lengths differ, or as `gaussianNll`
 */
export function mixtureNll(x: number, means: ArrayLike<number>, stds: ArrayLike<number>): number {
  checkedMembers('negative log-likelihood', means, stds);
  return mixed(Float64Array.from({ length: means.length }, (_, i) => gaussianNll(x, means[i], stds[i])));
}

/**
 * The same for vectors: a mixture of diagonal Gaussians, `means` and `stds` one vector a member. Sum over elements, in nats.
 *
 * @throws DATA_MISMATCH if lengths differ, or as `gaussianNll`
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
 * @throws DATA_MISMATCH if lengths differ, there is no member, or a std is negative or NaN
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

// The normal distribution to double precision; what proper scores and probability integral transforms are made of.

const SQRT_TWO_PI = Math.sqrt(2 * Math.PI);

const LOG_SQRT_TWO_PI = 0.5 * Math.log(2 * Math.PI);

function normalDensity(z: number): number {
  return Math.exp(-0.5 * z * z) / SQRT_TWO_PI;
}

/** Of Hart's rational approximation below the split, highest power first. */
const NUMERATOR = [
  0.0352624965998911, 0.700383064443688, 6.37396220353165, 33.912866078383, 112.079291497871, 221.213596169931,
  220.206867912376,
];
const DENOMINATOR = [
  0.0883883476483184, 1.75566716318264, 16.064177579207, 86.7807322029461, 296.564248779674, 637.333633378831,
  793.826512519948, 440.413735824752,
];
const SPLIT = 7.07106781186547;

/** Standard normal distribution function, to about 1e-15 (Hart 1968, algorithm 5666, as in West 2005, Wilmott Magazine). */
export function normalCdf(z: number): number {
  const x = Math.abs(z);
  const tail = x > 37 ? 0 : upperTail(x);
  return z > 0 ? 1 - tail : tail;
}

function upperTail(x: number): number {
  const e = Math.exp(-0.5 * x * x);
  if (x < SPLIT) return (e * polynomial(NUMERATOR, x)) / polynomial(DENOMINATOR, x);
  return e / (x + 1 / (x + 2 / (x + 3 / (x + 4 / (x + 0.65))))) / SQRT_TWO_PI;
}

function polynomial(coefficients: readonly number[], x: number): number {
  let sum = 0;
  for (const coefficient of coefficients) sum = sum * x + coefficient;
  return sum;
}

// Whether predicted intervals hold the truth as often as they say: through the place of the truth in its predicted distribution.

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
 * @throws DATA_MISMATCH if a pit or the level is outside [0, 1]
 */
export function coverage(pits: ArrayLike<number>, level: number): Estimate {
  allShares('interval coverage', pits);
  allShares('interval coverage', [level]);
  let inside = 0;
  for (let i = 0; i < pits.length; i++) inside += Math.abs(pits[i] - 0.5) <= level / 2 ? 1 : 0;
  return shareEstimate(inside, pits.length);
}
