// Where branches begin: states of a real buffer, or arrays that a caller has, with the real steps before them where a model
// remembers.

import { reverieError } from '../../core/errors.js';
import { Rng } from '../../core/rng.js';
import type { ReplayBuffer } from '../../replay/buffer.js';
import { batchOfStarts, type History, pickHistory, type Start } from '../../worldmodel/starts.js';

/** Start states with their ids, and the real steps before each where models remember. */
export interface Starts {
  /** Start states [rows, obsDim], row-major; `rows` is the length of `startIds`. */
  readonly starts: Float32Array;
  /** Real steps before each start; needed by models with a memory, and not read by others. `drawStarts` draws both. */
  readonly history?: History;
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

/**
 * `rows` random real states, drawn with replacement, with the row ids they have in the buffer.
 * @param context  steps of history to take, as far as the buffer holds them; what the world model says of itself
 */
export function drawStarts(real: ReplayBuffer, rows: number, rng: Rng, context: number) {
  const drawn = new Uint32Array(rows);
  for (let row = 0; row < rows; row++) drawn[row] = rng.int(real.size);
  return startsAt(real, drawn, context);
}

/** What `drawStarts` draws, each when it is asked for: start n takes the n-th draw of `rng`, which is not advanced. */
export function drawnStarts(real: ReplayBuffer, rows: number, rng: Rng, context: number): StartSource {
  const { key, position } = rng.state();
  const drawOf = (row: number) => Rng.fromState({ key, position: position + row }).int(real.size);
  return { rows, obsDim: real.obsDim, take: (taken) => startsAt(real, taken.map(drawOf), context) };
}

function startsAt(
  real: ReplayBuffer,
  rows: Uint32Array,
  context: number,
): Starts & { readonly startIds: Float64Array } {
  const { obsDim, actionDim } = real;
  const { obs: starts } = real.take(rows, ['obs']);
  const startIds = Float64Array.from(rows, (row) => real.rowId(row));
  if (context === 0) return { starts, startIds };
  const led = Array.from(rows, (row) => startAt(real, row, context));
  return { starts, startIds, history: batchOfStarts(led, { obsDim, actionDim }).history };
}

/** The state of a row, and at most `context` steps of its episode that led to it. */
function startAt(real: ReplayBuffer, index: number, context: number): Start {
  const { obs: observation } = real.take(Uint32Array.of(index), ['obs']);
  const rows = Uint32Array.from(rowsBefore(real, index, context));
  return rows.length === 0 ? { observation } : { observation, history: real.take(rows, ['obs', 'action']) };
}

/** The rows of an episode that led to one of its rows, at most `most`, in order. */
function rowsBefore(real: ReplayBuffer, index: number, most: number): number[] {
  const { size } = real;
  const behind = Uint32Array.from({ length: Math.min(most, size - 1) + 1 }, (_, age) => (index - age + size) % size);
  const { episode, step } = real.take(behind, ['episode', 'step']);
  const before: number[] = [];
  for (let age = 1; age < behind.length; age++) {
    // In a full ring the newest row lies before the oldest one, whose own predecessor was overwritten.
    const isBefore =
      real.rowId(behind[age]) === real.rowId(behind[age - 1]) - 1 &&
      episode[age] === episode[age - 1] &&
      step[age] === step[age - 1] - 1;
    if (!isBefore) break;
    before.unshift(behind[age]);
  }
  return before;
}

/** Throws SETTING_INVALID where starts, ids and history do not fit, NON_FINITE_VALUE. */
export function sourceOfArrays({ starts, startIds, history }: Starts): StartSource {
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
  if (history !== undefined) checkHistory(history, rows, obsDim);
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
      return { starts: own, startIds: ids, history: history && pickHistory(history, taken) };
    },
  };
}

function checkHistory({ steps, lengths, obs, action }: History, rows: number, obsDim: number): void {
  const isWhole = lengths.length === rows && obs.length === rows * steps * obsDim && lengths.every((n) => n <= steps);
  if (isWhole && action.length % Math.max(1, rows * steps) === 0) return;
  throw reverieError('SETTING_INVALID', {
    problem: `Rollout request: history has ${lengths.length} lengths, ${obs.length} observation and ${action.length} action values for ${rows} starts and ${steps} steps.`,
    hint: 'history is [starts, steps, dim], with a length of at most `steps` for each start.',
  });
}

/** Index of the first NaN or infinity, or -1. */
export function firstNonFinite(values: Float32Array): number {
  for (let i = 0; i < values.length; i++) if (!Number.isFinite(values[i])) return i;
  return -1;
}
