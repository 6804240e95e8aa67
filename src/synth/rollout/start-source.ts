// Where branches begin: states that lie in an array, or a source that draws them as they are needed, for jobs that have more
// of them than fit into memory.

import { reverieError } from '../../core/errors.js';
import { pickHistory } from '../../worldmodel/index.js';
import type { Drawn, RolloutRequest, StartSource, Starts } from './request.js';

/** Throws ROLLOUT_INVALID where starts, ids and history do not fit, NON_FINITE_VALUE. */
export function startSource(request: Starts | Pick<Drawn<RolloutRequest>, 'starts'>): StartSource {
  return 'startIds' in request ? sourceOfArrays(request) : request.starts;
}

function sourceOfArrays({ starts, startIds, history }: Starts): StartSource {
  const rows = startIds.length;
  const obsDim = rows === 0 ? 0 : starts.length / rows;
  if (!Number.isInteger(obsDim) || (rows > 0 && obsDim === 0) || (rows === 0 && starts.length > 0)) {
    invalid(
      `starts has ${starts.length} values for ${rows} startIds.`,
      'starts is [rows, obsDim] with one id per row.',
    );
  }
  checkFinite(starts, obsDim);
  checkHistory(history, rows, obsDim);
  return {
    rows,
    obsDim,
    take: (taken) => {
      const own = new Float32Array(taken.length * obsDim);
      for (let row = 0; row < taken.length; row++) {
        const from = taken[row] * obsDim;
        for (let k = 0; k < obsDim; k++) own[row * obsDim + k] = starts[from + k];
      }
      return {
        starts: own,
        startIds: Float64Array.from(taken, (row) => startIds[row]),
        history: history && pickHistory(history, taken),
      };
    },
  };
}

function checkFinite(starts: Float32Array, obsDim: number): void {
  const at = firstNonFinite(starts);
  if (at < 0) return;
  throw reverieError('NON_FINITE_VALUE', {
    what: 'A start state',
    value: starts[at],
    where: `start ${Math.floor(at / obsDim)}, element ${at % obsDim}`,
    hint: 'Start only from observations that a real environment gave.',
  });
}

function checkHistory(history: Starts['history'], rows: number, obsDim: number): void {
  if (history === undefined) return;
  const { steps, lengths, obs, action } = history;
  const isWhole = lengths.length === rows && obs.length === rows * steps * obsDim && lengths.every((n) => n <= steps);
  if (!isWhole || action.length % Math.max(1, rows * steps) !== 0) {
    invalid(
      `history has ${lengths.length} lengths, ${obs.length} observation and ${action.length} action values for ${rows} starts and ${steps} steps.`,
      'history is [starts, steps, dim], with a length of at most `steps` for each start.',
    );
  }
}

function invalid(problem: string, hint: string): never {
  throw reverieError('ROLLOUT_INVALID', { problem, hint });
}

/** Index of the first NaN or infinity, or -1. */
export function firstNonFinite(values: Float32Array): number {
  for (let i = 0; i < values.length; i++) if (!Number.isFinite(values[i])) return i;
  return -1;
}
