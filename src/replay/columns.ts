// The columns of a transition of numbers: what was lived, and where it came from. The schema of replay buffers and of their
// files, in the order of the files.

import { allocate, bytesPerRow, copyRows, pickColumns, type Schema, scalar, tensor, viewRows } from './schema.js';

/** Every stored column; arrays are row-major, [rows, width]. */
export interface Columns {
  obs: Float32Array;
  action: Float32Array;
  reward: Float32Array;
  terminated: Uint8Array;
  truncated: Uint8Array;
  nextObs: Float32Array;
  /** Number of the row's origin in the buffer's origin table. */
  origin: Uint32Array;
  episode: Float64Array;
  step: Uint32Array;
  group: Float64Array;
  parent: Float64Array;
  logProb: Float32Array;
  confidence: Float32Array;
  stateHash: BigUint64Array;
}

export type ColumnName = keyof Columns;

export function transitionSchema(obsDim: number, actionDim: number): Schema {
  return {
    obs: tensor('float32', obsDim),
    action: tensor('float32', actionDim),
    reward: scalar('float32'),
    terminated: scalar('bool'),
    truncated: scalar('bool'),
    nextObs: tensor('float32', obsDim),
    origin: scalar('uint32'),
    episode: scalar('float64'),
    step: scalar('uint32'),
    group: scalar('float64'),
    parent: scalar('float64'),
    logProb: scalar('float32'),
    confidence: scalar('float32'),
    stateHash: scalar('uint64'),
  };
}

export const COLUMN_NAMES = Object.keys(transitionSchema(1, 1)) as readonly ColumnName[];

/** Bytes of one row in all columns together. */
export function rowBytes(obsDim: number, actionDim: number): number {
  return bytesPerRow(transitionSchema(obsDim, actionDim));
}

/** Zeroed columns for `rows` rows. */
export function allocateColumns(rows: number, obsDim: number, actionDim: number): Columns {
  return allocateSome(COLUMN_NAMES, rows, obsDim, actionDim);
}

/** As `allocateColumns`, of the columns `names` alone. */
export function allocateSome<N extends ColumnName>(
  names: readonly N[],
  rows: number,
  obsDim: number,
  actionDim: number,
): Pick<Columns, N> {
  const schema = pickColumns(transitionSchema(obsDim, actionDim), names);
  return allocate(schema, rows) as unknown as Pick<Columns, N>;
}

/** Copies every column of `from`, of `rows` rows, to rows `at` … of `to`. */
export function copyColumns(from: Columns, to: Columns, rows: number, at = 0): void {
  const [obsDim, actionDim] = [from.obs.length / rows, from.action.length / rows];
  if (rows > 0) copyRows(transitionSchema(obsDim, actionDim), { ...from }, 0, { ...to }, at, rows);
}

/** `rows` rows of every column that is there from row `first` on, as views. */
export function viewColumns<N extends ColumnName>(
  columns: Pick<Columns, N>,
  rows: number,
  obsDim: number,
  actionDim: number,
  first = 0,
): Pick<Columns, N> {
  const schema = transitionSchema(obsDim, actionDim);
  return viewRows(schema, columns as never, first, rows) as unknown as Pick<Columns, N>;
}
