// Keeps transitions of one source as a structure of arrays: a ring with the provenance of every row. What is chosen
// from it is a selector's business; how it reaches the disk is `snapshot-file.ts`'s.

import { join } from 'node:path';
import { reverieError } from '../core/errors.js';
import { ensureFolder, type FileSystem, writeFileAtomic } from '../store/atomic-file.js';
import { allocateBatch, checkBatchFinite, checkBatchShape } from './batch.js';
import { allocateColumns, type Columns, copyColumns, viewColumns } from './columns.js';
import { gatherFlags, gatherRows } from './gather.js';
import { type Origin, OriginTable } from './origins.js';
import { checkProvenance, originOf, type RowProvenance, writeProvenance } from './provenance.js';
import type { RowStore } from './selector.js';
import { encodeSnapshot, hashSnapshot, readSnapshot, type Snapshot } from './snapshot-file.js';
import type { Provenance, Source, TransitionBatch } from './transition.js';

export interface ReplayBufferOptions {
  /** Rows kept at most; the oldest are overwritten. */
  readonly capacity: number;
  readonly obsDim: number;
  readonly actionDim: number;
  /** Rows of the other source are refused. */
  readonly source: Source;
}

const FIRST_ROWS = 1024;
/** The one file a saved buffer is, in its folder. */
export const SNAPSHOT_FILE = 'transitions.bin';

export class ReplayBuffer implements RowStore {
  readonly capacity: number;
  readonly obsDim: number;
  readonly actionDim: number;
  readonly source: Source;
  private insertedRows = 0;
  private allocatedRows: number;
  private store: Columns;
  private origins = new OriginTable();
  private readonly listeners: ((index: number, count: number) => void)[] = [];

