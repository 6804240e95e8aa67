// What of a world a model was shown: the range of each observation element, how low and high rewards are, and whether episodes end. Where a dream has left it, what
// the model says is a guess about nothing it knows, and can run off to any number.

import { z } from 'zod';

const numbers = z.array(z.number()).readonly();

export const seenRangeSchema = z.strictObject({
  low: numbers.describe('least value of each observation element'),
  high: numbers.describe('greatest value of each observation element'),
  lowReward: z.number().describe('the reward that one row of twenty is below'),
  highReward: z.number().describe('the reward that one row of twenty is above'),
  ends: z.boolean().describe('whether an episode ended by the task'),
});

/** Of the rows that a model was fitted to, in raw units. */
export type SeenRange = z.output<typeof seenRangeSchema>;

/** [obsDim] each. */
export interface ObservedRange {
  readonly low: Float32Array;
  readonly high: Float32Array;
}

interface SeenObservations {
  readonly obs: Float32Array;
  readonly nextObs: Float32Array;
}

interface SeenRows extends SeenObservations {
  readonly reward: Float32Array;
  readonly terminated: Uint8Array;
}

/** Of rewards below the low one, and above the high one. */
const TAIL = 0.05;
/** What rounding may move a value, relative to its size or, below 1, as it is: a model draws even what never changed. */
const ROUNDING = 1e-6;

/** Of one row or more. */
export function seenRange({ reward, terminated, ...observed }: SeenRows, obsDim: number): SeenRange {
  const { low, high } = bounds(observed, obsDim);
  const ranked = reward.slice().sort();
  const tail = Math.floor(TAIL * (ranked.length - 1));
  const [lowReward, highReward] = [ranked[tail], ranked[ranked.length - 1 - tail]];
  return { low: Array.from(low), high: Array.from(high), lowReward, highReward, ends: terminated.includes(1) };
}

function bounds({ obs, nextObs }: SeenObservations, obsDim: number): ObservedRange {
  const low = new Float32Array(obsDim).fill(Number.POSITIVE_INFINITY);
  const high = new Float32Array(obsDim).fill(Number.NEGATIVE_INFINITY);
  for (const values of [obs, nextObs]) {
    for (let at = 0; at < values.length; at++) {
      const j = at % obsDim;
      if (values[at] < low[j]) low[j] = values[at];
      if (values[at] > high[j]) high[j] = values[at];
    }
  }
  return { low, high };
}

/** The range of one row or more, widened as `widenedRange` does; undefined for a margin of null. */
export function observedRange(
  rows: SeenObservations,
  obsDim: number,
  margin: number | null,
): ObservedRange | undefined {
  return margin === null ? undefined : widenedRange(bounds(rows, obsDim), margin);
}

/**
 * The range widened by `margin` of its width on either side, and by what rounding may move: an element that never changed has
 * one value, about.
 */
export function widenedRange(seen: Readonly<Record<'low' | 'high', ArrayLike<number>>>, margin: number): ObservedRange {
  const [low, high] = [Float32Array.from(seen.low), Float32Array.from(seen.high)];
  const width = high.map((value, j) => value - low[j]);
  const beyond = (value: number, j: number) => margin * width[j] + ROUNDING * Math.max(1, Math.abs(value));
  return {
    low: low.map((value, j) => value - beyond(value, j)),
    high: high.map((value, j) => value + beyond(value, j)),
  };
}

/** Whether a row of observations lies within; NaN does not. */
export function isWithin(obs: Float32Array, row: number, { low, high }: ObservedRange): boolean {
  const at = row * low.length;
  for (let j = 0; j < low.length; j++) if (!(obs[at + j] >= low[j] && obs[at + j] <= high[j])) return false;
  return true;
}
