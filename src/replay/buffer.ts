// Keeps transitions of one source: a ring of rows with the provenance of each. What is chosen from them is a selector's business, how
// they are saved that of `snapshot.ts`.

import { join } from 'node:path';
import { ensureFolder, type FileSystem, writeFileAtomic } from '../core/files.js';
import {
  allocateBatch,
  allocateColumns,
  type ColumnName,
  type Columns,
  checkBatchFinite,
  checkBatchShape,
  checkIndices,
  columnMismatch,
  columnWidth,
  copyColumns,
  gatherRows,
  noSuchRow,
  type RowIndices,
  ringStretches,
  viewColumns,
} from './columns.js';
import {
  checkProvenance,
  type Origin,
  OriginTable,
  originOf,
  ProvenanceWriter,
  type RowProvenance,
} from './provenance.js';
import { optionInvalid, type RowStore } from './selectors.js';
import { encodeSnapshot, hashSnapshot, readSnapshot, SNAPSHOT_FILE, type SnapshotHeader } from './snapshot.js';
import type { Provenance, Source, TransitionBatch } from './transition.js';

interface ReplayBufferOptions {
  /** Rows kept at most; the oldest are overwritten. */
  readonly capacity: number;
  readonly obsDim: number;
  readonly actionDim: number;
  /** Rows of the other source are refused. */
  readonly source: Source;
}

const FIRST_ROWS = 1024;

export class ReplayBuffer implements RowStore {
  readonly capacity: number;
  readonly obsDim: number;
  readonly actionDim: number;
  readonly source: Source;
  private insertedRows = 0;
  private allocatedRows: number;
  private store: Columns;
  private origins = new OriginTable();
  private readonly writer = new ProvenanceWriter();
  private readonly listeners: ((index: number, count: number) => void)[] = [];

  /** Throws SETTING_INVALID. */
  constructor({ capacity, obsDim, actionDim, source }: ReplayBufferOptions) {
    for (const [option, value] of Object.entries({ capacity, obsDim, actionDim })) {
      if (Number.isSafeInteger(value) && value >= 1 && value < 2 ** 32) continue;
      throw optionInvalid(option, value, 'an integer from 1 to 4294967295');
    }
    this.capacity = capacity;
    this.obsDim = obsDim;
    this.actionDim = actionDim;
    this.source = source;
    this.allocatedRows = Math.min(capacity, FIRST_ROWS);
    this.store = allocateColumns(this.allocatedRows, obsDim, actionDim);
  }

  /** Rows held now. */
  get size(): number {
    return Math.min(this.insertedRows, this.capacity);
  }

  /** Rows ever inserted. A row's id is its insertion number (from 0); row id r lies at index r % capacity. */
  get inserted(): number {
    return this.insertedRows;
  }

  /** Row id of the row at an index; ids survive saving and loading. Throws DATA_MISMATCH. */
  rowId(index: number): number {
    if (!Number.isInteger(index)) throw noSuchRow(index, this.size);
    checkIndices(Int32Array.of(index), this.size);
    const newest = this.inserted - 1;
    return newest - ((((newest - index) % this.capacity) + this.capacity) % this.capacity);
  }

  /**
   * Copies a batch in; all of it or nothing. Dimensions are those of the buffer.
   * Throws DATA_MISMATCH (also for rows of the other source) or NON_FINITE_VALUE.
   */
  append(batch: TransitionBatch, provenance: Provenance): void {
    checkBatchShape(batch, this.obsDim, this.actionDim);
    checkProvenance(provenance, this.source, batch.rows);
    checkBatchFinite(batch);
    const { rows, ...transitions } = batch;
    const origin = this.origins.intern(originOf(provenance));
    this.insert({ ...transitions, ...this.writer.columns(provenance, rows, origin) }, rows);
  }

  /**
   * Copies rows `indices` to rows `at` … of `into` (a new batch if absent), in order.
   * Throws DATA_MISMATCH for a row that is not held, or if `into` is too small.
   */
  gather(
    indices: RowIndices,
    into: TransitionBatch = allocateBatch(indices.length, this.obsDim, this.actionDim),
    at = 0,
  ): TransitionBatch {
    checkBatchShape(into, this.obsDim, this.actionDim);
    const rows = at + indices.length;
    if (rows > into.rows) throw columnMismatch('rows', into.rows, rows, into.rows);
    const { rows: _, ...columns } = into;
    this.gatherInto(indices, columns, at);
    return into;
  }

  /** Copies of rows `indices`, of the columns `names` alone. Throws DATA_MISMATCH. */
  take<N extends ColumnName>(indices: RowIndices, names: readonly N[]): Pick<Columns, N> {
    const columns = allocateColumns(indices.length, this.obsDim, this.actionDim, names);
    this.gatherInto(indices, columns, 0);
    return columns;
  }

  /** All rows held, in storage order: live views, stale after the next append. */
  columns(): Columns {
    return viewColumns(this.store, this.size, this.obsDim, this.actionDim);
  }

