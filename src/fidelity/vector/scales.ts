// Units that errors are told in: how much each element varies, and how much it changes in a step. A discrete state has no
// distances: it is right or wrong.

import type { VectorTruth } from './truth.js';
import { widths } from './truth.js';

export interface Scales {
  /** Standard deviation of each element's change in one step. */
  readonly change: readonly number[];
  /** Standard deviation of each element. */
  readonly state: readonly number[];
  /** Standard deviation of the reward; 1 where it never varies. */
  readonly reward: number;
  readonly isDiscrete: boolean;
}

/** Elements that never change are told in standard deviations of the element, and constant ones as they are. */
export function scalesOf(truth: VectorTruth): Scales {
  const { obsDim } = widths(truth);
  const { obs, nextObs, reward, rows } = truth.rows;
  const isDiscrete = truth.observationSpace.type === 'discrete';
  if (isDiscrete) return { change: [1], state: [1], reward: spread(rows, (r) => reward[r]) || 1, isDiscrete };
  const at = (r: number, j: number) => r * obsDim + j;
  const elements = Array.from({ length: obsDim }, (_, j) => j);
  const state = elements.map((j) => spread(rows, (r) => obs[at(r, j)]) || 1);
  const change = elements.map((j) => spread(rows, (r) => nextObs[at(r, j)] - obs[at(r, j)]) || state[j]);
  return { change, state, reward: spread(rows, (r) => reward[r]) || 1, isDiscrete };
}

/** Difference of two values of an element in units of `scale`; of discrete states 0 or 1. */
export function difference(dreamt: number, real: number, scale: number, isDiscrete: boolean): number {
  if (isDiscrete) return dreamt === real ? 0 : 1;
  return (dreamt - real) / scale;
}

/** Standard deviation; 0 where it is no more than rounding of float32. */
function spread(rows: number, value: (row: number) => number): number {
  let mean = 0;
  let squares = 0;
  let largest = 0;
  for (let r = 0; r < rows; r++) {
    const x = value(r);
    const step = x - mean;
    mean += step / (r + 1);
    squares += step * (x - mean);
    largest = Math.max(largest, Math.abs(x));
  }
  const deviation = Math.sqrt(squares / rows);
  return deviation > 1e-6 * largest ? deviation : 0;
}
