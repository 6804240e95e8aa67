// Whether a classifier can tell real vectors from dreamt ones.

import type { Rng } from '../../core/rng.js';
import { quantile } from './bootstrap.js';
import { allFinite, type Estimate, NOTHING, sameLength, shareEstimate, unfit } from './estimate.js';

/** Rows of each sample that are looked at, half to learn from and half to tell apart. */
const C2ST_ROWS = 1000;
const LEAST_ROWS = 4;

/**
 * Classifier two-sample test (Lopez-Paz and Oquab 2017, 1610.06545): accuracy on held-out rows of a nearest-neighbour
 * classifier (the square root of its training rows as neighbours, Euclidean distance, elements divided by their standard
 * deviation). 0.5: it cannot tell; 1: it always can. Equally many rows of each sample, at most 1,000, are drawn; NOTHING for
 * fewer than 4. A vote that is tied counts half.
 *
 * Looks at whole rows: where rows are (state, next state) a wrong pairing shows, where they are next states alone it does not.
 *
 * @param x,y row-major, `dim` numbers a row
 * @throws DATA_MISMATCH if a length is no multiple of dim, or for NaN or infinity
 */
export function c2st(x: ArrayLike<number>, y: ArrayLike<number>, dim: number, rng: Rng): Estimate {
  const limit = Math.min(C2ST_ROWS, Math.floor(x.length / dim), Math.floor(y.length / dim));
  const { rows, first } = drawnRows('c2st', { x, y, dim, limit }, rng);
  if (first < LEAST_ROWS) return NOTHING;
  const half = Math.floor(first / 2);
  // Rows were drawn in random order, so the first half of each sample is a random half.
  const learnt = Uint32Array.from({ length: 2 * half }, (_, i) => (i < half ? i : first + i - half));
  const neighbours = Math.floor(Math.sqrt(learnt.length)) | 1;
  let hits = 0;
  for (let i = half; i < first; i++) {
    hits += 1 - shareOfSecond(rows, dim, i, learnt, neighbours);
    hits += shareOfSecond(rows, dim, first + i, learnt, neighbours);
  }
  return shareEstimate(hits, 2 * (first - half));
}

/** The vote of the nearest rows for the second sample: 1, 0, or 1/2 if tied. All rows as near as the last one vote too. */
function shareOfSecond(
  rows: Float64Array,
  dim: number,
  row: number,
  learnt: Uint32Array,
  neighbours: number,
): 0 | 0.5 | 1 {
  const distances = Float64Array.from(learnt, (other) => squaredDistance(rows, dim, row, other));
  const farthest = distances.slice().sort()[neighbours - 1];
  const half = learnt.length / 2;
  let balance = 0;
  for (let i = 0; i < learnt.length; i++) {
    if (distances[i] <= farthest) balance += i < half ? -1 : 1;
  }
  return balance === 0 ? 0.5 : balance > 0 ? 1 : 0;
}

// Rows for tests of two samples: few enough that all pairs can be looked at, every element on the same footing.

/**
 * At most `limit` rows of each sample, drawn without replacement, the first sample's first; each element divided by its
 * standard deviation over both (one that does not vary is 0).
 *
 * @param x,y row-major, `dim` numbers a row
 * @throws DATA_MISMATCH if a length is no multiple of dim, or for NaN or infinity
 */
function drawnRows(
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
function squaredDistance(rows: Float64Array, dim: number, i: number, j: number): number {
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

// Whether two samples of vectors come from the same distribution: maximum mean discrepancy.

/** Rows of each sample that are looked at; pairs grow with the square. */
const MMD_ROWS = 500;
const PERMUTATIONS = 200;

interface Mmd {
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
 * @throws DATA_MISMATCH if a length is no multiple of dim, or for NaN or infinity
 */
export function mmd2(x: ArrayLike<number>, y: ArrayLike<number>, dim: number, rng: Rng): Mmd {
  const { rows, first, second } = drawnRows('mmd', { x, y, dim, limit: MMD_ROWS }, rng.split('rows'));
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

// How varied texts, embeddings and states are, and how much of the real ones the dreamt ones reach.

const WORD = /[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]/gu;

/**
 * Different n-grams of words as a share of all (Li et al. 2016, 1510.03055), over all texts together; words and single marks
 * count as tokens, in lower case. null where no text has n tokens. Falls with the amount of text: compare equal amounts alone.
 *
 * @throws DATA_MISMATCH unless n is a whole number from 1 on
 */
export function distinctN(texts: readonly string[], n: number): number | null {
  if (!(Number.isInteger(n) && n >= 1)) throw unfit('distinct n-grams', `n is ${n}.`);
  const seen = new Set<string>();
  let all = 0;
  for (const text of texts) {
    const tokens = text.toLowerCase().match(WORD) ?? [];
    for (let i = 0; i + n <= tokens.length; i++) seen.add(tokens.slice(i, i + n).join(' '));
    all += Math.max(0, tokens.length - n + 1);
  }
  return all === 0 ? null : seen.size / all;
}

/**
 * Mean cosine distance of two different embeddings, in [0, 2]; null for fewer than two. O(n): by the length of their sum.
 *
 * @throws DATA_MISMATCH if their lengths differ, or one is all zeros or not finite
 */
export function spread(embeddings: readonly ArrayLike<number>[]): number | null {
  const n = embeddings.length;
  if (n < 2) return null;
  const sum = new Float64Array(embeddings[0].length);
  for (const embedding of embeddings) {
    sameLength('spread', embeddings[0], embedding);
    allFinite('spread', embedding);
    const length = Math.hypot(...Array.from(embedding));
    if (length === 0) throw unfit('spread', 'an embedding is all zeros.');
    for (let d = 0; d < sum.length; d++) sum[d] += embedding[d] / length;
  }
  const square = sum.reduce((total, value) => total + value * value, 0);
  return Math.max(0, 1 - (square - n) / (n * (n - 1)));
}

interface HashCoverage {
  /** Share of the different real ones that the dreamt ones reach. */
  readonly reached: Estimate;
  /** Share of the different dreamt ones that are not among the real ones. */
  readonly novel: Estimate;
}

/** How two sets of hashes (of states, of observations) overlap; how often each occurs does not matter. */
export function hashCoverage({
  real,
  dreamt,
}: {
  readonly real: Iterable<string>;
  readonly dreamt: Iterable<string>;
}): HashCoverage {
  const known = new Set(real);
  const found = new Set(dreamt);
  const both = [...found].filter((hash) => known.has(hash)).length;
  return { reached: shareEstimate(both, known.size), novel: shareEstimate(found.size - both, found.size) };
}
