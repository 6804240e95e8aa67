// The columns of a transition of numbers and of its provenance, in the order of the files; how they are laid out and copied.

import { reverieError } from '../core/errors.js';
import type { TransitionBatch } from './transition.js';

const TYPES = {
  obs: Float32Array,
  action: Float32Array,
  reward: Float32Array,
  terminated: Uint8Array,
  truncated: Uint8Array,
  nextObs: Float32Array,
  /** Number of the row's origin in the buffer's origin table. */
  origin: Uint32Array,
  episode: Float64Array,
  step: Uint32Array,
  group: Float64Array,
  parent: Float64Array,
  logProb: Float32Array,
  confidence: Float32Array,
  stateHash: BigUint64Array,
};

/** Every stored column; arrays are row-major, [rows, width]. */
export type Columns = { [Name in keyof typeof TYPES]: (typeof TYPES)[Name]['prototype'] };
export type ColumnName = keyof Columns;
export type ColumnArray = Columns[ColumnName];
/** Indices of rows, as selectors draw them. */
export type RowIndices = Uint32Array | Int32Array;

export const COLUMN_NAMES = Object.keys(TYPES) as readonly ColumnName[];

/** Elements of one row of a column. */
export function columnWidth(name: ColumnName, obsDim: number, actionDim: number): number {
  if (name === 'obs' || name === 'nextObs') return obsDim;
  return name === 'action' ? actionDim : 1;
}

/** Bytes of one row of a column. */
export function columnBytes(name: ColumnName, obsDim: number, actionDim: number): number {
  return TYPES[name].BYTES_PER_ELEMENT * columnWidth(name, obsDim, actionDim);
}

/** Bytes of one row in all columns together. */
export function rowBytes(obsDim: number, actionDim: number): number {
  return COLUMN_NAMES.reduce((bytes, name) => bytes + columnBytes(name, obsDim, actionDim), 0);
}

/** Zeroed columns for `rows` rows; all of them unless `names` says which. */
export function allocateColumns<N extends ColumnName = ColumnName>(
  rows: number,
  obsDim: number,
  actionDim: number,
  names: readonly N[] = COLUMN_NAMES as readonly N[],
): Pick<Columns, N> {
  const entries = names.map((name) => [name, new TYPES[name](rows * columnWidth(name, obsDim, actionDim))]);
  return Object.fromEntries(entries);
}

/** `rows` rows of every column that is there from row `first` on, as views: no copy, writes go through. */
export function viewColumns<N extends ColumnName>(
  columns: Pick<Columns, N>,
  rows: number,
  obsDim: number,
  actionDim: number,
  first = 0,
): Pick<Columns, N> {
  const entries = (Object.entries(columns) as [ColumnName, ColumnArray][]).map(([name, values]) => {
    const width = columnWidth(name, obsDim, actionDim);
    return [name, values.subarray(first * width, (first + rows) * width)];
  });
  return Object.fromEntries(entries);
}

/** Copies rows [from, from + rows) of every column to rows `to` … of the other columns. */
export function copyColumns(
  source: Columns,
  from: number,
  target: Columns,
  to: number,
  rows: number,
  obsDim: number,
  actionDim: number,
): void {
  for (const name of COLUMN_NAMES) {
    const width = columnWidth(name, obsDim, actionDim);
    // Both are of one type; the union hides that.
    const values = source[name].subarray(from * width, (from + rows) * width) as Float32Array;
    (target[name] as Float32Array).set(values, to * width);
  }
}

/** The stretches of a ring that `rows` rows from row id `first` on take: index and length of each, in order. */
export function* ringStretches(
  first: number,
  rows: number,
  capacity: number,
): Generator<{ index: number; done: number; count: number }> {
  for (let done = 0; done < rows; ) {
    const index = (first + done) % capacity;
    const count = Math.min(capacity - index, rows - done);
    yield { index, done, count };
    done += count;
  }
}

/** Throws DATA_MISMATCH unless every index is below `size`. */
export function checkIndices(indices: RowIndices, size: number): void {
  for (let i = 0; i < indices.length; i++) {
    // The unsigned view of a negative index is larger than any size.
    if (indices[i] >>> 0 >= size) throw noSuchRow(indices[i], size);
  }
}

/** The error DATA_MISMATCH for a row that is not held. */
export function noSuchRow(row: number, size: number): Error {
  return reverieError('DATA_MISMATCH', {
    problem: `Row ${row} does not exist: the buffer holds ${size} rows.`,
    hint: 'Rows are numbered 0 to size - 1; a selector of the same buffer never answers others.',
  });
}

/** Longer rows are copied by `set`, whose fixed cost is then small. */
const LOOP_LIMIT = 64;

/**
 * target row (at + i) = source row indices[i]; both [rows, width] and of one type. Scattered rows are cache misses, and those are
 * the whole cost; a first pass that only touches every row lets many misses be under way at once (2 to 4 times faster than copying
 * straight away, at a million rows).
 */
