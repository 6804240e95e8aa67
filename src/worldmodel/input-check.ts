// Guards at the border of world models: arrays of the right size, finite, and actions that exist.

import type { Rngs } from '../core/dynamics.js';
import type { VectorSpace } from '../core/environment.js';
import { reverieError } from '../core/errors.js';
import { Rng } from '../core/rng.js';
import type { TransitionBatch } from '../replay/transition.js';
import { type RowShape, rowShape, type Spaces } from './model-spaces.js';

/**
 * Throws DATA_MISMATCH unless obs is [rows, obsDim] and action [rows, actionDim] with discrete actions in their space;
 * NON_FINITE_VALUE for NaN or infinity.
 */
export function checkStepInput(
  backend: string,
  spaces: Spaces,
  obs: Float32Array,
  action: Float32Array,
  rows: number,
  { obsDim, actionDim }: RowShape = rowShape(spaces),
): void {
  checkLength(backend, 'obs', obs, rows, obsDim);
  checkLength(backend, 'action', action, rows, actionDim);
  requireFinite('obs', obs, rows, 'the input of a world model');
  requireFinite('action', action, rows, 'the input of a world model');
  checkDiscrete(backend, 'action', action, spaces.actionSpace);
  checkDiscrete(backend, 'observation', obs, spaces.observationSpace);
}

/** As `checkStepInput`, of observations alone. */
export function checkObservations(
  backend: string,
  spaces: Spaces,
  obs: Float32Array,
  rows: number,
  { obsDim }: RowShape = rowShape(spaces),
): void {
  const whole = Math.floor(Number.isFinite(rows) ? rows : 0);
  checkLength(backend, 'obs', obs, whole, obsDim);
  requireFinite('obs', obs, whole, 'the input of a world model');
  checkDiscrete(backend, 'observation', obs, spaces.observationSpace);
}

/** Throws DATA_MISMATCH unless there is one stream for all rows, or one for each. */
export function checkStreams(backend: string, rngs: Rngs, rows: number): void {
  if (rngs instanceof Rng || rngs.length === rows) return;
  throw refused(backend, `${rngs.length} random streams where one, or ${rows}, are needed.`);
}

/**
 * Throws DATA_MISMATCH or NON_FINITE_VALUE unless a world model can learn from every row.
 * @param before rows that came before these, of the same data
 */
export function checkTrainingData(backend: string, batch: TransitionBatch, spaces: Spaces, before = 0): void {
  const { obsDim, actionDim } = rowShape(spaces);
  const { rows } = batch;
  if (before + rows < 2) {
    const hint = 'Collect more transitions first: one row is held out, and at least one must be left.';
    throw reverieError('DATA_MISMATCH', {
      problem: `A world model cannot be fitted to this data: ${`it has ${rows} rows, where two are the least.`}`,
      hint,
    });
  }
  const widths = { obs: obsDim, action: actionDim, reward: 1, nextObs: obsDim, terminated: 1 } as const;
  for (const column of Object.keys(widths) as (keyof typeof widths)[]) {
    const values = batch[column];
    if (values.length !== rows * widths[column]) {
      const problem = `column "${column}" has ${values.length} values where ${rows} rows of ${widths[column]} are needed.`;
      throw reverieError('DATA_MISMATCH', {
        problem: `A world model cannot be fitted to this data: ${problem}`,
        hint: 'Columns are row-major [rows, dim]; check the spaces.',
      });
    }
    if (values instanceof Float32Array)
      requireFinite(column, values, rows, 'the training data of a world model', INPUT_HINT, before);
  }
  checkDiscrete(backend, 'action', batch.action, spaces.actionSpace);
}

/** Throws NON_FINITE_VALUE naming the row of the first NaN or infinity in `values` [rows, dim], of data that has rows before them. */
export function requireFinite(
  what: string,
  values: Float32Array,
  rows: number,
  where: string,
  hint = INPUT_HINT,
  before = 0,
): void {
  // x * 0 is 0 for finite x and NaN otherwise: one branch-free pass decides the usual case.
  let poison = 0;
  for (let i = 0; i < values.length; i++) poison += values[i] * 0;
  if (poison === 0) return;
  const at = values.findIndex((value) => !Number.isFinite(value));
  const dim = values.length / rows;
  const place = `row ${before + Math.floor(at / dim)}, element ${at % dim} of ${where}`;
  throw reverieError('NON_FINITE_VALUE', { what: `The value of "${what}"`, value: values[at], where: place, hint });
}

const INPUT_HINT = 'Find where the environment, the policy or the model diverged.';

function checkLength(backend: string, name: string, values: Float32Array, rows: number, dim: number): void {
  if (values instanceof Float32Array && values.length === rows * dim) return;
  const got = values instanceof Float32Array ? `${values.length} values` : `${Object.prototype.toString.call(values)}`;
  throw refused(backend, `${name} of ${got} where a Float32Array of ${rows} rows of ${dim} is needed.`);
}

function checkDiscrete(backend: string, name: string, values: Float32Array, space: VectorSpace): void {
  if (space.type !== 'discrete') return;
  const at = values.findIndex((v) => !Number.isInteger(v) || v < space.start || v >= space.start + space.n);
  if (at < 0) return;
  throw refused(backend, `${name} ${values[at]} in row ${at}, outside ${space.start}..${space.start + space.n - 1}.`);
}

function refused(backend: string, problem: string): Error {
  return reverieError('DATA_MISMATCH', {
    problem: `World model "${backend}" was asked with ${problem}`,
    hint: 'Give obs [rows, obsDim] and action [rows, actionDim] as Float32Array, actions within the action space.',
  });
}
