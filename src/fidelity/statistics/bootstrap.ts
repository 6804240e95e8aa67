// Bootstrap intervals over whole units (transitions, episodes, policies): nothing is assumed of their distribution.

import { normalQuantile, type Rng } from '../../core/rng.js';
import { mean } from '../../core/statistics.js';
import { allFinite, type Estimate, NOTHING, sameLength, unfit } from './estimate.js';

import { normalCdf } from './scores.js';

export interface BootstrapOptions {
  /** Resamples, 1,000 unless said. */
  readonly draws?: number;
  /** Of the interval, 0.95 unless said. */
  readonly confidence?: number;
}

const DRAWS = 1000;
/** Above this many units leaving each out once costs more than it corrects: the acceleration shrinks with the root of n. */
const JACKKNIFE_UNITS = 200;
const INT_SCALE = 2 ** -32;

/**
 * Mean of the values that are there, with a bootstrap interval; one value has no interval, none is NOTHING.
 *
 * @throws DATA_MISMATCH for NaN or infinity
 */
export function meanEstimate(
  values: readonly (number | null)[] | ArrayLike<number>,
  rng: Rng,
  options: BootstrapOptions = {},
): Estimate {
  const there = Float64Array.from(Array.prototype.filter.call(values, (value) => value !== null) as number[]);
  allFinite('mean', there);
  const n = there.length;
  if (n === 0) return NOTHING;
  const value = mean(there);
  if (n === 1) return { value, low: null, high: null, n, method: 'none' };
  const means = resampledMeans(there, rng, options.draws ?? DRAWS);
  return { value, ...interval(means, value, accelerationOfMean(there, value), n, options), n, method: 'bootstrap' };
}

/**
 * Mean of second minus first over the units for which both have a value, with a bootstrap interval.
 *
 * @throws DATA_MISMATCH if lengths differ, or for NaN or infinity
 */
export function pairedDifference(
  first: readonly (number | null)[],
  second: readonly (number | null)[],
  rng: Rng,
  options: BootstrapOptions = {},
): Estimate {
  sameLength('paired difference', first, second);
  const differences = first.map((value, i) => (value === null || second[i] === null ? null : second[i] - value));
  return meanEstimate(differences, rng, options);
}

/**
 * Any statistic of whole units, with a bias-corrected and accelerated interval (Efron 1987; DiCiccio and Efron 1996), whose
 * level is widened for few units (Hesterberg 2015, section 5.3). Draws for which the statistic is null are left out; where
 * more than half are, there is no interval. Above 200 units the acceleration is taken as 0.
 *
 * @param statistic pure, of an array that is only lent to it: it is filled anew for each draw
 * @throws DATA_MISMATCH if the statistic is NaN or infinite
 */
export function bootstrapEstimate<T>(
  units: readonly T[],
  statistic: (units: readonly T[]) => number | null,
  rng: Rng,
  options: BootstrapOptions = {},
): Estimate {
  const n = units.length;
  if (n === 0) return NOTHING;
  const value = statistic(units);
  if (value === null) return { ...NOTHING, n };
  allFinite('bootstrap', [value]);
  const draws = options.draws ?? DRAWS;
  const found = n === 1 ? [] : resampled(units, statistic, rng, draws);
  if (found.length <= draws / 2) return { value, low: null, high: null, n, method: 'none' };
  const acceleration = n > JACKKNIFE_UNITS ? 0 : accelerationOf(leftOut(units, statistic));
  const ends = interval(Float64Array.from(found), value, acceleration, n, options);
  return { value, ...ends, n, method: 'bootstrap' };
}

function resampledMeans(values: Float64Array, rng: Rng, draws: number): Float64Array {
  const n = values.length;
  const words = new Uint32Array(n);
  const means = new Float64Array(draws);
  const scale = n * INT_SCALE;
  for (let draw = 0; draw < draws; draw++) {
    rng.fillUint32(words);
    let sum = 0;
    for (let i = 0; i < n; i++) sum += values[Math.floor(words[i] * scale)];
    means[draw] = sum / n;
  }
  return means;
}

