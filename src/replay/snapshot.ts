// A buffer as one framed file: magic, header length, header (JSON), the columns as raw little-endian arrays, and the
// SHA-256 of all that. Data only: nothing in a file is ever evaluated, and sizes are checked before memory is taken.
//
//   offset 0   8 bytes   "RVRPLAY1"
//          8   4 bytes   n, length of the header, uint32
//         12   n bytes   header, UTF-8 JSON
//     12 + n   …         columns in the order of COLUMN_NAMES, size = min(inserted, capacity) rows each
//        end  32 bytes   SHA-256 of everything before
//
// It is written and read whole, or by ranges of rows and any number of threads where it is larger than memory.

import { createHash, type Hash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { type FileHandle, open, rename } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { describeIssues, ReverieError, reverieError } from '../core/errors.js';
import { ensureFolder, fillWhole, storageError, syncPath } from '../core/files.js';
import {
  allocateColumns,
  COLUMN_NAMES,
  type ColumnArray,
  type ColumnName,
  type Columns,
  columnBytes,
  ringStretches,
  rowBytes,
  viewColumns,
} from './columns.js';
import { type Origin, originSchema } from './provenance.js';
import type { Source } from './transition.js';

/** The one file a saved buffer is, in its folder. */
export const SNAPSHOT_FILE = 'transitions.bin';

const MAGIC = 'RVRPLAY1';
const PREFIX_BYTES = 12;
const DIGEST_BYTES = 32;
/** Small enough that hashing one piece does not hold up the event loop. */
const PIECE_BYTES = 1 << 20;

const dimension = z
  .int()
  .min(1)
  .max(2 ** 32 - 1);
const headerSchema = z.strictObject({
  source: z.enum(['real', 'synthetic']),
  capacity: dimension,
  obsDim: dimension,
  actionDim: dimension,
  inserted: z.int().min(0),
  origins: z.array(originSchema),
});

export type SnapshotHeader = z.infer<typeof headerSchema>;

/** A buffer's whole content: `columns` hold min(inserted, capacity) rows. */
interface Snapshot {
  readonly header: SnapshotHeader;
  readonly columns: Columns;
}

/** Whether a folder holds what `ReplayBuffer.save` leaves. */
export function isSavedBuffer(folder: string): boolean {
  return existsSync(join(folder, SNAPSHOT_FILE));
}

/** The file's bytes, piece by piece, the checksum last. */
export function* encodeSnapshot(snapshot: Snapshot): Generator<Uint8Array> {
  const hash = createHash('sha256');
  for (const piece of contentPieces(snapshot)) {
    hash.update(piece);
    yield piece;
  }
  yield hash.digest();
}

/** The checksum a file of this content ends with, in hexadecimal. */
export function hashSnapshot(snapshot: Snapshot): string {
  const hash = createHash('sha256');
  for (const piece of contentPieces(snapshot)) hash.update(piece);
  return hash.digest('hex');
}

function* contentPieces({ header, columns }: Snapshot): Generator<Uint8Array> {
  yield headerBytes(header);
  for (const name of COLUMN_NAMES) {
    const bytes = bytesOf(columns[name]);
    for (let at = 0; at < bytes.length; at += PIECE_BYTES) yield bytes.subarray(at, at + PIECE_BYTES);
  }
}

/** Reads and checks a file. Throws FILE_INVALID, or CHECKPOINT_CORRUPT naming the file. */
export async function readSnapshot(path: string): Promise<Snapshot> {
  const file = await openFile(path);
  try {
    return await decode(file);
  } catch (error) {
    throw asCorrupt(path, error);
  } finally {
    await file.close();
  }
}

async function decode(file: FileHandle): Promise<Snapshot> {
  const hash = createHash('sha256');
  const { header, end } = await checkedHeader(file, hash);
  const columns = allocateColumns(rowsOf(header), header.obsDim, header.actionDim);
  let position = end;
  for (const name of COLUMN_NAMES) {
    const bytes = bytesOf(columns[name]);
    for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
      const piece = bytes.subarray(at, at + PIECE_BYTES);
      await fillWhole(file, piece, position + at);
      hash.update(piece);
    }
    position += bytes.length;
  }
  const stored = await readWhole(file, DIGEST_BYTES, position);
  if (!hash.digest().equals(stored)) throw new Error('its checksum does not match its content.');
  if (columns.origin.some((id) => id >= header.origins.length)) throw new Error('a row names an unknown origin.');
  return { header, columns };
}

