// Working with transition batches: allocate, check and slice them. No storage and no provenance here.

import { reverieError } from '../core/errors.js';
import type { TransitionBatch } from './transition.js';

/** A zeroed batch: obs and nextObs [rows, obsDim], action [rows, actionDim]. */
export function allocateBatch(rows: number, obsDim: number, actionDim: number): TransitionBatch {
  return {
    rows,
    obs: new Float32Array(rows * obsDim),
    action: new Float32Array(rows * actionDim),
    reward: new Float32Array(rows),
    terminated: new Uint8Array(rows),
    truncated: new Uint8Array(rows),
    nextObs: new Float32Array(rows * obsDim),
  };
}

/** Rows [start, end) of a batch as views: no copy, writes go through. */
export function sliceBatch(batch: TransitionBatch, start: number, end: number): TransitionBatch {
  const obsDim = batch.obs.length / batch.rows;
  const actionDim = batch.action.length / batch.rows;
  return {
    rows: end - start,
    obs: batch.obs.subarray(start * obsDim, end * obsDim),
    action: batch.action.subarray(start * actionDim, end * actionDim),
    reward: batch.reward.subarray(start, end),
    terminated: batch.terminated.subarray(start, end),
    truncated: batch.truncated.subarray(start, end),
    nextObs: batch.nextObs.subarray(start * obsDim, end * obsDim),
  };
}

/** Throws DATA_MISMATCH unless every column holds `rows` rows of its dimension. */
export function checkBatchShape(batch: TransitionBatch, obsDim: number, actionDim: number): void {
  const { rows } = batch;
  const widths = { obs: obsDim, action: actionDim, reward: 1, terminated: 1, truncated: 1, nextObs: obsDim } as const;
  for (const column of Object.keys(widths) as (keyof typeof widths)[]) {
    const want = rows * widths[column];
    if (batch[column].length !== want) {
      throw columnMismatch(column, batch[column].length, want, rows);
    }
  }
}

/** The error DATA_MISMATCH for a column of another length than it must have. */
export function columnMismatch(column: string, got: number, want: number, rows: number): Error {
  return reverieError('DATA_MISMATCH', {
    problem: `Batch column "${column}" has ${got} values where ${want} are needed.`,
    hint: `Columns are row-major [rows, dim]; check rows (${rows}) and the dimensions of the buffer.`,
  });
}

/** Throws NON_FINITE_VALUE naming column and row if any observation, action or reward is NaN or infinite. */
export function checkBatchFinite(batch: TransitionBatch): void {
  checkFinite('obs', batch.obs, batch.rows);
  checkFinite('action', batch.action, batch.rows);
  checkFinite('reward', batch.reward, batch.rows);
  checkFinite('nextObs', batch.nextObs, batch.rows);
}

function checkFinite(column: string, values: Float32Array, rows: number): void {
  // x * 0 is 0 for finite x and NaN otherwise, so one branch-free pass decides the usual case.
  let poison = 0;
  for (let i = 0; i < values.length; i++) poison += values[i] * 0;
  if (poison === 0) return;
  const at = values.findIndex((value) => !Number.isFinite(value));
  const dim = values.length / rows;
  throw reverieError('NON_FINITE_VALUE', {
    what: `Column "${column}"`,
    value: values[at],
    where: `row ${Math.floor(at / dim)}, element ${at % dim}`,
    hint: 'Find where the environment or the model diverged; such rows are never stored.',
  });
}
