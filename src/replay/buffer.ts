// Keeps transitions of one source: a ring of rows with the provenance of each. Where they lie is the storage's business, what
// is chosen from them a selector's, and how they are saved `snapshot-file.ts`'s.

import { join } from 'node:path';
import { reverieError } from '../core/errors.js';
import { ensureFolder, type FileSystem, writeFileAtomic } from '../store/atomic-file.js';
import { allocateBatch, checkBatchFinite, checkBatchShape } from './batch.js';
import {
  allocateColumns,
  COLUMN_NAMES,
  type ColumnName,
  type Columns,
  copyColumns,
  transitionSchema,
} from './columns.js';
import { MemoryRows } from './memory-rows.js';
import { type Origin, OriginTable } from './origins.js';
import { checkProvenance, originOf, ProvenanceWriter, type RowProvenance } from './provenance.js';
import { checkCapacity, type RowIndices, type RowStorage, takeRows } from './row-storage.js';
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

/** The one file a saved buffer is, in its folder. */
export const SNAPSHOT_FILE = 'transitions.bin';

/** What is learned from, of a row. */
const LIVED = ['obs', 'action', 'reward', 'terminated', 'truncated', 'nextObs'] as const;

export class ReplayBuffer implements RowStore {
  readonly capacity: number;
  readonly obsDim: number;
  readonly actionDim: number;
  readonly source: Source;
  private storage: RowStorage;
  private origins = new OriginTable();
  private readonly writer = new ProvenanceWriter();

  constructor({ capacity, obsDim, actionDim, source }: ReplayBufferOptions) {
    checkCapacity('obsDim', obsDim);
    checkCapacity('actionDim', actionDim);
    this.capacity = capacity;
    this.obsDim = obsDim;
    this.actionDim = actionDim;
    this.source = source;
    this.storage = new MemoryRows(transitionSchema(obsDim, actionDim), capacity);
  }

  /** Rows held now. */
  get size(): number {
    return this.storage.size;
  }

  /** Rows ever inserted. A row's id is its insertion number (from 0); row id r lies at index r % capacity. */
  get inserted(): number {
    return this.storage.inserted;
  }

  /** Row id of the row at an index; ids survive saving and loading. */
  rowId(index: number): number {
    this.checkRow(index);
    const newest = this.inserted - 1;
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
    const origin = this.internOrigin(originOf(provenance), batch.rows);
    const { rows, ...lived } = batch;
    this.storage.append({ ...lived, ...this.writer.columns(provenance, rows, origin) }, rows);
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
    const { obs, action, reward, terminated, truncated, nextObs } = into;
    this.checkInto(into, at + indices.length);
    this.storage.gather(indices, { obs, action, reward, terminated, truncated, nextObs }, at);
    return into;
  }

  /** Copies of rows `indices`, of the columns `names` alone. Throws ROW_OUT_OF_RANGE. */
  take<N extends ColumnName>(indices: RowIndices, names: readonly N[]): Pick<Columns, N> {
    return takeRows(this.storage, indices, names) as unknown as Pick<Columns, N>;
  }

  /** All rows held, in storage order, of the columns `names`: live views, stale after the next append. */
  columns<N extends ColumnName = ColumnName>(names: readonly N[] = COLUMN_NAMES as readonly N[]): Pick<Columns, N> {
    return this.storage.content(names) as unknown as Pick<Columns, N>;
  }

  /** Rows [from, from + rows) oldest first: live views where they lie together, else copies. */
  lived<N extends ColumnName = ColumnName>(
    from: number,
    rows: number,
    names: readonly N[] = COLUMN_NAMES as readonly N[],
  ): Pick<Columns, N> {
    return this.storage.slice(from, rows, names) as unknown as Pick<Columns, N>;
  }

  /** The rows held as a batch of live views, in storage order; stale after the next append. */
  rows(): TransitionBatch {
    const { obs, action, reward, terminated, truncated, nextObs } = this.columns(LIVED);
    return { rows: this.size, obs, action, reward, terminated, truncated, nextObs };
  }

  provenanceAt(index: number): RowProvenance {
    const rowId = this.rowId(index);
    const { origin, episode, step, group, parent, logProb, confidence, stateHash } = this.take(
      Uint32Array.of(index),
      COLUMN_NAMES,
    );
    return {
      ...this.origins.at(origin[0]),
      rowId,
      source: this.source,
      episode: episode[0],
      step: step[0],
      group: group[0],
      parent: parent[0],
      logProb: logProb[0],
      confidence: confidence[0],
      stateHash: stateHash[0],
    };
  }

  /** The origins that column `origin` refers to by number; some may have no rows left. */
  originList(): readonly Origin[] {
    return this.origins.list();
  }

  onAppend(listener: (index: number, count: number) => void): void {
    this.storage.onAppend(listener);
  }

  /**
   * Saves the content at the time of the call, durably and atomically, as `transitions.bin` in `folder`; appending may
   * go on meanwhile. Throws STORAGE_FULL or STORAGE_FAILED, leaving an earlier snapshot whole.
   */
  async save(folder: string, files?: FileSystem): Promise<void> {
    const { header, columns } = this.image();
    const copy = allocateColumns(this.size, this.obsDim, this.actionDim);
    copyColumns(columns, copy, this.size);
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
    buffer.origins = OriginTable.from(header.origins, columns.origin);
    buffer.storage = MemoryRows.of(buffer.storage.schema, header.capacity, header.inserted, { ...columns });
    return capacity === undefined ? buffer : buffer.inRingOf(capacity, capacity);
  }

  /** A buffer of the same capacity that holds the newest `rows` rows alone, oldest first and numbered anew from 0. */
  newest(rows: number): ReplayBuffer {
    return this.inRingOf(this.capacity, rows);
  }

  /** SHA-256 of the content (rows, provenance, ring position), in hexadecimal; equal buffers have equal files. */
  hash(): string {
    return hashSnapshot(this.image());
  }

  private inRingOf(capacity: number, most: number): ReplayBuffer {
    const { source, obsDim, actionDim } = this;
    const other = new ReplayBuffer({ capacity, obsDim, actionDim, source });
    const rows = Math.min(this.size, capacity, most);
    other.storage.append({ ...this.lived(this.size - rows, rows) }, rows);
    other.origins = OriginTable.from(this.origins.list(), other.columns(['origin']).origin);
    return other;
  }

  private image(): Snapshot {
    const { source, capacity, obsDim, actionDim, inserted } = this;
    const header = { source, capacity, obsDim, actionDim, inserted, origins: [...this.origins.list()] };
    return { header, columns: this.columns() };
  }

  /** Number of the origin of `rows` rows to come; those of the rows that they overwrite are let go. */
  private internOrigin(origin: Origin, rows: number): number {
    const { origins, size, capacity } = this;
    const { origin: column } = this.columns(['origin']);
    origins.compact(column);
    const id = origins.intern(origin);
    const overwritten = Math.min(size, Math.max(0, size + rows - capacity));
    for (let i = 0; i < overwritten; i++) origins.release(column[(this.inserted - size + i) % capacity]);
    origins.retain(id, Math.min(rows, capacity));
    return id;
  }

  private checkInto(into: TransitionBatch, rows: number): void {
    checkBatchShape(into, this.obsDim, this.actionDim);
    if (rows <= into.rows) return;
    throw reverieError('BATCH_MISMATCH', { column: 'rows', got: into.rows, want: rows, rows: into.rows });
  }

  private checkRow(index: number): void {
    if (Number.isInteger(index) && index >= 0 && index < this.size) return;
    throw reverieError('ROW_OUT_OF_RANGE', { row: index, size: this.size });
  }
}