async function checkedHeader(file: FileHandle, hash: Hash): Promise<{ header: SnapshotHeader; end: number }> {
  const { size } = await file.stat();
  if (size < PREFIX_BYTES + DIGEST_BYTES) throw new Error(`it has only ${size} bytes.`);
  const prefix = await readWhole(file, PREFIX_BYTES, 0);
  if (prefix.toString('latin1', 0, MAGIC.length) !== MAGIC) throw new Error('it is not a replay buffer.');
  const length = prefix.readUInt32LE(MAGIC.length);
  const end = PREFIX_BYTES + length;
  if (end + DIGEST_BYTES > size) throw new Error('it ends within its header.');
  const json = await readWhole(file, length, PREFIX_BYTES);
  hash.update(prefix).update(json);
  const parsed = headerSchema.safeParse(parseJson(json));
  if (!parsed.success) throw new Error(`its header is not valid: ${describeIssues(parsed.error)}`);
  const { data: header } = parsed;
  const wanted = end + rowsOf(header) * rowBytes(header.obsDim, header.actionDim) + DIGEST_BYTES;
  if (size !== wanted) throw new Error(`it has ${size} bytes, its header says ${wanted}.`);
  return { header, end };
}

function parseJson(json: Buffer): unknown {
  try {
    return JSON.parse(json.toString('utf8'));
  } catch {
    throw new Error('its header is not JSON.');
  }
}

/** A saved buffer that stays on disk: its rows are read as they are needed, oldest first. For datasets larger than memory. */
export class SavedTransitions {
  private constructor(
    /** The folder that it was saved to. */
    readonly folder: string,
    private readonly file: FileHandle,
    private readonly header: SnapshotHeader,
  ) {}

  /**
   * Opens what `ReplayBuffer.save` or a synthesis left in a folder. Header and size are checked, the rows' checksum is not: that
   * would be to read them all. Throws FILE_INVALID, CHECKPOINT_CORRUPT.
   */
  static async open(folder: string): Promise<SavedTransitions> {
    const path = join(folder, SNAPSHOT_FILE);
    const file = await openFile(path);
    try {
      return new SavedTransitions(folder, file, (await checkedHeader(file, createHash('sha256'))).header);
    } catch (error) {
      await file.close();
      throw asCorrupt(path, error);
    }
  }

  get rows(): number {
    return rowsOf(this.header);
  }

  get obsDim(): number {
    return this.header.obsDim;
  }

  get actionDim(): number {
    return this.header.actionDim;
  }

  get source(): Source {
    return this.header.source;
  }

  /** The origins that column `origin` refers to by number. */
  get origins(): readonly Origin[] {
    return this.header.origins;
  }

  /** Row id of the oldest row; the others follow. */
  get firstRowId(): number {
    return this.header.inserted - this.rows;
  }

  /** Rows [from, from + rows) of the columns `names`, oldest first, in arrays of their own. Throws CHECKPOINT_CORRUPT. */
  async read<N extends ColumnName = ColumnName>(
    from: number,
    rows: number,
    names: readonly N[] = COLUMN_NAMES as readonly N[],
  ): Promise<Pick<Columns, N>> {
    const { file, header } = this;
    const { obsDim, actionDim, capacity } = header;
    const columns = allocateColumns(rows, obsDim, actionDim, names);
    try {
      // In a ring that went round, the oldest row lies behind the newest.
      for (const { index, done, count } of ringStretches(this.firstRowId + from, rows, capacity)) {
        const part: Partial<Columns> = viewColumns(columns, count, obsDim, actionDim, done);
        for (const { name, start, width } of placesOf(header))
          if (part[name]) await fillWhole(file, bytesOf(part[name]), start + index * width);
      }
    } catch (error) {
      throw asCorrupt(join(this.folder, SNAPSHOT_FILE), error);
    }
    return columns;
  }

  async close(): Promise<void> {
    await this.file.close();
  }
}

/** A file that is being written by ranges of rows: plain data, for any thread. */
export interface SnapshotDraft {
  /** Where the file will be once it is sealed. */
  readonly path: string;
  readonly header: SnapshotHeader;
}

