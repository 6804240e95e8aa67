// Rows in memory: an array a column, which grows with what is in it up to the capacity of the ring.

import { gatherFlags, gatherRows, gatherWide } from './gather.js';
import {
  checkCapacity,
  checkIndices,
  checkRoom,
  type RowIndices,
  type RowStorage,
  ringStretches,
} from './row-storage.js';
import {
  allocate,
  type ColumnArray,
  type ColumnSet,
  checkSchema,
  copyRows,
  pickColumns,
  type Schema,
  viewRows,
  widthOf,
} from './schema.js';

const FIRST_ROWS = 1024;

export class MemoryRows implements RowStorage {
  readonly kind = 'memory';
  private insertedRows = 0;
  private allocatedRows: number;
  private store: Record<string, ColumnArray>;
  private readonly widths: ReadonlyMap<string, number>;
  private readonly listeners: ((index: number, count: number) => void)[] = [];

  /** Throws DATA_MISMATCH, SETTING_INVALID. */
  constructor(
    readonly schema: Schema,
    readonly capacity: number,
  ) {
    checkSchema(schema);
    checkCapacity('capacity', capacity);
    this.allocatedRows = Math.min(capacity, FIRST_ROWS);
    this.store = allocate(schema, this.allocatedRows);
    this.widths = new Map(Object.entries(schema).map(([name, spec]) => [name, widthOf(spec)]));
  }

  /** A ring of rows that are there already, by index: `columns` are taken over, not copied. */
  static of(schema: Schema, capacity: number, inserted: number, columns: ColumnSet): MemoryRows {
    const rows = new MemoryRows(schema, capacity);
    rows.insertedRows = inserted;
    if (rows.size > 0) {
      rows.store = { ...columns };
      rows.allocatedRows = rows.size;
    }
    return rows;
  }

  get size(): number {
    return Math.min(this.insertedRows, this.capacity);
  }

  get inserted(): number {
    return this.insertedRows;
  }

  append(columns: ColumnSet, rows: number, from = 0): void {
    this.reserve(Math.min(this.capacity, this.insertedRows + rows));
    for (const { index, done, count } of ringStretches(this.insertedRows, rows, this.capacity)) {
      copyRows(this.schema, columns, from + done, this.store, index, count);
      this.insertedRows += count;
      for (const listener of this.listeners) listener(index, count);
    }
  }

  gather(indices: RowIndices, into: ColumnSet, at = 0): void {
    checkIndices(indices, this.size);
    checkRoom(this.schema, into, at, indices.length);
    for (const name in into) {
      const source = this.store[name];
      const target = into[name];
      const width = this.widths.get(name)!;
      if (source instanceof Float32Array) gatherRows(source, width, indices, target as Float32Array, at);
      else if (width === 1 && source instanceof Uint8Array) gatherFlags(source, indices, target as Uint8Array, at);
      else gatherWide(source, width, indices, target, at);
    }
  }

  slice(first: number, rows: number, names?: readonly string[]): ColumnSet {
    const { store, schema } = this;
    const wanted = names ? pickColumns(schema, names) : schema;
    const columns = Object.fromEntries(Object.keys(wanted).map((name) => [name, store[name]]));
    // In a ring that went round, the oldest row lies behind the newest.
    const oldest = (this.insertedRows - this.size + first) % this.capacity;
    if (oldest + rows <= this.capacity) return viewRows(schema, columns, oldest, rows);
    const copy = allocate(wanted, rows);
    for (const { index, done, count } of ringStretches(oldest, rows, this.capacity))
      copyRows(schema, columns, index, copy, done, count);
    return copy;
  }

  content(names?: readonly string[]): ColumnSet {
    const { store, schema } = this;
    const wanted = names ? pickColumns(schema, names) : schema;
    const columns = Object.fromEntries(Object.keys(wanted).map((name) => [name, store[name]]));
    return viewRows(schema, columns, 0, this.size);
  }

  onAppend(listener: (index: number, count: number) => void): void {
    this.listeners.push(listener);
  }

  flush(): void {}

  close(): void {}

  private reserve(rows: number): void {
    if (rows <= this.allocatedRows) return;
    // Doubling: the copying of all growths together is less than one copy of the final ring.
    this.allocatedRows = Math.min(this.capacity, Math.max(rows, this.allocatedRows * 2));
    const grown = allocate(this.schema, this.allocatedRows);
    copyRows(this.schema, this.store, 0, grown, 0, this.size);
    this.store = grown;
  }
}
