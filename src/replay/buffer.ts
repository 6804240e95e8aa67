// Keeps transitions of one source: a ring of rows with the provenance of each. Where they lie is the storage's business, what
// is chosen from them a selector's, and how they are saved `snapshot-file.ts`'s.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { reverieError } from '../core/errors.js';
import { ensureFolder, type FileSystem, recoverFolder, replaceFolderAtomic, writeFileAtomic } from '../core/files.js';
import { allocateBatch, checkBatchFinite, checkBatchShape } from './batch.js';
import {
  copiedStore,
  headerOfStore,
  memoryOfFile,
  memoryOfStore,
  movedStore,
  noteOf,
  PIECE_ROWS,
} from './buffer-storage.js';
import {
  allocateColumns,
  COLUMN_NAMES,
  type ColumnName,
  type Columns,
  copyColumns,
  transitionSchema,
} from './columns.js';
import { DiskRows, STORE_FILE } from './disk-rows.js';
import { MemoryRows } from './memory-rows.js';
import { type Origin, OriginTable } from './origins.js';
import { checkProvenance, originOf, ProvenanceWriter, type RowProvenance } from './provenance.js';
import { checkCapacity, type RowIndices, type RowStorage, takeRows } from './row-storage.js';
import type { ColumnArray } from './schema.js';
import type { RowStore } from './selector.js';
import { encodeSnapshot, hashSnapshot, SNAPSHOT_FILE, type SnapshotHeader } from './snapshot-file.js';
import type { Provenance, Source, TransitionBatch } from './transition.js';

export interface ReplayBufferOptions {
  /** Rows kept at most; the oldest are overwritten. */
  readonly capacity: number;
  readonly obsDim: number;
  readonly actionDim: number;
  /** Rows of the other source are refused. */
  readonly source: Source;
  /** Where the rows lie on disk, in a folder of their own; in memory unless given. */
  readonly folder?: string;
}

