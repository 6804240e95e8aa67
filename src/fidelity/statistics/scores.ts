// Proper scores of Gaussian predictions and of equally weighted mixtures of them (what an ensemble predicts), and whether a
// confidence is worth its number.

import { ranks } from './agreement.js';
import { allFinite, allShares, type Estimate, sameLength, shareEstimate, unfit } from './estimate.js';

const SQRT_TWO_PI = Math.sqrt(2 * Math.PI);
const LOG_SQRT_TWO_PI = 0.5 * Math.log(2 * Math.PI);

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
 * Negative log-likelihood of a vector under a mixture of diagonal Gaussians, `means` and `stds` one vector a member: sum over
 * elements, in nats. Summed as logarithms, so that stds far smaller than the error do not underflow.
 *
 * @throws DATA_MISMATCH if lengths differ, or as `gaussianNll`
 */
export function jointMixtureNll(
  x: ArrayLike<number>,
  means: readonly ArrayLike<number>[],
  stds: readonly ArrayLike<number>[],
): number {
  checkedMembers('negative log-likelihood', means, stds);
  const members = means.map((mean, m) => {
    sameLength('negative log-likelihood', x, mean);
    sameLength('negative log-likelihood', x, stds[m]);
    let sum = 0;
    for (let d = 0; d < x.length; d++) sum += gaussianNll(x[d], mean[d], stds[m][d]);
    return sum;
  });
  const least = Math.min(...members);
  let sum = 0;
  for (const member of members) sum += Math.exp(least - member);
  return least - Math.log(sum / members.length);
}

/**
 * CRPS of a mixture in closed form (Grimit et al. 2006, Q. J. R. Meteorol. Soc. 132, equation 5), in the units of x; of points
 * (stds 0) that of their empirical distribution, of a single point the absolute error. O(members squared).
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
  return std * ((2 * Math.exp(-0.5 * z * z)) / SQRT_TWO_PI + z * (2 * normalCdf(z) - 1));
}

function checkedMembers(statistic: string, means: ArrayLike<unknown>, stds: ArrayLike<unknown>): void {
  sameLength(statistic, means, stds);
  if (means.length === 0) throw unfit(statistic, 'there is no member.');
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
  const polynomial = (coefficients: readonly number[]) => coefficients.reduce((sum, c) => sum * x + c, 0);
  if (x < SPLIT) return (e * polynomial(NUMERATOR)) / polynomial(DENOMINATOR);
  return e / (x + 1 / (x + 2 / (x + 3 / (x + 4 / (x + 0.65))))) / SQRT_TWO_PI;
}

/**
 * Probability integral transform (Dawid 1984) under a mixture, `means` and `stds` one a member: predicted chance of less than x.
 * Of a point (std 0): 0, 1/2 or 1.
 */
export function pitMixture(x: number, means: ArrayLike<number>, stds: ArrayLike<number>): number {
  checkedMembers('interval coverage', means, stds);
  let sum = 0;
  for (let i = 0; i < means.length; i++) {
    if (!(stds[i] >= 0)) throw unfit('interval coverage', `the standard deviation is ${stds[i]}.`);
    if (stds[i] === 0) sum += x < means[i] ? 0 : x > means[i] ? 1 : 0.5;
    else sum += normalCdf((x - means[i]) / stds[i]);
  }
  return sum / means.length;
}

interface Reliability {
  /** From the lowest confidence up; those without answers are left out. */
  readonly bins: readonly {
    /** Mean of the bin's answers. */
    readonly confidence: number;
    readonly accuracy: Estimate;
    readonly count: number;
  }[];
  /** Expected calibration error: mean over answers of |accuracy - confidence| of their bin (Naeini 2015; Guo 2017, 1706.04599). */
  readonly ece: number | null;
}

/**
 * Reliability over `bins` bins of equal width; a confidence on an edge falls into the upper bin, 1 into the last. ECE is null
 * without answers.
 *
 * @throws DATA_MISMATCH if lengths differ, or a confidence is outside [0, 1]
 */
