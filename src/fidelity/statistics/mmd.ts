// Whether two samples of vectors come from the same distribution: maximum mean discrepancy.

import type { Rng } from '../../core/rng.js';
import { quantile } from './bootstrap.js';
import { drawnRows, squaredDistance } from './drawn-rows.js';

/** Rows of each sample that are looked at; pairs grow with the square. */
const ROWS = 500;
const PERMUTATIONS = 200;

export interface Mmd {
  /** Unbiased estimate of the squared discrepancy: about 0, or slightly below, for samples alike; null for fewer than 2 rows. */
  readonly value: number | null;
  /** Share of permutations with at least this value; small where the samples differ. null with `value`. */
  readonly pValue: number | null;
  /** Rows of each sample that were looked at. */
  readonly rows: readonly [number, number];
}

/**
 * Squared maximum mean discrepancy with a Gaussian kernel whose width is the median distance of the pooled rows, and a
 * permutation test of 200 (Gretton et al. 2012, JMLR 13, lemma 6 and section 8). Elements are divided by their standard
 * deviation first; at most 500 rows of each sample are drawn.
 *
 * @param x,y row-major, `dim` numbers a row
 * @throws FIDELITY_NUMBERS_INVALID if a length is no multiple of dim, or for NaN or infinity
 */
export function mmd2(x: ArrayLike<number>, y: ArrayLike<number>, dim: number, rng: Rng): Mmd {
  const { rows, first, second } = drawnRows('mmd', { x, y, dim, limit: ROWS }, rng.split('rows'));
  if (first < 2 || second < 2) return { value: null, pValue: null, rows: [first, second] };
  const kernel = kernelMatrix(rows, dim, first + second);
  const value = discrepancy(kernel, identity(first + second), first);
  const permuting = rng.split('permutations');
  let atLeast = 1;
  for (let i = 0; i < PERMUTATIONS; i++) {
    if (discrepancy(kernel, permuting.permutation(first + second), first) >= value) atLeast++;
  }
  return { value, pValue: atLeast / (PERMUTATIONS + 1), rows: [first, second] };
}

interface Kernel {
  /** n x n, diagonal included. */
  readonly values: Float64Array;
  readonly n: number;
  /** Over pairs of different rows, each once. */
  readonly total: number;
}

function kernelMatrix(rows: Float64Array, dim: number, n: number): Kernel {
  const values = new Float64Array(n * n);
  const distances = new Float64Array((n * (n - 1)) / 2);
  for (let i = 0, pair = 0; i < n; i++) {
    for (let j = 0; j < i; j++) distances[pair++] = squaredDistance(rows, dim, i, j);
  }
  const width = medianOf(distances);
  let total = 0;
  for (let i = 0, pair = 0; i < n; i++) {
    values[i * n + i] = 1;
    for (let j = 0; j < i; j++) {
      const value = Math.exp(-distances[pair++] / (2 * width));
      values[i * n + j] = value;
      values[j * n + i] = value;
      total += value;
    }
  }
  return { values, n, total };
}

/** Of the distances that are not 0, as more than half may be among rows with repeats; 1 where all rows are the same. */
function medianOf(distances: Float64Array): number {
  const sorted = distances.filter((distance) => distance > 0).sort();
  return sorted.length === 0 ? 1 : quantile(sorted, 0.5);
}

/** With the first `first` rows of `order` as the one sample, the others as the other. */
function discrepancy({ values, n, total }: Kernel, order: Uint32Array, first: number): number {
  const second = n - first;
  const within = pairSum(values, n, order.subarray(0, first));
  const withinOther = pairSum(values, n, order.subarray(first));
  const between = total - within - withinOther;
  return (
    (2 * within) / (first * (first - 1)) +
    (2 * withinOther) / (second * (second - 1)) -
    (2 * between) / (first * second)
  );
}

function pairSum(values: Float64Array, n: number, members: Uint32Array): number {
  let sum = 0;
  for (let i = 0; i < members.length; i++) {
    const row = members[i] * n;
    for (let j = 0; j < i; j++) sum += values[row + members[j]];
  }
  return sum;
}

function identity(n: number): Uint32Array {
  return Uint32Array.from({ length: n }, (_, i) => i);
}
