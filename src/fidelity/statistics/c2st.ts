// Whether a classifier can tell real vectors from dreamt ones.

import type { Rng } from '../../core/rng.js';
import { drawnRows, squaredDistance } from './drawn-rows.js';
import { type Estimate, NOTHING } from './estimate.js';
import { shareEstimate } from './share.js';

/** Rows of each sample that are looked at, half to learn from and half to tell apart. */
const ROWS = 1000;
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
 * @throws FIDELITY_NUMBERS_INVALID if a length is no multiple of dim, or for NaN or infinity
 */
export function c2st(x: ArrayLike<number>, y: ArrayLike<number>, dim: number, rng: Rng): Estimate {
  const limit = Math.min(ROWS, Math.floor(x.length / dim), Math.floor(y.length / dim));
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