export function reliability(confidence: ArrayLike<number>, correct: readonly boolean[], bins = 10): Reliability {
  sameLength('reliability', confidence, correct);
  allShares('reliability', confidence);
  const counts = Array.from({ length: bins }, () => ({ sum: 0, hits: 0, count: 0 }));
  for (let i = 0; i < correct.length; i++) {
    const bin = counts[Math.min(bins - 1, Math.floor(confidence[i] * bins))];
    bin.sum += confidence[i];
    bin.hits += correct[i] ? 1 : 0;
    bin.count++;
  }
  const n = correct.length;
  const filled = counts.filter(({ count }) => count > 0);
  const gaps = filled.map(({ sum, hits, count }) => Math.abs(hits - sum) / count);
  return {
    bins: filled.map(({ sum, hits, count }) => ({
      confidence: sum / count,
      accuracy: shareEstimate(hits, count),
      count,
    })),
    ece: n === 0 ? null : gaps.reduce((total, gap, i) => total + (gap * filled[i].count) / n, 0),
  };
}

/**
 * Area under the ROC curve: the chance that a positive scores above a negative, ties counted half (Mann-Whitney's U). null
 * where all labels are the same.
 *
 * @throws DATA_MISMATCH if lengths differ, or for NaN or infinity
 */
export function auroc(score: ArrayLike<number>, label: readonly boolean[]): number | null {
  sameLength('auroc', score, label);
  allFinite('auroc', score);
  const rank = ranks(score);
  let positives = 0;
  let sum = 0;
  for (let i = 0; i < label.length; i++) {
    if (!label[i]) continue;
    positives++;
    sum += rank[i];
  }
  const negatives = label.length - positives;
  if (positives === 0 || negatives === 0) return null;
  return (sum - (positives * (positives + 1)) / 2) / (positives * negatives);
}

interface SelectiveRisk {
  /** From the most confident answers to all, at most 100 or so: share of answers taken, and of wrong ones among them. */
  readonly points: readonly { readonly coverage: number; readonly risk: number }[];
  /** Mean risk over coverages 1/n, 2/n, ..., 1 (area under the risk-coverage curve; Geifman 2019, 1805.08206); null without answers. */
  readonly aurc: number | null;
}

/**
 * Risk of taking only answers of enough confidence (El-Yaniv and Wiener 2010). Answers of equal confidence are taken together;
 * between, the area counts the risk that is expected of them in random order.
 *
 * @throws DATA_MISMATCH if lengths differ, or for NaN or infinity
 */
export function selectiveRisk(confidence: ArrayLike<number>, correct: readonly boolean[]): SelectiveRisk {
  sameLength('selective risk', confidence, correct);
  allFinite('selective risk', confidence);
  const n = correct.length;
  const order = Uint32Array.from({ length: n }, (_, i) => i).sort((i, j) => confidence[j] - confidence[i]);
  const points: SelectiveRisk['points'][number][] = [];
  let area = 0;
  let wrong = 0;
  for (let start = 0; start < n; ) {
    let end = start + 1;
    while (end < n && confidence[order[end]] === confidence[order[start]]) end++;
    let more = 0;
    for (let i = start; i < end; i++) more += correct[order[i]] ? 0 : 1;
    for (let i = start; i < end; i++) area += (wrong + (more * (i - start + 1)) / (end - start)) / (i + 1);
    wrong += more;
    points.push({ coverage: end / n, risk: wrong / end });
    start = end;
  }
  // The last point of each hundredth of coverage.
  const slot = ({ coverage }: SelectiveRisk['points'][number]) => Math.ceil(coverage * 100);
  const thinned = points.filter((point, i) => i === points.length - 1 || slot(points[i + 1]) !== slot(point));
  return { points: thinned, aurc: n === 0 ? null : area / n };
}
