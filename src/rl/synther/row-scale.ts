// Transitions as rows of about unit size, and back: [obs | action | reward | nextObs | terminated].

import { allocateBatch, type TransitionBatch } from '../../replay/index.js';

/** Of every column; `low` and `high` are the least and largest there were. */
export interface RowScale {
  readonly obsDim: number;
  readonly actionDim: number;
  readonly mean: readonly number[];
  /** 0 for a column that never changes. */
  readonly std: readonly number[];
  readonly low: readonly number[];
  readonly high: readonly number[];
}

export function rowScale(
  batch: TransitionBatch,
  { obsDim, actionDim }: { readonly obsDim: number; readonly actionDim: number },
): RowScale {
  const raw = flat(batch, { obsDim, actionDim });
  const width = raw.length / batch.rows;
  const columns = Array.from({ length: width }, (_, j) => {
    return Float64Array.from({ length: batch.rows }, (_, row) => raw[row * width + j]);
  });
  const mean = columns.map((column) => column.reduce((sum, value) => sum + value, 0) / column.length);
  const std = columns.map((column, j) => {
    const deviation = Math.sqrt(column.reduce((sum, value) => sum + (value - mean[j]) ** 2, 0) / column.length);
    return deviation < 1e-7 ? 0 : deviation;
  });
  const extreme = (choose: (a: number, b: number) => number) => columns.map((column) => column.reduce(choose));
  return {
    obsDim,
    actionDim,
    mean,
    std,
    low: extreme((a, b) => Math.min(a, b)),
    high: extreme((a, b) => Math.max(a, b)),
  };
}

/** Rows of mean 0 and deviation 1, [rows, width]. */
export function rowsOf(batch: TransitionBatch, scale: RowScale): Float32Array {
  const { mean, std } = scale;
  const raw = flat(batch, scale);
  return raw.map((value, i) => (value - mean[i % mean.length]) / (std[i % mean.length] || 1));
}

/** The transitions that such rows stand for: actions within what there was, ends that are or are not. */
export function transitionsOf(rows: Float32Array, scale: RowScale): TransitionBatch {
  const { obsDim, actionDim, mean, std, low, high } = scale;
  const width = mean.length;
  const batch = allocateBatch(rows.length / width, obsDim, actionDim);
  for (let row = 0; row < batch.rows; row++) {
    const value = (j: number) => mean[j] + std[j] * rows[row * width + j];
    const within = (j: number) => Math.min(Math.max(value(j), low[j]), high[j]);
    for (let j = 0; j < obsDim; j++) {
      batch.obs[row * obsDim + j] = value(j);
      batch.nextObs[row * obsDim + j] = value(obsDim + actionDim + 1 + j);
    }
    for (let j = 0; j < actionDim; j++) batch.action[row * actionDim + j] = within(obsDim + j);
    batch.reward[row] = value(obsDim + actionDim);
    batch.terminated[row] = value(width - 1) > 0.5 ? 1 : 0;
  }
  return batch;
}

function flat(
  { rows, obs, action, reward, nextObs, terminated }: TransitionBatch,
  dims: { readonly obsDim: number; readonly actionDim: number },
) {
  const { obsDim, actionDim } = dims;
  const width = 2 * obsDim + actionDim + 2;
  const out = new Float32Array(rows * width);
  for (let row = 0; row < rows; row++) {
    const at = row * width;
    out.set(obs.subarray(row * obsDim, (row + 1) * obsDim), at);
    out.set(action.subarray(row * actionDim, (row + 1) * actionDim), at + obsDim);
    out[at + obsDim + actionDim] = reward[row];
    out.set(nextObs.subarray(row * obsDim, (row + 1) * obsDim), at + obsDim + actionDim + 1);
    out[at + width - 1] = terminated[row];
  }
  return out;
}