  constructor({ capacity, obsDim, actionDim, source }: ReplayBufferOptions) {
    checkDimension('capacity', capacity);
    checkDimension('obsDim', obsDim);
    checkDimension('actionDim', actionDim);
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

  /** Row id of the row at an index; ids survive saving and loading. */
  rowId(index: number): number {
    this.checkRow(index);
    const newest = this.insertedRows - 1;
    return newest - ((((newest - index) % this.capacity) + this.capacity) % this.capacity);
  }

  /**
   * Copies a batch in; all of it or nothing. Dimensions are those of the buffer.
   * Throws BATCH_MISMATCH, NON_FINITE_VALUE or PROVENANCE_INVALID (also for rows of the other source).
   */
  append(batch: TransitionBatch, provenance: Provenance): void {
    checkBatchShape(batch, this.obsDim, this.actionDim);
    checkProvenance(provenance, this.source, batch.rows);
    checkBatchFinite(batch);
    this.reserve(Math.min(this.capacity, this.insertedRows + batch.rows));
    this.origins.compact(this.store.origin.subarray(0, this.size));
    const origin = this.origins.intern(originOf(provenance));
    for (let from = 0; from < batch.rows; ) {
      const index = this.insertedRows % this.capacity;
      const count = Math.min(this.capacity - index, batch.rows - from);
      this.writeOrigin(index, count, origin);
      this.writeRows(index, batch, from, count);
      writeProvenance(this.store, index, provenance, from, count);
      this.insertedRows += count;
      from += count;
      for (const listener of this.listeners) listener(index, count);
    }
  }

  /**
   * Copies rows `indices` to rows `at` … of `into` (a new batch if absent), in order.
   * Throws ROW_OUT_OF_RANGE, and BATCH_MISMATCH if `into` is too small.
   */
  gather(
    indices: Uint32Array | Int32Array,
    into: TransitionBatch = allocateBatch(indices.length, this.obsDim, this.actionDim),
    at = 0,
  ): TransitionBatch {
    this.checkGather(indices, into, at);
    const { store, obsDim, actionDim } = this;
    gatherRows(store.obs, obsDim, indices, into.obs, at);
    gatherRows(store.action, actionDim, indices, into.action, at);
    gatherRows(store.reward, 1, indices, into.reward, at);
    gatherFlags(store.terminated, indices, into.terminated, at);
    gatherFlags(store.truncated, indices, into.truncated, at);
    gatherRows(store.nextObs, obsDim, indices, into.nextObs, at);
    return into;
  }

  /** Live views of the rows held, in storage order; stale after the next append. */
  columns(): Columns {
    return viewColumns(this.store, this.size, this.obsDim, this.actionDim);
  }

  /** Rows [from, from + rows) oldest first: live views where they lie together, else copies. */
  lived(from: number, rows: number): Columns {
    const { store, obsDim, actionDim } = this;
    // In a ring that went round, the oldest row lies behind the newest.
    const first = (this.insertedRows - this.size + from) % this.capacity;
    const count = Math.min(this.capacity - first, rows);
    if (count === rows) return viewColumns(store, rows, obsDim, actionDim, first);
    const copy = allocateColumns(rows, obsDim, actionDim);
    copyColumns(viewColumns(store, count, obsDim, actionDim, first), copy);
    const rest = viewColumns(copy, rows - count, obsDim, actionDim, count);
    copyColumns(viewColumns(store, rows - count, obsDim, actionDim), rest);
    return copy;
  }

  /** The rows held as a batch of live views, in storage order; stale after the next append. */
  rows(): TransitionBatch {
    const { obs, action, reward, terminated, truncated, nextObs } = this.columns();
    return { rows: this.size, obs, action, reward, terminated, truncated, nextObs };
  }

  provenanceAt(index: number): RowProvenance {
    const rowId = this.rowId(index);
    const { store } = this;
    return {
      ...this.origins.at(store.origin[index]),
      rowId,
      source: this.source,
      episode: store.episode[index],
      step: store.step[index],
      group: store.group[index],
      parent: store.parent[index],
      logProb: store.logProb[index],
      confidence: store.confidence[index],
      stateHash: store.stateHash[index],
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
   * Saves the content at the time of the call, durably and atomically, as `transitions.bin` in `folder`; appending may
   * go on meanwhile. Throws STORAGE_FULL or STORAGE_FAILED, leaving an earlier snapshot whole.
   */
  async save(folder: string, files?: FileSystem): Promise<void> {
    const { header, columns } = this.image();
    const copy = allocateColumns(this.size, this.obsDim, this.actionDim);
    copyColumns(columns, copy);
    await ensureFolder(folder, files);
    await writeFileAtomic(join(folder, SNAPSHOT_FILE), encodeSnapshot({ header, columns: copy }), files);
  }

  /**
   * A saved buffer; with a `capacity`, its rows in a ring of that size instead: oldest first, numbered anew from 0, and
   * only the newest where not all fit. Throws CHECKPOINT_NOT_FOUND, or CHECKPOINT_CORRUPT naming the file.
   */
  static async load(folder: string, { capacity }: { readonly capacity?: number } = {}): Promise<ReplayBuffer> {
    const { header, columns } = await readSnapshot(join(folder, SNAPSHOT_FILE));
    const buffer = new ReplayBuffer(header);
    buffer.insertedRows = header.inserted;
    buffer.origins = OriginTable.from(header.origins, columns.origin);
    if (buffer.size > 0) {
      buffer.store = columns;
      buffer.allocatedRows = buffer.size;
    }
    return capacity === undefined ? buffer : buffer.inRingOf(capacity);
  }

  /** SHA-256 of the content (rows, provenance, ring position), in hexadecimal; equal buffers have equal files. */
  hash(): string {
    return hashSnapshot(this.image());
  }

  private inRingOf(capacity: number): ReplayBuffer {
    const { source, obsDim, actionDim } = this;
    const other = new ReplayBuffer({ capacity, obsDim, actionDim, source });
    const rows = Math.min(this.size, capacity);
    other.reserve(rows);
    copyColumns(this.lived(this.size - rows, rows), other.store);
    other.insertedRows = rows;
    other.origins = OriginTable.from(this.origins.list(), other.columns().origin);
    return other;
  }

  private image(): Snapshot {
    const { source, capacity, obsDim, actionDim, inserted } = this;
    const header = { source, capacity, obsDim, actionDim, inserted, origins: [...this.origins.list()] };
    return { header, columns: this.columns() };
  }

  private reserve(rows: number): void {
    if (rows <= this.allocatedRows) return;
    // Doubling: the copying of all growths together is less than one copy of the final buffer.
    this.allocatedRows = Math.min(this.capacity, Math.max(rows, this.allocatedRows * 2));
    const grown = allocateColumns(this.allocatedRows, this.obsDim, this.actionDim);
    copyColumns(viewColumns(this.store, this.size, this.obsDim, this.actionDim), grown);
    this.store = grown;
  }

  private writeOrigin(index: number, count: number, origin: number): void {
    const column = this.store.origin;
    const overwritten = Math.min(count, Math.max(0, this.size - index));
    for (let i = index; i < index + overwritten; i++) this.origins.release(column[i]);
    column.fill(origin, index, index + count);
    this.origins.retain(origin, count);
  }

  private writeRows(index: number, batch: TransitionBatch, from: number, count: number): void {
    const { store, obsDim, actionDim } = this;
    const end = from + count;
    store.obs.set(batch.obs.subarray(from * obsDim, end * obsDim), index * obsDim);
    store.action.set(batch.action.subarray(from * actionDim, end * actionDim), index * actionDim);
    store.reward.set(batch.reward.subarray(from, end), index);
    store.terminated.set(batch.terminated.subarray(from, end), index);
    store.truncated.set(batch.truncated.subarray(from, end), index);
    store.nextObs.set(batch.nextObs.subarray(from * obsDim, end * obsDim), index * obsDim);
  }

  private checkGather(indices: Uint32Array | Int32Array, into: TransitionBatch, at: number): void {
    const { size } = this;
    for (let i = 0; i < indices.length; i++) {
      // The unsigned view of a negative index is larger than any size.
      if (indices[i] >>> 0 >= size) throw reverieError('ROW_OUT_OF_RANGE', { row: indices[i], size });
    }
    checkBatchShape(into, this.obsDim, this.actionDim);
    if (at + indices.length > into.rows) {
      throw reverieError('BATCH_MISMATCH', {
        column: 'rows',
        got: into.rows,
        want: at + indices.length,
        rows: into.rows,
      });
    }
  }

  private checkRow(index: number): void {
    if (Number.isInteger(index) && index >= 0 && index < this.size) return;
    throw reverieError('ROW_OUT_OF_RANGE', { row: index, size: this.size });
  }
}

function checkDimension(option: string, value: number): void {
  if (Number.isSafeInteger(value) && value >= 1 && value < 2 ** 32) return;
  throw reverieError('REPLAY_OPTION_INVALID', { option, value, want: 'an integer from 1 to 4294967295' });
}
