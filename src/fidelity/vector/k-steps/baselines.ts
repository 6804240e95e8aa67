// Drift of what costs nothing, from the same beginnings: nothing ever changes, or all goes on linearly.

import type { Beginning } from '../open-loop.js';
import type { Ground } from '../plan.js';
import { widths } from '../truth.js';
import { stateError } from './state-error.js';

/** Errors after 1, 2, ... steps of staying where the dream began. */
export function persistenceErrors(ground: Ground, { row, steps }: Beginning): number[] {
  const { obsDim } = widths(ground.truth);
  const start = ground.truth.rows.obs.subarray(row * obsDim, (row + 1) * obsDim);
  return Array.from({ length: steps }, (_, t) => stateError(ground, start, row + t));
}

/** Errors of the linear model, step by step from its own predictions. */
export function linearErrors(ground: Ground, { row, steps }: Beginning): number[] {
  const { truth, linear, scales } = ground;
  const { obsDim, actionDim } = widths(truth);
  let obs = Float64Array.from(truth.rows.obs.subarray(row * obsDim, (row + 1) * obsDim));
  return Array.from({ length: steps }, (_, t) => {
    const at = (row + t) * actionDim;
    const next = new Float64Array(obsDim);
    linear.predict(row, obs, truth.rows.action.subarray(at, at + actionDim), next);
    obs = scales.isDiscrete ? next.map(Math.round) : next;
    return stateError(ground, obs, row + t);
  });
}
