// Measured numbers with their intervals, and the statistics that reports are made of; docs/fidelity-metrics.md says what each does
// not see. They take finite numbers: a report that holds NaN or infinity is not written.

import { normalQuantile, type Rng } from '../core/rng.js';
import { mean, sampleDeviation, wilson } from '../core/statistics.js';

export interface Estimate {
  /** null where nothing was counted. */
  readonly value: number | null;
  /** Interval of 95 %; both null where there is none. `high` alone is null where no upper end was observed. */
  readonly low: number | null;
  readonly high: number | null;
  /** Units it was made from: transitions, questions, episodes, policies. */
  readonly n: number;
  readonly method: 'wilson' | 'bootstrap' | 'exact' | 'none';
}

export const NOTHING: Estimate = { value: null, low: null, high: null, n: 0, method: 'none' };

/** `hits` of `of` units as a share with Wilson's score interval (Wilson 1927); NOTHING where `of` is 0. Halves count as halves. */
export function shareEstimate(hits: number, of: number): Estimate {
  if (of === 0) return NOTHING;
  const { value, low, high } = wilson(hits, of);
  return { value, low, high, n: of, method: 'wilson' };
}

/**
 * Of a predicted yes or no: `precision`, of what was predicted the share that is so; `recall`, of what is so the share that was
 * predicted; `falsePositive`, of what is not so the share that was predicted all the same.
 */
export function precisionRecall(predicted: readonly boolean[], actual: readonly boolean[]) {
  const hits = actual.filter((is, i) => is && predicted[i]).length;
  const [said, is] = [predicted, actual].map((values) => values.filter(Boolean).length);
  return {
    precision: shareEstimate(hits, said),
    recall: shareEstimate(hits, is),
    falsePositive: shareEstimate(said - hits, actual.length - is),
  };
}

// Bootstrap intervals over whole units (transitions, episodes, policies): nothing is assumed of their distribution.

const DRAWS = 1000;
/** Above this many units leaving each out once costs more than it corrects: the acceleration shrinks with the root of n. */
const JACKKNIFE_UNITS = 200;

/** Mean of the values that are there, with a bootstrap interval; one value has no interval, none is NOTHING. */
export function meanEstimate(values: readonly (number | null)[] | ArrayLike<number>, rng: Rng): Estimate {
  const there = Float64Array.from(Array.prototype.filter.call(values, (value) => value !== null) as number[]);
  const n = there.length;
  if (n === 0) return NOTHING;
  const value = mean(there);
  if (n === 1) return { value, low: null, high: null, n, method: 'none' };
  // A mean without one unit moves against that unit, so its acceleration is a sixth of the values' own skewness.
  return { value, ...interval(resampledMeans(there, rng), value, skewRatio(there, value), n), n, method: 'bootstrap' };
}

/**
 * Any statistic of whole units, with a bias-corrected and accelerated interval (Efron 1987; DiCiccio and Efron 1996), whose
 * level is widened for few units (Hesterberg 2015, section 5.3). Draws for which the statistic is null are left out; where
 * more than half are, there is no interval. Above 200 units the acceleration is taken as 0.
 *
 * @param statistic pure, of an array that is filled anew for each draw
 * @param draws resamples
 */
export function bootstrapEstimate<T>(
  units: readonly T[],
  statistic: (units: readonly T[]) => number | null,
  rng: Rng,
  draws = DRAWS,
): Estimate {
  const n = units.length;
  if (n === 0) return NOTHING;
  const value = statistic(units);
  if (value === null) return { ...NOTHING, n };
  const found: number[] = [];
  const drawn = units.slice();
  for (let draw = 0; n > 1 && draw < draws; draw++) {
    for (let i = 0; i < n; i++) drawn[i] = units[rng.int(n)];
    const one = statistic(drawn);
    if (one !== null) found.push(one);
  }
  if (found.length <= draws / 2) return { value, low: null, high: null, n, method: 'none' };
  const leftOut = n > JACKKNIFE_UNITS ? [] : units.flatMap((_, i) => statistic(units.toSpliced(i, 1)) ?? []);
  const acceleration = leftOut.length === 0 ? 0 : -skewRatio(leftOut, mean(leftOut));
  return { value, ...interval(Float64Array.from(found), value, acceleration, n), n, method: 'bootstrap' };
}

function resampledMeans(values: Float64Array, rng: Rng): Float64Array {
  const n = values.length;
  const words = new Uint32Array(n);
  const means = new Float64Array(DRAWS);
  const scale = n * 2 ** -32;
  for (let draw = 0; draw < DRAWS; draw++) {
    rng.fillUint32(words);
    let sum = 0;
    for (let i = 0; i < n; i++) sum += values[Math.floor(words[i] * scale)];
    means[draw] = sum / n;
  }
  return means;
}

