// What is kept of a dream: how far off it was after each step.

import type { Ground } from '../plan.js';
import { difference } from '../scales.js';

/** One dream. */
export type KStepRow = {
  /** Root mean square over elements of the error after 1, 2, ... steps, in standard deviations of each element; at most WORST. */
  readonly errors: readonly number[];
  /** What a policy earned in a dream from here, and for real by the same actions; null without a policy. */
  readonly replayed: {
    readonly dreamt: number;
    readonly real: number;
    readonly dreamtEnd: boolean;
    readonly realEnd: boolean;
  } | null;
};

/** A dream that is off by this many standard deviations is lost; by how much says nothing, and would drown the others. */
export const WORST = 10;

/** Of `dreamt` as what follows recorded row `row`. */
export function stateError({ truth, scales }: Ground, dreamt: ArrayLike<number>, row: number): number {
  const obsDim = scales.state.length;
  let squares = 0;
  for (let j = 0; j < obsDim; j++) {
    const real = truth.rows.nextObs[row * obsDim + j];
    squares += difference(dreamt[j], real, scales.state[j], scales.isDiscrete) ** 2;
  }
  return Math.min(Math.sqrt(squares / obsDim), WORST);
}
