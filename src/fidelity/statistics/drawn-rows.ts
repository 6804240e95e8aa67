// Rows for tests of two samples: few enough that all pairs can be looked at, every element on the same footing.

import type { Rng } from '../../core/rng.js';
import { allFinite, unfit } from './numbers.js';

/**
 * At most `limit` rows of each sample, drawn without replacement, the first sample's first; each element divided by its
 * standard deviation over both (one that does not vary is 0).
 *
 * @param x,y row-major, `dim` numbers a row
 * @throws FIDELITY_NUMBERS_INVALID if a length is no multiple of dim, or for NaN or infinity
 */
export function drawnRows(
  statistic: string,
  { x, y, dim, limit }: { x: ArrayLike<number>; y: ArrayLike<number>; dim: number; limit: number },
  rng: Rng,
): { rows: Float64Array; first: number; second: number } {
  for (const sample of [x, y]) {
    if (!(dim >= 1 && sample.length % dim === 0)) {
      throw unfit(statistic, `${sample.length} numbers are no rows of ${dim}.`);
    }
    allFinite(statistic, sample);
  }
  const first = Math.min(limit, x.length / dim);
  const second = Math.min(limit, y.length / dim);
  const rows = new Float64Array((first + second) * dim);
  copyDrawn(x, dim, rows.subarray(0, first * dim), rng.split('first'));
  copyDrawn(y, dim, rows.subarray(first * dim), rng.split('second'));
  for (let d = 0; d < dim; d++) scaleColumn(rows, dim, d);
  return { rows, first, second };
}

/** Squared Euclidean distance of rows i and j. */
export function squaredDistance(rows: Float64Array, dim: number, i: number, j: number): number {
  let sum = 0;
  for (let a = i * dim, b = j * dim, end = a + dim; a < end; a++, b++) sum += (rows[a] - rows[b]) ** 2;
  return sum;
}

function copyDrawn(sample: ArrayLike<number>, dim: number, out: Float64Array, rng: Rng): void {
  const drawn = rng.permutation(sample.length / dim);
  for (let row = 0; row < out.length / dim; row++) {
    for (let d = 0; d < dim; d++) out[row * dim + d] = sample[drawn[row] * dim + d];
  }
}

function scaleColumn(rows: Float64Array, dim: number, d: number): void {
  const n = rows.length / dim;
  let sum = 0;
  for (let i = d; i < rows.length; i += dim) sum += rows[i];
  const mean = sum / n;
  let squares = 0;
  for (let i = d; i < rows.length; i += dim) squares += (rows[i] - mean) ** 2;
  const std = Math.sqrt(squares / n);
  const varies = std > 1e-12 * Math.abs(mean);
  for (let i = d; i < rows.length; i += dim) rows[i] = varies ? (rows[i] - mean) / std : 0;
}
