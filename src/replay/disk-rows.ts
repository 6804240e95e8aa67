// Rows on disk: records of a fixed size in files that only grow, a file a chunk, for what is larger than memory. Memory holds
// the records not yet written and a few open files. A chunk that is full is never written again: saving links it.
//
//   store.json           schema, capacity, rows a chunk, rows that are durable, and what the owner wants kept; sealed
//   rows-00000000.bin    rows 0 … chunkRows - 1, and so on; a chunk whose last row has left the ring is deleted
//
// After a kill at any moment the folder holds the rows of the last `flush`, and each record says whether it is whole.

import * as nodeFiles from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { Json } from '../core/canonical-json.js';
import { describeIssues, ReverieError, reverieError } from '../core/errors.js';
import { openSealed, sealedText } from '../core/files.js';
import { ChunkFiles, type SyncFileSystem } from './chunk-files.js';
import { RowRecords } from './row-record.js';
import {
  checkCapacity,
  checkIndices,
  checkRoom,
  type RowIndices,
  type RowStorage,
  ringStretches,
} from './row-storage.js';
import { allocate, type ColumnSet, checkSchema, pickColumns, type Schema, schemaSchema } from './schema.js';

export interface DiskRowsOptions {
  readonly folder: string;
  readonly schema: Schema;
  readonly capacity: number;
  /** Rows a file; about 64 MiB of them unless given. */
  readonly chunkRows?: number;
  /** Number of the first row that will be inserted; 0 unless given. */
  readonly firstId?: number;
  readonly files?: SyncFileSystem;
}

export const STORE_FILE = 'store.json';
const HEADER_FILES = [STORE_FILE, `${STORE_FILE}.tmp`];
const CHUNK_BYTES = 64 << 20;
const PENDING_BYTES = 1 << 20;
/** Rows read at once. */
const BLOCK_BYTES = 1 << 20;
const count = z.int().min(0);
const storeSchema = z.strictObject({
  format: z.literal('reverie-rows'),
  formatVersion: z.literal(1),
  schema: schemaSchema,
  capacity: z.int().min(1),
  chunkRows: z.int().min(1),
  inserted: count,
  note: z.json(),
});
type StoreHeader = z.output<typeof storeSchema>;
type StoreFile = Omit<StoreHeader, 'note' | 'schema'> & { readonly note: Json; readonly schema: Schema };

export class DiskRows implements RowStorage {
  readonly kind = 'disk';
  readonly folder: string;
  readonly schema: Schema;
  readonly capacity: number;
  readonly chunkRows: number;
  /** What the owner keeps beside the rows; made durable with them by `flush`. */
  note: Json = null;
  private insertedRows = 0;
  /** Rows that are in files; the others, from there to `inserted`, are in `pending`. */
  private written = 0;
  /** First chunk that may still have a file. */
  private oldestChunk = 0;
  private readonly records: RowRecords;
  private readonly pending: Uint8Array<ArrayBuffer>;
  private readonly block: Uint8Array<ArrayBuffer>;
  private readonly chunks: ChunkFiles;
  private readonly files: SyncFileSystem;
  private readonly listeners: ((index: number, count: number) => void)[] = [];

  private constructor({ folder, schema, capacity, chunkRows, files = nodeFiles }: DiskRowsOptions) {
    checkSchema(schema);
    checkCapacity('capacity', capacity);
    this.folder = folder;
    this.schema = schema;
    this.capacity = capacity;
    this.files = files;
    this.records = new RowRecords(schema);
    this.chunkRows = chunkRows ?? Math.max(1, Math.floor(CHUNK_BYTES / this.records.bytes));
    this.chunks = new ChunkFiles(folder, this.records.bytes, this.chunkRows, files);
    this.pending = this.records.allocate(this.rowsIn(PENDING_BYTES));
    this.block = this.records.allocate(this.rowsIn(BLOCK_BYTES));
  }

  /** An empty store; one that was in the folder is removed. Throws STORAGE_FULL, STORAGE_FAILED. */
  static create(options: DiskRowsOptions): DiskRows {
    const store = new DiskRows(options);
    store.chunks.attempt(store.folder, () => store.chunks.clear(store.folder, HEADER_FILES));
    store.startAt(options.firstId ?? 0);
    store.flush();
    return store;
  }