/** A sixth of the skewness over the root of n; 0 where values do not vary. */
function skewRatio(values: ArrayLike<number>, centre: number): number {
  let squares = 0;
  let cubes = 0;
  for (let i = 0; i < values.length; i++) {
    const deviation = values[i] - centre;
    squares += deviation * deviation;
    cubes += deviation * deviation * deviation;
  }
  return squares === 0 ? 0 : cubes / (6 * squares ** 1.5);
}

function interval(draws: Float64Array, value: number, acceleration: number, n: number): { low: number; high: number } {
  draws.sort();
  const bias = normalQuantile(shareBelow(draws, value));
  const half = -Math.sqrt(n / (n - 1)) * studentQuantile((1 - 0.95) / 2, n - 1);
  const end = (z: number) => quantile(draws, normalCdf(bias + (bias + z) / (1 - acceleration * (bias + z))));
  return { low: end(-half), high: end(half) };
}

/** Share of sorted draws below the value, those that equal it counted half; never 0 or 1. */
function shareBelow(draws: Float64Array, value: number): number {
  let below = 0;
  for (const draw of draws) below += draw < value ? 1 : draw === value ? 0.5 : 0;
  const least = 0.5 / draws.length;
  return Math.min(Math.max(below / draws.length, least), 1 - least);
}

/** Linear between sorted values (Hyndman and Fan 1996, type 7). */
export function quantile(sorted: ArrayLike<number>, share: number): number {
  const at = share * (sorted.length - 1);
  const below = Math.floor(at);
  const above = Math.min(below + 1, sorted.length - 1);
  return sorted[below] + (at - below) * (sorted[above] - sorted[below]);
}

/** Of Student's t, p below a half: exact below 3 degrees of freedom, to about six digits above (Hill 1970, algorithm 396). */
export function studentQuantile(p: number, degrees: number): number {
  if (degrees === 1) return Math.tan(Math.PI * (p - 0.5));
  if (degrees === 2) return (2 * p - 1) / Math.sqrt(2 * p * (1 - p));
  const n = degrees;
  const a = 1 / (n - 0.5);
  const b = 48 / (a * a);
  const c = (((20700 * a) / b - 98) * a - 16) * a + 96.36;
  const d = ((94.5 / (b + c) - 3) / b + 1) * Math.sqrt((a * Math.PI) / 2) * n;
  const y = (d * 2 * p) ** (2 / n);
  if (y > 0.05 + a) {
    const x = normalQuantile(p);
    const square = x * x;
    const near = n < 5 ? c + 0.3 * (n - 4.5) * (x + 0.6) : c;
    const divisor = (((0.05 * d * x - 5) * x - 7) * x - 2) * x + b + near;
    const z = (((((0.4 * square + 6.3) * square + 36) * square + 94.5) / divisor - square - 3) / b + 1) * x;
    return -Math.sqrt(n * Math.expm1(a * z * z));
  }
  const far = 1 / (((n + 6) / (n * y) - 0.089 * d - 0.822) * (n + 2) * 3) + 0.5 / (n + 4);
  return -Math.sqrt(n * ((far * y - 1) * ((n + 1) / (n + 2)) + 1 / y));
}

// Hart's rational approximation below the split, highest power first.
const NUMERATOR = [
  0.0352624965998911, 0.700383064443688, 6.37396220353165, 33.912866078383, 112.079291497871, 221.213596169931,
  220.206867912376,
];
const DENOMINATOR = [
  0.0883883476483184, 1.75566716318264, 16.064177579207, 86.7807322029461, 296.564248779674, 637.333633378831,
  793.826512519948, 440.413735824752,
];
const SPLIT = 7.07106781186547;
const SQRT_TWO_PI = Math.sqrt(2 * Math.PI);

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

// Predictions that are equally weighted mixtures of Gaussians, one a member of an ensemble; a std of 0 is a point.

/** Probability integral transform (Dawid 1984): predicted chance of less than x; of a point 0, 1/2 or 1. */
export function pitMixture(x: number, means: ArrayLike<number>, stds: ArrayLike<number>): number {
  let sum = 0;
  for (let i = 0; i < means.length; i++) {
    if (stds[i] === 0) sum += x < means[i] ? 0 : x > means[i] ? 1 : 0.5;
    else sum += normalCdf((x - means[i]) / stds[i]);
  }
  return sum / means.length;
}

// Whether a confidence is worth its number.

const BINS = 10;

/**
 * Expected calibration error: mean over answers of |accuracy - confidence| of their bin (Guo 2017, 1706.04599), in ten bins of equal
 * width; a confidence on an edge falls into the upper bin, 1 into the last. null without answers.
 */
