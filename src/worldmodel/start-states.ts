// Where dreams begin: real first observations, drawn with replacement, or a sampler of one's own.

import { reverieError } from '../core/errors.js';
import type { Rng } from '../core/rng.js';
import { requireFinite } from './input-check.js';

/** Rows [n, obsDim] of observations to start from, or a function that draws one row. */
export type StartStates = Float32Array | ((rng: Rng) => Float32Array);

/** Draws one start into `into` [obsDim]. */
export type DrawStart = (rng: Rng, into: Float32Array) => void;

/** Throws DREAM_INVALID or NON_FINITE_VALUE unless `starts` has whole rows; a sampler is checked as it draws. */
export function startSampler(starts: StartStates, obsDim: number): DrawStart {
  if (typeof starts === 'function') {
    return (rng, into) => {
      const row = starts(rng);
      checkRows(row, obsDim, 1);
      into.set(row);
    };
  }
  const rows = checkRows(starts, obsDim);
  return (rng, into) => {
    const row = rng.int(rows);
    into.set(starts.subarray(row * obsDim, (row + 1) * obsDim));
  };
}

/** Number of whole rows of `starts`. */
export function checkRows(starts: Float32Array, obsDim: number, wanted?: number): number {
  const rows = starts.length / obsDim;
  const isWhole = starts instanceof Float32Array && Number.isInteger(rows) && rows >= 1;
  if (!isWhole || (wanted !== undefined && rows !== wanted)) {
    const want = wanted === undefined ? `rows of ${obsDim}` : `${wanted} rows of ${obsDim}`;
    const hint =
      'Give observations of the environment the model was fitted on, e.g. first observations of its episodes.';
    throw reverieError('DREAM_INVALID', {
      problem: `start states have ${starts.length} values where ${want} are needed.`,
      hint,
    });
  }
  requireFinite('start state', starts, rows, 'the start states of a dream');
  return rows;
}
