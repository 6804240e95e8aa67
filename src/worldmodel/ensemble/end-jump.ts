// What an end by the task adds to the reward, all else equal: the bonus of being alive that stops, a goal that is reached, a
// fall that is punished. A Gaussian of observation and action smooths such a jump away, and policies learn on the wrong side of it.

import { median, sampleDeviation } from '../../core/statistics.js';
import type { TransitionBatch } from '../../replay/index.js';

/** Ends that are compared with their neighbours, and rows among which neighbours are sought, at most. */
const ENDS = 200;
const ROWS = 4000;

/** Jumps below this share of the rewards' deviation are not told from noise, and left to the network. */
const LEAST = 0.25;

/**
 * The median, over rows that end, of their reward less that of the most similar row that goes on (by next observation and
 * action, in units of deviations); 0 where nothing ends, everything does, or the difference is small.
 */
export function endJump(batch: TransitionBatch, obsDim: number): number {
  const ended = newest(batch, 1, ENDS);
  const living = newest(batch, 0, ROWS);
  if (ended.length === 0 || living.length === 0) return 0;
  const { scale, row } = comparable(batch, living, obsDim);
  const others = living.map((r) => row(r));
  const differences = ended.map((r) => {
    const own = row(r);
    let [best, nearest] = [0, Number.POSITIVE_INFINITY];
    for (const [i, other] of others.entries()) {
      const distance = distanceBelow(nearest, own, other, scale);
      if (distance < nearest) [best, nearest] = [i, distance];
    }
    return batch.reward[r] - batch.reward[living[best]];
  });
  const jump = median(differences);
  return Math.abs(jump) > LEAST * sampleDeviation(batch.reward) ? jump : 0;
}

/** The newest rows whose flag is `terminated`. */
function newest(batch: TransitionBatch, terminated: 0 | 1, most: number): number[] {
  const found: number[] = [];
  for (let r = batch.rows - 1; r >= 0 && found.length < most; r--)
    if (batch.terminated[r] === terminated) found.push(r);
  return found;
}

function comparable({ nextObs, action, rows }: TransitionBatch, of: readonly number[], obsDim: number) {
  const actionDim = action.length / rows;
  const row = (r: number) =>
    Float64Array.from({ length: obsDim + actionDim }, (_, j) =>
      j < obsDim ? nextObs[r * obsDim + j] : action[r * actionDim + j - obsDim],
    );
  const columns = of.map(row);
  const scale = Float64Array.from({ length: obsDim + actionDim }, (_, j) => {
    return 1 / Math.max(sampleDeviation(columns.map((values) => values[j])), 1e-9) ** 2;
  });
  return { row, scale };
}

/** Squared distance, or anything not below `limit` where it is not below that. */
function distanceBelow(limit: number, a: Float64Array, b: Float64Array, scale: Float64Array): number {
  let sum = 0;
  for (let j = 0; j < a.length && sum < limit; j++) sum += scale[j] * (a[j] - b[j]) ** 2;
  return sum;
}
