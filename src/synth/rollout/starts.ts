// Where branches begin: states of a real buffer, or arrays that a caller has.

import { reverieError } from '../../core/errors.js';
import { Rng } from '../../core/rng.js';
import type { ReplayBuffer } from '../../replay/buffer.js';

/** Start states with their ids. */
export interface Starts {
  /** Start states [rows, obsDim], row-major; `rows` is the length of `startIds`. */
  readonly starts: Float32Array;
  /** Row id of each start in the real buffer, recorded as `parent`; -1 for none. */
  readonly startIds: ArrayLike<number>;
}

/** Start states by their number. The same number gives the same state, whenever it is asked for. */
export interface StartSource {
  readonly rows: number;
  readonly obsDim: number;
  /** Those of numbers `rows`, in arrays of their own. */
  take(rows: Uint32Array): Starts;
}

/** `rows` random real states, drawn with replacement, with the row ids they have in the buffer. */
export function drawStarts(real: ReplayBuffer, rows: number, rng: Rng) {
  const drawn = new Uint32Array(rows);
  for (let row = 0; row < rows; row++) drawn[row] = rng.int(real.size);
  return startsAt(real, drawn);
}

/** What `drawStarts` draws, each when it is asked for: start n takes the n-th draw of `rng`, which is not advanced. */
export function drawnStarts(real: ReplayBuffer, rows: number, rng: Rng): StartSource {
  const { key, position } = rng.state();
  const drawOf = (row: number) => Rng.fromState({ key, position: position + row }).int(real.size);
  return { rows, obsDim: real.obsDim, take: (taken) => startsAt(real, taken.map(drawOf)) };
}

function startsAt(real: ReplayBuffer, rows: Uint32Array): Starts & { readonly startIds: Float64Array } {
  const { obs: starts } = real.take(rows, ['obs']);
  return { starts, startIds: Float64Array.from(rows, (row) => real.rowId(row)) };
}

/** Throws SETTING_INVALID where starts and ids do not fit, NON_FINITE_VALUE. */
export function sourceOfArrays({ starts, startIds }: Starts): StartSource {
  const rows = startIds.length;
  const obsDim = rows === 0 ? 0 : starts.length / rows;
  if (!Number.isInteger(obsDim) || (rows > 0 && obsDim === 0) || (rows === 0 && starts.length > 0)) {
    const problem = `Rollout request: starts has ${starts.length} values for ${rows} startIds.`;
    throw reverieError('SETTING_INVALID', { problem, hint: 'starts is [rows, obsDim] with one id per row.' });
  }
  const at = firstNonFinite(starts);
  if (at >= 0) {
    throw reverieError('NON_FINITE_VALUE', {
      what: 'A start state',
      value: starts[at],
      where: `start ${Math.floor(at / obsDim)}, element ${at % obsDim}`,
      hint: 'Start only from observations that a real environment gave.',
    });
  }
  return {
    rows,
    obsDim,
    take: (taken) => {
      const own = new Float32Array(taken.length * obsDim);
      for (let row = 0; row < taken.length; row++) {
        const from = taken[row] * obsDim;
        for (let k = 0; k < obsDim; k++) own[row * obsDim + k] = starts[from + k];
      }
      const ids = Float64Array.from(taken, (row) => startIds[row]);
      return { starts: own, startIds: ids };
    },
  };
}

/** Index of the first NaN or infinity, or -1. */
export function firstNonFinite(values: Float32Array): number {
  for (let i = 0; i < values.length; i++) if (!Number.isFinite(values[i])) return i;
  return -1;
}