function resampled<T>(
  units: readonly T[],
  statistic: (units: readonly T[]) => number | null,
  rng: Rng,
  draws: number,
): number[] {
  const drawn = units.slice();
  const found: number[] = [];
  for (let draw = 0; draw < draws; draw++) {
    for (let i = 0; i < drawn.length; i++) drawn[i] = units[rng.int(units.length)];
    const value = statistic(drawn);
    if (value !== null) found.push(value);
  }
  allFinite('bootstrap', found);
  return found;
}

/** The statistic with each unit left out once. */
function leftOut<T>(units: readonly T[], statistic: (units: readonly T[]) => number | null): number[] {
  return units.flatMap((_, i) => statistic(units.toSpliced(i, 1)) ?? []);
}

/** From the statistic's jackknife values; 0 where they do not vary. */
function accelerationOf(jackknife: readonly number[]): number {
  return skewRatio(jackknife, mean(jackknife), -1);
}

/** A mean without one unit moves against that unit, so its acceleration is a sixth of the values' own skewness. */
function accelerationOfMean(values: Float64Array, mean: number): number {
  return skewRatio(values, mean, 1);
}

function skewRatio(values: ArrayLike<number>, mean: number, sign: number): number {
  let squares = 0;
  let cubes = 0;
  for (let i = 0; i < values.length; i++) {
    const deviation = values[i] - mean;
    squares += deviation * deviation;
    cubes += deviation * deviation * deviation;
  }
  return squares === 0 ? 0 : (sign * cubes) / (6 * squares ** 1.5);
}

function interval(
  draws: Float64Array,
  value: number,
  acceleration: number,
  n: number,
  { confidence = 0.95 }: BootstrapOptions,
): { low: number; high: number } {
  if (!(confidence > 0 && confidence < 1)) throw unfit('bootstrap', `the confidence is ${confidence}.`);
  draws.sort();
  const bias = normalQuantile(shareBelow(draws, value));
  const half = -Math.sqrt(n / (n - 1)) * studentQuantile((1 - confidence) / 2, n - 1);
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

// Quantiles of Student's t, for intervals from few units.

/** Exact below 3 degrees of freedom, to about six digits from there on (Hill 1970, algorithm 396). */
export function studentQuantile(p: number, degrees: number): number {
  if (p > 0.5) return -studentQuantile(1 - p, degrees);
  if (degrees === 1) return Math.tan(Math.PI * (p - 0.5));
  if (degrees === 2) return (2 * p - 1) / Math.sqrt(2 * p * (1 - p));
  return -hill(2 * p, degrees);
}

/** The positive quantile beyond which, on both sides together, lies `p`. */
function hill(p: number, n: number): number {
  const a = 1 / (n - 0.5);
  const b = 48 / (a * a);
  const c = (((20700 * a) / b - 98) * a - 16) * a + 96.36;
  const d = ((94.5 / (b + c) - 3) / b + 1) * Math.sqrt((a * Math.PI) / 2) * n;
  const y = (d * p) ** (2 / n);
  return Math.sqrt(n * (y > 0.05 + a ? nearNormal(p, n, { a, b, c, d }) : farOut(y, n, d)));
}

function nearNormal(p: number, n: number, k: { a: number; b: number; c: number; d: number }): number {
  const x = normalQuantile(p / 2);
  const square = x * x;
  const c = n < 5 ? k.c + 0.3 * (n - 4.5) * (x + 0.6) : k.c;
  const divisor = (((0.05 * k.d * x - 5) * x - 7) * x - 2) * x + k.b + c;
  const z = (((((0.4 * square + 6.3) * square + 36) * square + 94.5) / divisor - square - 3) / k.b + 1) * x;
  return Math.expm1(k.a * z * z);
}

function farOut(y: number, n: number, d: number): number {
  return (
    ((1 / (((n + 6) / (n * y) - 0.089 * d - 0.822) * (n + 2) * 3) + 0.5 / (n + 4)) * y - 1) * ((n + 1) / (n + 2)) +
    1 / y
  );
}
