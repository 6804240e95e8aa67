// Where dreams begin: real first observations, drawn with replacement, or a sampler of one's own.

import { reverieError } from '../core/errors.js';
import type { Rng } from '../core/rng.js';
import type { Start } from './history.js';
import { requireFinite } from './input-check.js';

/** Rows [n, obsDim] of observations to start from, or a function that draws one, with what was lived before it where it knows. */
export type StartStates = Float32Array | ((rng: Rng) => Float32Array | Start);

/** Draws one start, in arrays of its own. */
export type DrawStart = (rng: Rng) => Start;

/** Throws DREAM_INVALID or NON_FINITE_VALUE unless `starts` has whole rows; a sampler is checked as it draws. */
export function startSampler(starts: StartStates, obsDim: number): DrawStart {
  if (typeof starts === 'function') {
    return (rng) => {
      const drawn = starts(rng);
      const { observation, history } =
        drawn instanceof Float32Array ? { observation: drawn, history: undefined } : drawn;
      checkRows(observation, obsDim, 1);
      return { observation: observation.slice(), history };
    };
  }
  const rows = checkRows(starts, obsDim);
  return (rng) => {
    const row = rng.int(rows);
    return { observation: starts.slice(row * obsDim, (row + 1) * obsDim) };
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
