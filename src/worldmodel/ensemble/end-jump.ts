// What an end by the task adds to the reward, all else equal: the bonus of being alive that stops, a goal that is reached, a
// fall that is punished. A Gaussian of observation and action smooths such a jump away, and policies learn on the wrong side of it.

import { median, sampleDeviation } from '../../core/statistics.js';
import type { ReplayBuffer, TransitionBatch } from '../../replay/index.js';

/** Ends that are compared with their neighbours, and rows among which neighbours are sought, at most. */
const ENDS = 200;
const ROWS = 4000;

/** Jumps below this share of the rewards' deviation are not told from noise, and left to the network. */
const LEAST = 0.25;

/** Rewards and ends of all rows, and what of a row is compared with others: next observation, then action. */
interface ComparedRows {
  readonly reward: Float32Array;
  readonly terminated: Uint8Array;
  readonly row: (r: number) => Float64Array;
}

export function comparedBatch({ rows, reward, terminated, nextObs, action }: TransitionBatch): ComparedRows {
  const [obsDim, actionDim] = [nextObs.length / rows, action.length / rows];
  const row = (r: number) =>
    Float64Array.from({ length: obsDim + actionDim }, (_, j) =>
      j < obsDim ? nextObs[r * obsDim + j] : action[r * actionDim + j - obsDim],
    );
  return { reward, terminated, row };
}

/** As `comparedBatch`, of rows on disk: those that are compared are read one by one. */
export function comparedOnDisk(data: ReplayBuffer): ComparedRows {
  const { reward, terminated } = data.columns(['reward', 'terminated']);
  const row = (r: number) => {
    const { nextObs, action } = data.take(Uint32Array.of(r), ['nextObs', 'action']);
    return Float64Array.of(...nextObs, ...action);
  };
  return { reward, terminated, row };
}

/**
 * The median, over rows that end, of their reward less that of the most similar row that goes on (by next observation and
 * action, in units of deviations); 0 where nothing ends, everything does, or the difference is small.
 */
export function endJump({ reward, terminated, row }: ComparedRows): number {
  const ended = newest(terminated, 1, ENDS);
  const living = newest(terminated, 0, ROWS);
  if (ended.length === 0 || living.length === 0) return 0;
  const others = living.map((r) => row(r));
  const scale = scaleOf(others);
  const differences = ended.map((r) => {
    const own = row(r);
    let [best, nearest] = [0, Number.POSITIVE_INFINITY];
    for (const [i, other] of others.entries()) {
      const distance = distanceBelow(nearest, own, other, scale);
      if (distance < nearest) [best, nearest] = [i, distance];
    }
    return reward[r] - reward[living[best]];
  });
  const jump = median(differences);
  return Math.abs(jump) > LEAST * sampleDeviation(reward) ? jump : 0;
}

/** The newest rows whose flag is `terminated`. */
function newest(flags: Uint8Array, terminated: 0 | 1, most: number): number[] {
  const found: number[] = [];
  for (let r = flags.length - 1; r >= 0 && found.length < most; r--) if (flags[r] === terminated) found.push(r);
  return found;
}

/** One over the variance of each element. */
function scaleOf(rows: readonly Float64Array[]): Float64Array {
  return rows[0].map((_, j) => 1 / Math.max(sampleDeviation(rows.map((values) => values[j])), 1e-9) ** 2);
}

/** Squared distance, or anything not below `limit` where it is not below that. */
function distanceBelow(limit: number, a: Float64Array, b: Float64Array, scale: Float64Array): number {
  let sum = 0;
  for (let j = 0; j < a.length && sum < limit; j++) sum += scale[j] * (a[j] - b[j]) ** 2;
  return sum;
}
