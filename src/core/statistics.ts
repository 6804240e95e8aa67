// The few statistics that every room needs. Sums go from first to last, so that the same values give the same bytes.

import { normalQuantile } from './rng.js';

/** NaN for no values. */
export function mean(values: ArrayLike<number>): number {
  let sum = 0;
  for (let i = 0; i < values.length; i++) sum += values[i];
  return sum / values.length;
}

/** With n - 1 in the denominator; 0 for fewer than two values. */
export function sampleDeviation(values: ArrayLike<number>): number {
  if (values.length < 2) return 0;
  const middle = mean(values);
  let squares = 0;
  for (let i = 0; i < values.length; i++) squares += (values[i] - middle) ** 2;
  return Math.sqrt(squares / (values.length - 1));
}

/** The middle value, or the mean of the two middle ones; NaN for no values. */
export function median(values: ArrayLike<number>): number {
  const sorted = Float64Array.from(values).sort();
  return (sorted[Math.floor((sorted.length - 1) / 2)] + sorted[Math.ceil((sorted.length - 1) / 2)]) / 2;
}

/** A share of how many, with its 95 % interval; `value` is null, and the interval everything, where nothing was counted. */
export interface Rate {
  readonly value: number | null;
  readonly low: number;
  readonly high: number;
  readonly of: number;
}

/** Wilson's score interval of a share (Wilson 1927, J. Am. Stat. Assoc. 22). */
export function wilson(hits: number, trials: number, confidence = 0.95): Omit<Rate, 'of'> {
  if (trials === 0) return { value: null, low: 0, high: 1 };
  const z = normalQuantile(0.5 + confidence / 2);
  const share = hits / trials;
  const scale = 1 + (z * z) / trials;
  const centre = (share + (z * z) / (2 * trials)) / scale;
  const half = (z / scale) * Math.sqrt((share * (1 - share)) / trials + (z * z) / (4 * trials * trials));
  return { value: share, low: Math.max(0, centre - half), high: Math.min(1, centre + half) };
}

export function rateOf(hits: number, of: number): Rate {
  return { ...wilson(hits, of), of };
}

/**
 * Steps that may be simulated in a row: the largest H with 1 - (1 - e)^H <= tolerance, where e is the upper end of the
 * interval of wrong steps. 0 where nothing was compared: nothing is trusted unmeasured.
 */
export function trustHorizon(wrong: number, steps: number, tolerance: number): number {
  const { high } = wilson(wrong, steps);
  if (high >= 1) return 0;
  if (high <= 0 || tolerance >= 1) return Number.MAX_SAFE_INTEGER;
  // A horizon that is whole but for rounding is that whole number.
  return Math.floor(Math.log1p(-tolerance) / Math.log1p(-high) + 1e-9);
}

/** All of `arrays` in order, copied into one; empty where there are none. */
export function joinedFloats(arrays: readonly Float32Array[]): Float32Array {
  const joined = new Float32Array(arrays.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const array of arrays) {
    joined.set(array, at);
    at += array.length;
  }
  return joined;
}