  /**
   * A store as its last `flush` left it. Rows are checked as they are read.
   * Throws FILE_INVALID, or CHECKPOINT_CORRUPT naming the file.
   */
  static open(folder: string, files: SyncFileSystem = nodeFiles): DiskRows {
    const { note, inserted, schema, capacity, chunkRows } = readHeader(folder);
    const store = new DiskRows({ folder, schema, capacity, chunkRows, files });
    store.note = note as Json;
    store.startAt(inserted);
    return store;
  }

  /** As `open`, of a copy in `folder`, which it may write to: full chunks are shared with the original, not copied. */
  static openCopy(from: string, folder: string, files: SyncFileSystem = nodeFiles): DiskRows {
    const original = DiskRows.open(from, files);
    try {
      original.chunks.attempt(folder, () => original.chunks.clear(folder, HEADER_FILES));
      original.copyTo(folder);
    } finally {
      original.close();
    }
    return DiskRows.open(folder, files);
  }

  get size(): number {
    return Math.min(this.insertedRows, this.capacity);
  }

  get inserted(): number {
    return this.insertedRows;
  }

  append(columns: ColumnSet, rows: number, from = 0): void {
    const before = this.insertedRows;
    // Chunks that nobody needs any more are deleted once a header says so: disk space is that of the ring.
    if (this.oldestChunk < this.chunks.chunkOf(before - this.size)) this.flush();
    try {
      for (let done = 0; done < rows; ) {
        const room = this.pending.length / this.records.bytes;
        const held = this.insertedRows - this.written;
        if (held === room) {
          this.writePending();
          continue;
        }
        const many = Math.min(room - held, rows - done);
        this.records.encode(columns, from + done, many, this.insertedRows, this.pending, held);
        this.insertedRows += many;
        done += many;
      }
    } catch (error) {
      this.insertedRows = before;
      this.written = Math.min(this.written, before);
      throw error;
    }
    for (const { index, count: many } of ringStretches(before, rows, this.capacity))
      for (const listener of this.listeners) listener(index, many);
  }

  gather(indices: RowIndices, into: ColumnSet, at = 0): void {
    checkIndices(indices, this.size);
    checkRoom(this.schema, into, at, indices.length);
    const newest = this.insertedRows - 1;
    const idOf = (index: number) => newest - ((((newest - index) % this.capacity) + this.capacity) % this.capacity);
    this.readRows(indices.length, (i) => idOf(indices[i]), into, at);
  }

  slice(first: number, rows: number, names?: readonly string[]): ColumnSet {
    const columns = allocate(names ? pickColumns(this.schema, names) : this.schema, rows);
    const oldest = this.insertedRows - this.size + first;
    this.readRows(rows, (i) => oldest + i, columns, 0);
    return columns;
  }

  content(names?: readonly string[]): ColumnSet {
    const columns = allocate(names ? pickColumns(this.schema, names) : this.schema, this.size);
    const oldest = this.insertedRows - this.size;
    for (const { index, done, count: many } of ringStretches(oldest, this.size, this.capacity))
      this.readRows(many, (i) => oldest + done + i, columns, index);
    return columns;
  }

  onAppend(listener: (index: number, count: number) => void): void {
    this.listeners.push(listener);
  }

  flush(): void {
    this.writePending();
    this.chunks.attempt(this.folder, () => {
      this.chunks.sync();
      this.writeHeader(this.folder);
      // By a header that is durable, all of their rows have left the ring.
      const first = this.chunks.chunkOf(this.insertedRows - this.size);
      while (this.oldestChunk < first) this.chunks.drop(this.oldestChunk++);
    });
  }

  /**
   * Makes `folder` a store of the same rows, durably: full chunks are linked (copied where the file system cannot), the last
   * one is copied. Later rows do not change it. Throws STORAGE_FULL, STORAGE_FAILED.
   */
  saveTo(folder: string): void {
    this.flush();
    this.copyTo(folder);
  }