/** Makes room for all rows of `header` beside `path`. Throws STORAGE_FULL, STORAGE_FAILED. */
export async function beginSnapshot(draft: SnapshotDraft): Promise<void> {
  const path = draftPath(draft);
  const { obsDim, actionDim } = draft.header;
  await ensureFolder(dirname(path));
  await withFile(path, 'w', async (file) => {
    const head = headerBytes(draft.header);
    await writeAt(file, head, 0);
    await file.truncate(head.length + rowsOf(draft.header) * rowBytes(obsDim, actionDim) + DIGEST_BYTES);
  });
}

/** Puts rows at their place, from row `first` on. Rows may come in any order, from any thread. */
export async function writeSnapshotRows(draft: SnapshotDraft, first: number, columns: Columns): Promise<void> {
  await withFile(draftPath(draft), 'r+', async (file) => {
    for (const { name, start, width } of placesOf(draft.header))
      await writeAt(file, bytesOf(columns[name]), start + first * width);
  });
}

/** Adds the checksum and puts the file in its place, durably. Throws STORAGE_FULL, STORAGE_FAILED. */
export async function sealSnapshot(draft: SnapshotDraft): Promise<void> {
  const path = draftPath(draft);
  await withFile(path, 'r+', async (file) => {
    const end = (await file.stat()).size - DIGEST_BYTES;
    const hash = createHash('sha256');
    const piece = Buffer.alloc(PIECE_BYTES);
    for (let at = 0; at < end; at += PIECE_BYTES) {
      const bytes = piece.subarray(0, end - at);
      await fillWhole(file, bytes, at);
      hash.update(bytes);
    }
    await writeAt(file, hash.digest(), end);
    await file.sync();
  });
  try {
    await rename(path, draft.path);
    await syncPath(dirname(path));
  } catch (error) {
    throw storageError(draft.path, error);
  }
}

/** Where each column begins, and the bytes of its rows. */
function* placesOf(header: SnapshotHeader): Generator<{ name: ColumnName; start: number; width: number }> {
  let start = headerBytes(header).length;
  for (const name of COLUMN_NAMES) {
    const width = columnBytes(name, header.obsDim, header.actionDim);
    yield { name, start, width };
    start += width * rowsOf(header);
  }
}

function rowsOf({ inserted, capacity }: SnapshotHeader): number {
  return Math.min(inserted, capacity);
}

/** What comes before the columns. */
function headerBytes(header: SnapshotHeader): Buffer {
  const json = Buffer.from(JSON.stringify(header), 'utf8');
  const prefix = Buffer.alloc(PREFIX_BYTES);
  prefix.write(MAGIC, 'latin1');
  prefix.writeUInt32LE(json.length, MAGIC.length);
  return Buffer.concat([prefix, json]);
}

function bytesOf(column: ColumnArray): Uint8Array {
  return new Uint8Array(column.buffer, column.byteOffset, column.byteLength);
}

function draftPath({ path }: SnapshotDraft): string {
  return `${path}.tmp`;
}

async function readWhole(file: FileHandle, length: number, position: number): Promise<Buffer> {
  const bytes = Buffer.alloc(length);
  await fillWhole(file, bytes, position);
  return bytes;
}

async function writeAt(file: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  for (let at = 0; at < bytes.length; ) {
    at += (await file.write(bytes, at, bytes.length - at, position + at)).bytesWritten;
  }
}

async function withFile(path: string, flags: string, use: (file: FileHandle) => Promise<void>): Promise<void> {
  try {
    const file = await open(path, flags);
    try {
      await use(file);
    } finally {
      await file.close();
    }
  } catch (error) {
    throw storageError(path, error);
  }
}

function openFile(path: string): Promise<FileHandle> {
  return open(path, 'r').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT')
      throw reverieError('FILE_INVALID', {
        problem: `No checkpoint at "${path}".`,
        hint: 'Check the path; a checkpoint appears there once the first save has finished.',
      });
    throw asCorrupt(path, error);
  });
}

/** What went wrong with a file, as an error of the catalogue. */
function asCorrupt(path: string, error: unknown): ReverieError {
  if (error instanceof ReverieError) return error;
  return reverieError('CHECKPOINT_CORRUPT', { path, problem: (error as Error).message }, error);
}
