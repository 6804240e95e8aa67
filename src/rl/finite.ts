// Guards at the learners' border: data of the right size, and finite.

import { reverieError } from '../core/errors.js';
import type { TransitionBatch } from '../replay/transition.js';

/**
 * Checks a batch before anything is learnt from it: `rows` rows of the right widths (DATA_MISMATCH),
 * every number finite (NON_FINITE_VALUE naming the first bad row).
 */
export function assertBatch(batch: TransitionBatch, rows: number, obsDim: number, actionDim: number): void {
  assertLength('obs', batch.obs, rows * obsDim);
  assertLength('action', batch.action, rows * actionDim);
  assertLength('reward', batch.reward, rows);
  assertLength('terminated', batch.terminated, rows);
  assertLength('truncated', batch.truncated, rows);
  assertLength('nextObs', batch.nextObs, rows * obsDim);
  const columns = { obs: batch.obs, action: batch.action, reward: batch.reward, nextObs: batch.nextObs };
  for (const [name, column] of Object.entries(columns)) assertFinite(name, column, rows);
}

export function assertLength(what: string, column: { readonly length: number }, expected: number): void {
  if (column.length === expected) return;
  const hint = "An update needs exactly steps x batchSize rows, each of the widths of the learner's spaces.";
  throw reverieError('DATA_MISMATCH', {
    problem: `${what} has ${column.length} elements where ${expected} are needed.`,
    hint,
  });
}

/** Throws NON_FINITE_VALUE naming the first row of a column of `rows` rows that holds NaN or infinity. */
export function assertFinite(name: string, column: Float32Array, rows: number): void {
  const at = firstNonFinite(column);
  if (at < 0) return;
  const row = Math.floor(at / (column.length / rows));
  throw reverieError('NON_FINITE_VALUE', {
    what: name,
    value: column[at],
    where: `row ${row} of a batch of ${rows}`,
    hint: 'Nothing was learnt from this batch. Fix the environment or drop the row.',
  });
}

function firstNonFinite(values: Float32Array): number {
  // x * 0 is 0 for finite x and NaN otherwise: one branch-free pass for the usual case.
  let sum = 0;
  for (let i = 0; i < values.length; i++) sum += values[i] * 0;
  return sum === 0 ? -1 : values.findIndex((value) => !Number.isFinite(value));
}