  /** Rows [from, from + rows) oldest first: live views where they lie together, else copies. */
  slice(from: number, rows: number): Columns {
    const { store, obsDim, actionDim, capacity } = this;
    // In a ring that went round, the oldest row lies behind the newest.
    const oldest = (this.inserted - this.size + from) % capacity;
    if (oldest + rows <= capacity) return viewColumns(store, rows, obsDim, actionDim, oldest);
    const copy = allocateColumns(rows, obsDim, actionDim);
    for (const { index, done, count } of ringStretches(oldest, rows, capacity))
      copyColumns(store, index, copy, done, count, obsDim, actionDim);
    return copy;
  }

  /** The rows held as a batch of live views, in storage order; stale after the next append. */
  rows(): TransitionBatch {
    const { obs, action, reward, terminated, truncated, nextObs } = this.columns();
    return { rows: this.size, obs, action, reward, terminated, truncated, nextObs };
  }

  /** Throws DATA_MISMATCH. */
  provenanceAt(index: number): RowProvenance {
    const rowId = this.rowId(index);
    const { origin, episode, step, group, parent, logProb, confidence, stateHash } = this.store;
    return {
      ...this.origins.at(origin[index]),
      ...{ rowId, source: this.source, episode: episode[index], step: step[index], group: group[index] },
      ...{ parent: parent[index], logProb: logProb[index], confidence: confidence[index] },
      stateHash: stateHash[index],
    };
  }

  /** The origins that column `origin` refers to by number; some may have no rows left. */
  originList(): readonly Origin[] {
    return this.origins.list();
  }

  onAppend(listener: (index: number, count: number) => void): void {
    this.listeners.push(listener);
  }

  /**
   * Saves the content as `transitions.bin` in `folder`, durably and atomically; appending may go on meanwhile.
   * Throws STORAGE_FULL or STORAGE_FAILED, leaving an earlier snapshot whole.
   */
  async save(folder: string, files?: FileSystem): Promise<void> {
    const { size, obsDim, actionDim } = this;
    const columns = allocateColumns(size, obsDim, actionDim);
    copyColumns(this.store, 0, columns, 0, size, obsDim, actionDim);
    const header = this.header();
    await ensureFolder(folder, files);
    await writeFileAtomic(join(folder, SNAPSHOT_FILE), encodeSnapshot({ header, columns }), files);
  }

  /**
   * A saved buffer; with `capacity` in a ring of that size: oldest first, numbered anew from 0, and only the newest rows where not
   * all fit. Throws FILE_INVALID, or CHECKPOINT_CORRUPT naming the file.
   */
  static async load(folder: string, { capacity }: { readonly capacity?: number } = {}): Promise<ReplayBuffer> {
    const { header, columns } = await readSnapshot(join(folder, SNAPSHOT_FILE));
    const buffer = new ReplayBuffer({ ...header, capacity: 1 });
    Object.assign(buffer, { capacity: header.capacity, insertedRows: header.inserted });
    if (buffer.size > 0) Object.assign(buffer, { store: columns, allocatedRows: buffer.size });
    buffer.origins = new OriginTable([...header.origins]);
    return capacity === undefined ? buffer : buffer.newest(capacity, capacity);
  }

  /** A buffer that holds the newest `rows` rows alone, as far as `capacity` has room, oldest first and numbered anew from 0. */
  newest(rows: number, capacity = this.capacity): ReplayBuffer {
    const { source, obsDim, actionDim } = this;
    const kept = Math.min(this.size, capacity, rows);
    const buffer = new ReplayBuffer({ source, obsDim, actionDim, capacity });
    buffer.insert(this.slice(this.size - kept, kept), kept);
    buffer.origins = new OriginTable([...this.origins.list()]);
    return buffer;
  }

  /** SHA-256 of the content (rows, provenance, ring position), in hexadecimal; equal buffers have equal hashes. */
  hash(): string {
    return hashSnapshot({ header: this.header(), columns: this.columns() });
  }

  private header(): SnapshotHeader {
    const { source, capacity, obsDim, actionDim, inserted } = this;
    return { source, capacity, obsDim, actionDim, inserted, origins: [...this.origins.list()] };
  }

  private insert(columns: Columns, rows: number): void {
    this.reserve(Math.min(this.capacity, this.insertedRows + rows));
    for (const { index, done, count } of ringStretches(this.insertedRows, rows, this.capacity)) {
      copyColumns(columns, done, this.store, index, count, this.obsDim, this.actionDim);
      this.insertedRows += count;
      for (const listener of this.listeners) listener(index, count);
    }
  }

  private gatherInto(indices: RowIndices, into: Partial<Columns>, at: number): void {
    checkIndices(indices, this.size);
    for (const name of Object.keys(into) as ColumnName[]) {
      gatherRows(this.store[name], columnWidth(name, this.obsDim, this.actionDim), indices, into[name]!, at);
    }
  }

  private reserve(rows: number): void {
    if (rows <= this.allocatedRows) return;
    // Doubling: the copying of all growths together is less than one copy of the final ring.
    const { store, size, obsDim, actionDim } = this;
    this.allocatedRows = Math.min(this.capacity, Math.max(rows, this.allocatedRows * 2));
    this.store = allocateColumns(this.allocatedRows, obsDim, actionDim);
    copyColumns(store, 0, this.store, 0, size, obsDim, actionDim);
  }
}