export function gatherRows(
  source: ColumnArray,
  width: number,
  indices: RowIndices,
  target: ColumnArray,
  at: number,
): void {
  if (indices.length === 0) return;
  if (source instanceof Float32Array) gatherNumbers(source, width, indices, target as Float32Array, at);
  else if (source instanceof Uint8Array) gatherFlags(source, indices, target as Uint8Array, at);
  else gatherValues(source, indices, target, at);
}

function gatherNumbers(
  source: Float32Array,
  width: number,
  indices: RowIndices,
  target: Float32Array,
  at: number,
): void {
  // Kept in a place that is overwritten next, or the compiler would see that the reads are of no use.
  target[at * width] = touchRows(source, width, indices);
  if (width <= LOOP_LIMIT) {
    copyShort(source, width, indices, target, at * width);
    return;
  }
  for (let i = 0; i < indices.length; i++) {
    const from = indices[i] * width;
    target.set(source.subarray(from, from + width), (at + i) * width);
  }
}

/** Reads both ends of every row; longer rows are fetched ahead by the processor itself. */
function touchRows(source: Float32Array, width: number, indices: RowIndices): number {
  let sum = 0;
  for (let i = 0; i < indices.length; i++) {
    const from = indices[i] * width;
    sum += source[from] + source[from + width - 1];
  }
  return sum;
}

function copyShort(
  source: Float32Array,
  width: number,
  indices: RowIndices,
  target: Float32Array,
  start: number,
): void {
  let to = start;
  for (let i = 0; i < indices.length; i++) {
    const end = indices[i] * width + width;
    let from = end - width;
    for (; from < end - 3; from += 4, to += 4) {
      target[to] = source[from];
      target[to + 1] = source[from + 1];
      target[to + 2] = source[from + 2];
      target[to + 3] = source[from + 3];
    }
    while (from < end) target[to++] = source[from++];
  }
}

// Apart from the loop below, so that each keeps to one type of array.
function gatherFlags(source: Uint8Array, indices: RowIndices, target: Uint8Array, at: number): void {
  for (let i = 0; i < indices.length; i++) target[at + i] = source[indices[i]];
}

function gatherValues(source: ColumnArray, indices: RowIndices, target: ColumnArray, at: number): void {
  const [from, to] = [source as Float32Array, target as Float32Array];
  for (let i = 0; i < indices.length; i++) to[at + i] = from[indices[i]];
}

const TRANSITION = ['obs', 'action', 'reward', 'terminated', 'truncated', 'nextObs'] as const;

/** A zeroed batch: obs and nextObs [rows, obsDim], action [rows, actionDim]. */
export function allocateBatch(rows: number, obsDim: number, actionDim: number): TransitionBatch {
  return { rows, ...allocateColumns(rows, obsDim, actionDim, TRANSITION) };
}

/** Rows [start, end) of a batch as views: no copy, writes go through. */
export function sliceBatch({ rows, ...columns }: TransitionBatch, start: number, end: number): TransitionBatch {
  const [obsDim, actionDim] = [columns.obs.length / rows, columns.action.length / rows];
  return { rows: end - start, ...viewColumns(columns, end - start, obsDim, actionDim, start) };
}

/** Throws DATA_MISMATCH unless every column holds `rows` rows of its dimension. */
export function checkBatchShape(batch: TransitionBatch, obsDim: number, actionDim: number): void {
  const { rows } = batch;
  for (const column of TRANSITION) {
    const want = rows * columnWidth(column, obsDim, actionDim);
    if (batch[column].length !== want) throw columnMismatch(column, batch[column].length, want, rows);
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
export function checkBatchFinite({ rows, obs, action, reward, nextObs }: TransitionBatch): void {
  const hint = 'Find where the environment or the model diverged; such rows are never stored.';
  for (const [column, values] of Object.entries({ obs, action, reward, nextObs }))
    requireFinite(`Column "${column}"`, values, rows, 'a batch', hint);
}

/** Throws NON_FINITE_VALUE for the first NaN or infinity in `values` [rows, dim], and names its row as `where` does, or of what it says. */
export function requireFinite(
  what: string,
  values: Float32Array,
  rows: number,
  where: string | ((row: number) => string),
  hint: string,
): void {
  // x * 0 is 0 for finite x and NaN otherwise, so one branch-free pass decides the usual case.
  let poison = 0;
  for (let i = 0; i < values.length; i++) poison += values[i] * 0;
  if (poison === 0) return;
  const at = values.findIndex((value) => !Number.isFinite(value));
  const dim = values.length / rows;
  const row = Math.floor(at / dim);
  const place = typeof where === 'string' ? `row ${row}, element ${at % dim} of ${where}` : where(row);
  throw reverieError('NON_FINITE_VALUE', { what, value: values[at], where: place, hint });
}

/** Rows of a column of this width, copied, in this order. */
export function pickRows<T extends ColumnArray>(column: T, width: number, rows: RowIndices): T {
  const picked = new (column.constructor as new (length: number) => T)(rows.length * width);
  gatherRows(column, width, rows, picked, 0);
  return picked;
}
