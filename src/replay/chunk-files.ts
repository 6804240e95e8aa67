// Records of a fixed size in files that only grow, a file a chunk. A chunk that is full is never written again, so a copy of the
// store shares it by a link.

import * as nodeFiles from 'node:fs';
import { join } from 'node:path';
import { storageError } from '../core/files.js';

/** The file operations used here; tests put failing ones in their place. */
export type SyncFileSystem = Pick<
  typeof nodeFiles,
  | 'openSync'
  | 'closeSync'
  | 'readSync'
  | 'writeSync'
  | 'fsyncSync'
  | 'renameSync'
  | 'rmSync'
  | 'readdirSync'
  | 'mkdirSync'
  | 'linkSync'
  | 'copyFileSync'
>;

const OPEN_FILES = 64;
const CHUNK_FILE = /^rows-\d{8,}\.bin$/;

export class ChunkFiles {
  /** Handles to read from, by chunk. */
  private readonly open = new Map<number, number>();
  /** The chunk that is being written. */
  private tail: { readonly chunk: number; readonly handle: number } | undefined;
  private readonly unsynced = new Set<number>();

  constructor(
    private readonly folder: string,
    private readonly recordBytes: number,
    private readonly chunkRows: number,
    private readonly files: SyncFileSystem,
  ) {}

  /** The chunk that record `id` is in. */
  chunkOf(id: number): number {
    return Math.floor(id / this.chunkRows);
  }

  pathOf(chunk: number): string {
    return join(this.folder, chunkName(chunk));
  }

  /**
   * Reads records `id` … into records `at` … of `into`; answers how many of the `rows` there are in one file.
   * Throws an Error that says what is wrong with the file ("it …").
   */
  read(id: number, rows: number, into: Uint8Array, at: number): number {
    const chunk = this.chunkOf(id);
    const many = Math.min(rows, (chunk + 1) * this.chunkRows - id);
    const handle = this.readHandle(chunk);
    const [start, length] = [(id % this.chunkRows) * this.recordBytes, many * this.recordBytes];
    for (let done = 0; done < length; ) {
      const read = this.files.readSync(handle, into, at * this.recordBytes + done, length - done, start + done);
      if (read === 0) throw new Error(`it ends before row ${id + Math.floor(done / this.recordBytes)}.`);
      done += read;
    }
    return many;
  }

  /**
   * Writes the first of `rows` records as record `id` …; answers how many of them went into one file.
   * Throws STORAGE_FULL, STORAGE_FAILED.
   */
  write(id: number, rows: number, records: Uint8Array): number {
    const chunk = this.chunkOf(id);
    const many = Math.min(rows, (chunk + 1) * this.chunkRows - id);
    this.attempt(this.pathOf(chunk), () => {
      const handle = this.writeHandle(chunk, id % this.chunkRows === 0);
      const [start, length] = [(id % this.chunkRows) * this.recordBytes, many * this.recordBytes];
      for (let done = 0; done < length; )
        done += this.files.writeSync(handle, records, done, length - done, start + done);
    });
    this.unsynced.add(chunk);
    return many;
  }

  /** Makes all that was written durable. */
  sync(): void {
    for (const chunk of this.unsynced) this.syncFile(this.pathOf(chunk));
    this.unsynced.clear();
  }

  /** Deletes the file of a chunk. */
  drop(chunk: number): void {
    this.closeChunk(chunk);
    this.files.rmSync(this.pathOf(chunk), { force: true });
  }

  /** Puts a chunk into another folder: by a link where it may not grow any more and the file system can. */
  carry(chunk: number, isFull: boolean, folder: string): void {
    const [from, to] = [this.pathOf(chunk), join(folder, chunkName(chunk))];
    if (isFull && this.isLinked(from, to)) return;
    this.files.copyFileSync(from, to, nodeFiles.constants.COPYFILE_FICLONE);
    this.syncFile(to);
  }

  /** Removes all chunks from a folder, and `others`. */
  clear(folder: string, others: readonly string[]): void {
    this.files.mkdirSync(folder, { recursive: true });
    for (const name of this.files.readdirSync(folder) as string[])
      if (CHUNK_FILE.test(name) || others.includes(name)) this.files.rmSync(join(folder, name));
  }

  close(): void {
    for (const chunk of [...this.open.keys()]) this.closeChunk(chunk);
    this.closeTail();
  }

  /** Does `work`; what the file system refuses is thrown as an error of the catalogue. */
  attempt(path: string, work: () => void): void {
    try {
      work();
    } catch (error) {
      throw storageError(path, error);
    }
  }

  private isLinked(from: string, to: string): boolean {
    try {
      this.files.linkSync(from, to);
      return true;
    } catch {
      return false;
    }
  }

  private syncFile(path: string): void {
    const handle = this.files.openSync(path, 'r+');
    try {
      this.files.fsyncSync(handle);
    } finally {
      this.files.closeSync(handle);
    }
  }

  private readHandle(chunk: number): number {
    const known = this.open.get(chunk);
    if (known !== undefined) return known;
    const [oldest] = this.open.keys();
    if (this.open.size >= OPEN_FILES) this.closeChunk(oldest);
    const handle = this.files.openSync(this.pathOf(chunk), 'r');
    this.open.set(chunk, handle);
    return handle;
  }

  private writeHandle(chunk: number, isNew: boolean): number {
    if (this.tail?.chunk === chunk && !isNew) return this.tail.handle;
    this.closeTail();
    // A file of that name is left over from rows that were never acknowledged.
    if (isNew) this.drop(chunk);
    const { O_CREAT, O_RDWR } = nodeFiles.constants;
    const handle = this.files.openSync(this.pathOf(chunk), O_CREAT | O_RDWR);
    this.tail = { chunk, handle };
    return handle;
  }

  private closeTail(): void {
    if (this.tail) this.files.closeSync(this.tail.handle);
    this.tail = undefined;
  }

  private closeChunk(chunk: number): void {
    const handle = this.open.get(chunk);
    if (handle !== undefined) this.files.closeSync(handle);
    this.open.delete(chunk);
  }
}

function chunkName(chunk: number): string {
  return `rows-${String(chunk).padStart(8, '0')}.bin`;
}