export interface LoadOptions {
  /** The rows come into a ring of that size: oldest first, numbered anew from 0, and only the newest where not all fit. */
  readonly capacity?: number;
  /** Where a copy of the rows is to lie on disk, for rows that do not fit into memory. */
  readonly onDisk?: string;
}

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

  /** Throws SETTING_INVALID; with a folder also STORAGE_FULL, STORAGE_FAILED. */
  constructor({ capacity, obsDim, actionDim, source, folder }: ReplayBufferOptions) {
    checkCapacity('obsDim', obsDim);
    checkCapacity('actionDim', actionDim);
    this.capacity = capacity;
    this.obsDim = obsDim;
    this.actionDim = actionDim;
    this.source = source;
    const schema = transitionSchema(obsDim, actionDim);
    this.storage =
      folder === undefined ? new MemoryRows(schema, capacity) : DiskRows.create({ folder, schema, capacity });
    if (this.storage instanceof DiskRows) this.storage.note = noteOf(this.header());
  }

  /** Whether the rows lie on disk: then `columns` and `rows` read all of them, `pieces` and `take` do not. */
  get isOnDisk(): boolean {
    return this.storage.kind === 'disk';
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
   * Throws DATA_MISMATCH, NON_FINITE_VALUE or DATA_MISMATCH (also for rows of the other source).
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
   * Throws DATA_MISMATCH, and DATA_MISMATCH if `into` is too small.
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

  /** Copies of rows `indices`, of the columns `names` alone. Throws DATA_MISMATCH. */
  take<N extends ColumnName>(indices: RowIndices, names: readonly N[]): Pick<Columns, N> {
    return takeRows(this.storage, indices, names) as unknown as Pick<Columns, N>;
  }

  /** All rows held, in storage order, of the columns `names`: live views of memory, stale after the next append. */
  columns<N extends ColumnName = ColumnName>(names: readonly N[] = COLUMN_NAMES as readonly N[]): Pick<Columns, N> {
    return this.storage.content(names) as unknown as Pick<Columns, N>;
  }

  /** The same, some rows at a time: whole where they lie in memory. */
  *pieces<N extends ColumnName>(names: readonly N[]): Generator<Pick<Columns, N>> {
    if (!this.isOnDisk) {
      yield this.columns(names);
      return;
    }
    for (let from = 0; from < this.size; from += PIECE_ROWS) {
      const rows = Math.min(PIECE_ROWS, this.size - from);
      yield this.take(
        Uint32Array.from({ length: rows }, (_, i) => from + i),
        names,
      );
    }
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
   * Saves the content, durably and atomically. Of memory, as `transitions.bin` in `folder`; appending may go on meanwhile. Of
   * rows on disk, as a folder of chunks that are shared with the buffer's own and not copied. Throws STORAGE_FULL or
   * STORAGE_FAILED, leaving an earlier snapshot whole.
   */
  async save(folder: string, files?: FileSystem): Promise<void> {
    const { storage } = this;
    if (storage instanceof DiskRows) {
      await replaceFolderAtomic(folder, async (temporary) => storage.saveTo(temporary), files);
      return;
    }
    const columns = allocateColumns(this.size, this.obsDim, this.actionDim);
    copyColumns(this.columns(), columns, this.size);
    const content = { header: this.header(), columns: (name: ColumnName) => [columns[name]] };
    await ensureFolder(folder, files);
    await writeFileAtomic(join(folder, SNAPSHOT_FILE), encodeSnapshot(content), files);
  }

  /**
   * A saved buffer, whichever way it was saved. Throws FILE_INVALID, or CHECKPOINT_CORRUPT naming the file; with
   * `onDisk` also STORAGE_FULL, STORAGE_FAILED.
   */
  static async load(folder: string, { capacity, onDisk }: LoadOptions = {}): Promise<ReplayBuffer> {
    await recoverFolder(folder);
    const isStore = existsSync(join(folder, STORE_FILE));
    if (onDisk !== undefined) {
      const isWhole = isStore && capacity === undefined;
      return overStore(isWhole ? DiskRows.openCopy(folder, onDisk) : await copiedStore(folder, onDisk, capacity));
    }
    const { header, storage } = await (isStore ? memoryOfStore(folder) : memoryOfFile(folder));
    const buffer = ReplayBuffer.over(header, storage);
    return capacity === undefined ? buffer : buffer.inRingOf(capacity, capacity);
  }

  /**
   * A buffer of the same capacity that holds the newest `rows` rows alone, oldest first and numbered anew from 0. On disk it
   * takes the place of this one, whose own files are removed.
   */
  newest(rows: number): ReplayBuffer {
    const { storage, capacity } = this;
    return storage instanceof DiskRows ? overStore(movedStore(storage, rows)) : this.inRingOf(capacity, rows);
  }

  /** A buffer that was saved from disk, read where it is; nothing may be appended to it. Throws as `load` does. */
  static async openSaved(folder: string): Promise<ReplayBuffer> {
    await recoverFolder(folder);
    if (!existsSync(join(folder, STORE_FILE))) return ReplayBuffer.load(folder);
    return overStore(DiskRows.open(folder));
  }

  /** A buffer over rows that are there already. */
  static over(header: Omit<SnapshotHeader, 'inserted'>, storage: RowStorage): ReplayBuffer {
    const buffer = new ReplayBuffer({ ...header, capacity: 1 });
    Object.assign(buffer, { capacity: header.capacity, storage });
    const column = storage.kind === 'disk' ? new Uint32Array(0) : buffer.columns(['origin']).origin;
    buffer.origins = OriginTable.from(header.origins, column);
    return buffer;
  }

  /** SHA-256 of the content (rows, provenance, ring position), in hexadecimal; equal buffers have equal hashes. */
  hash(): string {
    const columns = (name: ColumnName) => piecesOf(this, name);
    return hashSnapshot({ header: this.header(), columns });
  }

  /** Lets go of the files of rows on disk; what was saved stays. */
  close(): void {
    this.storage.close();
  }

  private inRingOf(capacity: number, most: number): ReplayBuffer {
    const { source, obsDim, actionDim } = this;
    const rows = Math.min(this.size, capacity, most);
    const storage = new MemoryRows(this.storage.schema, capacity);
    storage.append({ ...this.lived(this.size - rows, rows) }, rows);
    return ReplayBuffer.over({ source, obsDim, actionDim, capacity, origins: [...this.origins.list()] }, storage);
  }

  private header(): SnapshotHeader {
    const { source, capacity, obsDim, actionDim, inserted } = this;
    return { source, capacity, obsDim, actionDim, inserted, origins: [...this.origins.list()] };
  }

  /** Number of the origin of `rows` rows to come; those of the rows that they overwrite are let go. */
  private internOrigin(origin: Origin, rows: number): number {
    const { origins, size, capacity, storage } = this;
    if (storage instanceof DiskRows) {
      // What is written stays as it is: origins of rows that left keep their numbers, some hundred bytes each.
      const known = origins.list().length;
      const id = origins.intern(origin);
      if (id === known) storage.note = noteOf(this.header());
      return id;
    }
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
    throw reverieError('DATA_MISMATCH', {
      problem: `Batch column "rows" has ${into.rows} values where ${rows} are needed.`,
      hint: `Columns are row-major [rows, dim]; check rows (${into.rows}) and the dimensions of the buffer.`,
    });
  }

  private checkRow(index: number): void {
    if (Number.isInteger(index) && index >= 0 && index < this.size) return;
    throw reverieError('DATA_MISMATCH', {
      problem: `Row ${index} does not exist: the buffer holds ${this.size} rows.`,
      hint: 'Rows are numbered 0 to size - 1; a selector of the same buffer never answers others.',
    });
  }
}

function* piecesOf(buffer: ReplayBuffer, name: ColumnName): Generator<ColumnArray> {
  for (const piece of buffer.pieces([name])) yield piece[name];
}

/** Throws CHECKPOINT_CORRUPT for rows that are no transitions. */
function overStore(storage: DiskRows): ReplayBuffer {
  return ReplayBuffer.over(headerOfStore(storage), storage);
}
