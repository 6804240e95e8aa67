// The columns a buffer stores: which there are, how wide a row is in each, and their allocation. One table, used by
// append, growth and the snapshot file, so that no column can be forgotten in one of them.

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
export type ColumnArray = Columns[ColumnName];

interface ColumnConstructor<T> {
  new (length: number): T;
  readonly BYTES_PER_ELEMENT: number;
}

const CONSTRUCTORS: { [K in ColumnName]: ColumnConstructor<Columns[K]> } = {
  obs: Float32Array,
  action: Float32Array,
  reward: Float32Array,
  terminated: Uint8Array,
  truncated: Uint8Array,
  nextObs: Float32Array,
  origin: Uint32Array,
  episode: Float64Array,
  step: Uint32Array,
  group: Float64Array,
  parent: Float64Array,
  logProb: Float32Array,
  confidence: Float32Array,
  stateHash: BigUint64Array,
};

export const COLUMN_NAMES = Object.keys(CONSTRUCTORS) as readonly ColumnName[];

/** Elements per row of a column. */
function columnWidth(name: ColumnName, obsDim: number, actionDim: number): number {
  if (name === 'obs' || name === 'nextObs') return obsDim;
  return name === 'action' ? actionDim : 1;
}

/** Bytes of one row in a column. */
export function columnBytes(name: ColumnName, obsDim: number, actionDim: number): number {
  return CONSTRUCTORS[name].BYTES_PER_ELEMENT * columnWidth(name, obsDim, actionDim);
}

/** Bytes of one row in all columns together. */
export function rowBytes(obsDim: number, actionDim: number): number {
  return COLUMN_NAMES.reduce((bytes, name) => bytes + columnBytes(name, obsDim, actionDim), 0);
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
  const entries = names.map((name) => [name, new CONSTRUCTORS[name](rows * columnWidth(name, obsDim, actionDim))]);
  return Object.fromEntries(entries) as Pick<Columns, N>;
}

/** Copies every column of `from` to the start of `to`; `to` is at least as long. */
export function copyColumns(from: Columns, to: Columns): void {
  for (const name of COLUMN_NAMES) setColumn(to[name], from[name], 0);
}

/** `rows` rows of every column that is there from row `first` on, as views. */
export function viewColumns<N extends ColumnName>(
  columns: Pick<Columns, N>,
  rows: number,
  obsDim: number,
  actionDim: number,
  first = 0,
): Pick<Columns, N> {
  const entries = (Object.keys(columns) as N[]).map((name) => {
    const width = columnWidth(name, obsDim, actionDim);
    return [name, columns[name].subarray(first * width, (first + rows) * width)];
  });
  return Object.fromEntries(entries) as Pick<Columns, N>;
}

function setColumn(to: ColumnArray, from: ColumnArray, at: number): void {
  // Both are the same column, so of one type; the union hides that.
  (to as Float32Array).set(from as Float32Array, at);
}