export function calibrationError(confidence: ArrayLike<number>, correct: readonly boolean[]): number | null {
  const bins = Array.from({ length: BINS }, () => ({ sum: 0, hits: 0 }));
  for (let i = 0; i < correct.length; i++) {
    const bin = bins[Math.min(BINS - 1, Math.floor(confidence[i] * BINS))];
    bin.sum += confidence[i];
    bin.hits += correct[i] ? 1 : 0;
  }
  const n = correct.length;
  return n === 0 ? null : bins.reduce((total, { sum, hits }) => total + Math.abs(hits - sum) / n, 0);
}

/** Area under the ROC curve: the chance that a positive scores above a negative, ties counted half; null where all labels are the same. */
export function auroc(score: ArrayLike<number>, label: readonly boolean[]): number | null {
  const rank = ranks(score);
  const positives = label.filter(Boolean).length;
  const negatives = label.length - positives;
  if (positives === 0 || negatives === 0) return null;
  const sum = label.reduce((total, isPositive, i) => total + (isPositive ? rank[i] : 0), 0);
  return (sum - (positives * (positives + 1)) / 2) / (positives * negatives);
}

// Noise of values that were measured several times for each unit (task).

/** Root of the mean variance within units that have at least two values; null without such units. */
function deviation(units: readonly (readonly number[])[]): number | null {
  return units.length === 0 ? null : Math.sqrt(mean(units.map((values) => sampleDeviation(values) ** 2)));
}

/** Standard deviation within a unit, with an interval over units; nulls are ignored. */
export function noiseEstimate(units: readonly (readonly (number | null)[])[], rng: Rng): Estimate {
  const known = units.map((values) => values.filter((value) => value !== null)).filter(({ length }) => length > 1);
  return bootstrapEstimate(known, deviation, rng);
}

/** Difference of two means of `n` values each that chance explains (95 %, two-sided), given their standard deviations. */
export function leastGain(deviations: readonly [number, number], n: number): number {
  return 1.96 * Math.hypot(...deviations) * Math.sqrt(1 / n);
}

// How two lists of numbers go together, and what a wrong order of policies costs. null where one of the lists does not vary, or
// there are fewer than two.

/** Pearson's product-moment correlation, in [-1, 1]. */
export function pearson(x: ArrayLike<number>, y: ArrayLike<number>): number | null {
  const [meanX, meanY] = [mean(x), mean(y)];
  let xx = 0;
  let yy = 0;
  let xy = 0;
  for (let i = 0; i < x.length; i++) {
    const [dx, dy] = [x[i] - meanX, y[i] - meanY];
    xx += dx * dx;
    yy += dy * dy;
    xy += dx * dy;
  }
  // A mean of equal numbers may be off by a rounding, which would pass for variation.
  const isConstant = (values: ArrayLike<number>) => Array.prototype.every.call(values, (value) => value === values[0]);
  if (x.length < 2 || isConstant(x) || isConstant(y) || xx === 0 || yy === 0) return null;
  return Math.min(1, Math.max(-1, (xy / xx) * Math.sqrt(xx / yy)));
}

/** Spearman's rank correlation: Pearson's of ranks, ties by their mean rank. */
export function spearman(x: ArrayLike<number>, y: ArrayLike<number>): number | null {
  return pearson(ranks(x), ranks(y));
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

/** Mean returns of policies, the same order in both. */
export interface PolicyMeans {
  readonly real: readonly number[];
  readonly simulated: readonly number[];
}

/**
 * Mean maximum rank violation (SIMPLER, 2405.05941, section 3): for each policy the largest real gap to another one that the
 * simulation puts on the wrong side of it, averaged; in units of real return. 0 is best. As in the released code of SIMPLER, a
 * pair that is only tied in the simulation counts, for its better policy alone.
 */
export function mmrv({ real, simulated }: PolicyMeans): number | null {
  const n = real.length;
  if (n < 2) return null;
  let sum = 0;
  for (let i = 0; i < n; i++) {
    let largest = 0;
    for (let j = 0; j < n; j++) {
      const isWrong = simulated[i] > simulated[j] !== real[i] > real[j];
      if (isWrong) largest = Math.max(largest, Math.abs(real[i] - real[j]));
    }
    sum += largest;
  }
  return sum / n;
}

/** MMRV as a share of the range of real returns, in [0, 1]; null where real returns do not vary. */
export function mmrvShare(returns: PolicyMeans): number | null {
  const value = mmrv(returns);
  const range = Math.max(...returns.real) - Math.min(...returns.real);
  return value === null || range === 0 ? null : value / range;
}

/**
 * Real return of the best policy minus that of the simulation's best (Fu et al. 2021, Benchmarks for Deep Off-Policy Evaluation,
 * section 4). Among policies tied in the simulation the worst is taken, so that a simulation that tells nothing apart earns
 * nothing by their order. null without policies.
 */
export function regret({ real, simulated }: PolicyMeans): number | null {
  if (real.length === 0) return null;
  const most = Math.max(...simulated);
  return Math.max(...real) - Math.min(...real.filter((_, i) => simulated[i] === most));
}