  private copyTo(folder: string): void {
    this.chunks.attempt(folder, () => {
      this.files.mkdirSync(folder, { recursive: true });
      const last = this.chunks.chunkOf(this.insertedRows);
      const first = this.chunks.chunkOf(this.insertedRows - this.size);
      for (let chunk = first; chunk * this.chunkRows < this.insertedRows; chunk++)
        this.chunks.carry(chunk, chunk < last, folder);
      this.writeHeader(folder);
    });
  }

  close(): void {
    this.chunks.close();
  }

  private startAt(inserted: number): void {
    this.insertedRows = inserted;
    this.written = inserted;
    this.oldestChunk = this.chunks.chunkOf(inserted - this.size);
  }

  /** Reads rows by number, consecutive ones together, through one block of memory. */
  private readRows(rows: number, idOf: (i: number) => number, into: ColumnSet, at: number): void {
    const { block, records } = this;
    const most = block.length / records.bytes;
    for (let done = 0; done < rows; ) {
      const many = Math.min(most, rows - done);
      for (let i = 0; i < many; ) {
        const id = idOf(done + i);
        let run = 1;
        while (i + run < many && idOf(done + i + run) === id + run) run++;
        run = this.readRun(id, run, i);
        i += run;
      }
      records.decode(block, many, into, at + done);
      done += many;
    }
  }

  /** Reads records `id` … to place `at` of the block; answers how many, as a run may cross from one file into the next. */
  private readRun(id: number, rows: number, at: number): number {
    const { bytes } = this.records;
    if (id >= this.written) {
      const from = (id - this.written) * bytes;
      this.block.set(this.pending.subarray(from, from + rows * bytes), at * bytes);
      return rows;
    }
    const many = this.readFile(id, Math.min(rows, this.written - id), at);
    for (let i = 0; i < many; i++) {
      if (this.records.isWhole(this.block, at + i, id + i)) continue;
      const problem = `the checksum of row ${id + i} does not match its content.`;
      throw corrupt(this.chunks.pathOf(this.chunks.chunkOf(id)), new Error(problem));
    }
    return many;
  }

  private readFile(id: number, rows: number, at: number): number {
    try {
      return this.chunks.read(id, rows, this.block, at);
    } catch (error) {
      throw corrupt(this.chunks.pathOf(this.chunks.chunkOf(id)), error);
    }
  }

  private writePending(): void {
    const { bytes } = this.records;
    while (this.written < this.insertedRows) {
      const held = this.insertedRows - this.written;
      const rows = this.chunks.write(this.written, held, this.pending);
      this.pending.copyWithin(0, rows * bytes, held * bytes);
      this.written += rows;
    }
  }

  private writeHeader(folder: string): void {
    const { schema, capacity, chunkRows, insertedRows: inserted, note } = this;
    const header: StoreFile = { format: 'reverie-rows', formatVersion: 1, schema, capacity, chunkRows, inserted, note };
    const path = join(folder, STORE_FILE);
    const handle = this.files.openSync(`${path}.tmp`, 'w');
    try {
      const text = Buffer.from(sealedText(header));
      for (let done = 0; done < text.length; ) done += this.files.writeSync(handle, text, done, text.length - done);
      this.files.fsyncSync(handle);
    } finally {
      this.files.closeSync(handle);
    }
    this.files.renameSync(`${path}.tmp`, path);
    if (process.platform === 'win32') return;
    const place = this.files.openSync(folder, 'r');
    this.files.fsyncSync(place);
    this.files.closeSync(place);
  }

  private rowsIn(bytes: number): number {
    return Math.max(1, Math.floor(bytes / this.records.bytes));
  }
}

function readHeader(folder: string): StoreHeader {
  const path = join(folder, STORE_FILE);
  let text: string;
  try {
    text = nodeFiles.readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT')
      throw reverieError('FILE_INVALID', {
        problem: `No checkpoint at "${path}".`,
        hint: 'Check the path; a checkpoint appears there once the first save has finished.',
      });
    throw corrupt(path, error);
  }
  try {
    return storeSchema.parse(openSealed(text));
  } catch (error) {
    throw corrupt(path, error instanceof z.ZodError ? new Error(describeIssues(error)) : error);
  }
}

function corrupt(path: string, error: unknown): ReverieError {
  if (error instanceof ReverieError) return error;
  return reverieError('CHECKPOINT_CORRUPT', { path, problem: (error as Error).message }, error);
}
