// Where rows lie: a ring by insertion number, whose columns a schema declares. One contract for rows in memory and rows on
// disk; what they mean and which of them are drawn is the business of others.

import { reverieError } from '../core/errors.js';
import type { ColumnSet, Schema } from './schema.js';
import { allocate } from './schema.js';
import type { RowStore } from './selector.js';

/** Indices of rows, as selectors draw them. */
export type RowIndices = Uint32Array | Int32Array;

/**
 * A ring of rows: row id r (its insertion number, from 0) lies at index r % capacity until row r + capacity takes its place.
 * Every implementation answers the same bytes to the same calls.
 */
export interface RowStorage extends RowStore {
  readonly kind: 'memory' | 'disk';
  readonly schema: Schema;
  /**
   * Copies rows [from, from + rows) of all columns in; they are as the schema says (`checkColumns`).
   * Throws STORAGE_FULL or STORAGE_FAILED, and then has none of them.
   */
  append(columns: ColumnSet, rows: number, from?: number): void;
  /**
   * Copies rows `indices` to rows `at` … of the columns that `into` has, in order.
   * Throws DATA_MISMATCH, DATA_MISMATCH where `into` is too small, CHECKPOINT_CORRUPT for a damaged row.
   */
  gather(indices: RowIndices, into: ColumnSet, at?: number): void;
  /** Rows [first, first + rows), oldest first: live views where they lie together in memory, else copies. */
  slice(first: number, rows: number, names?: readonly string[]): ColumnSet;
  /** All rows held, by index: live views of memory, stale after the next append; copies of what lies on disk. */
  content(names?: readonly string[]): ColumnSet;
  /** Makes what was appended durable. Nothing to do in memory. Throws STORAGE_FULL, STORAGE_FAILED. */
  flush(): void;
  close(): void;
}

/** Copies of rows `indices`, of the columns `names`. */
export function takeRows(storage: RowStorage, indices: RowIndices, names?: readonly string[]): ColumnSet {
  const { schema } = storage;
  const wanted = names ? Object.fromEntries(names.map((name) => [name, schema[name]])) : schema;
  const rows = allocate(wanted, indices.length);
  storage.gather(indices, rows);
  return rows;
}

/** Throws DATA_MISMATCH unless every index is below `size`. */
export function checkIndices(indices: RowIndices, size: number): void {
  for (let i = 0; i < indices.length; i++) {
    // The unsigned view of a negative index is larger than any size.
    if (indices[i] >>> 0 >= size)
      throw reverieError('DATA_MISMATCH', {
        problem: `Row ${indices[i]} does not exist: the buffer holds ${size} rows.`,
        hint: 'Rows are numbered 0 to size - 1; a selector of the same buffer never answers others.',
      });
  }
}

/** Throws DATA_MISMATCH unless every column of `into` has room for `rows` rows from row `at` on. */
export function checkRoom(schema: Schema, into: ColumnSet, at: number, rows: number): void {
  for (const column of Object.keys(into)) {
    const width = viewWidth(schema, column);
    const want = (at + rows) * width;
    if (into[column].length < want)
      throw reverieError('DATA_MISMATCH', {
        problem: `Batch column "${column}" has ${into[column].length} values where ${want} are needed.`,
        hint: `Columns are row-major [rows, dim]; check rows (${at + rows}) and the dimensions of the buffer.`,
      });
  }
}

function viewWidth(schema: Schema, column: string): number {
  const spec = schema[column];
  if (spec === undefined) {
    const known = Object.keys(schema).join(', ');
    throw reverieError('DATA_MISMATCH', {
      problem: `Column "${column}" does not fit the schema: it is in no row of the store.`,
      hint: `Its columns are ${known}; values are row-major [rows, ...shape].`,
    });
  }
  return spec.shape.reduce((product, size) => product * size, 1);
}

/** The stretches of the ring that `rows` rows from row id `first` on take: index and length of each, in order. */
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

/** Throws SETTING_INVALID for a capacity or a dimension that is no integer from 1 to 2^32 - 1. */
export function checkCapacity(option: string, value: number): void {
  if (Number.isSafeInteger(value) && value >= 1 && value < 2 ** 32) return;
  throw reverieError('SETTING_INVALID', {
    problem: `Replay option ${option} = ${value} is not acceptable.`,
    hint: `It must be an integer from 1 to 4294967295.`,
  });
}
