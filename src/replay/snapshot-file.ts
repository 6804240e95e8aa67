// A buffer as one framed file: magic, header length, header (JSON), the columns as raw little-endian arrays, and the
// SHA-256 of all that. Data only: nothing in a file is ever evaluated, and sizes are checked before memory is taken.
//
//   offset 0   8 bytes   "RVRPLAY1"
//          8   4 bytes   n, length of the header, uint32
//         12   n bytes   header, UTF-8 JSON
//     12 + n   …         columns in the order of COLUMN_NAMES, size = min(inserted, capacity) rows each
//        end  32 bytes   SHA-256 of everything before

import { createHash, type Hash } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import { z } from 'zod';
import { describeIssues, ReverieError, reverieError } from '../core/errors.js';
import { fillWhole } from '../core/files.js';
import { allocateColumns, COLUMN_NAMES, type ColumnName, type Columns, rowBytes } from './columns.js';
import type { ColumnArray } from './schema.js';

/** The one file a saved buffer is, in its folder. */
export const SNAPSHOT_FILE = 'transitions.bin';

const MAGIC = 'RVRPLAY1';
const PREFIX_BYTES = 12;
/** The file's checksum, at its end. */
export const DIGEST_BYTES = 32;
/** Small enough that hashing one piece does not hold up the event loop. */
const PIECE_BYTES = 1 << 20;

const count = z.int().min(0);
const dimension = z
  .int()
  .min(1)
  .max(2 ** 32 - 1);
export const originSchema = z.strictObject({
  backend: z.string(),
  modelVersion: z.string(),
  scenario: z.string(),
  task: z.string(),
  policyVersion: z.string(),
  seed: z.int(),
});
const headerSchema = z.strictObject({
  source: z.enum(['real', 'synthetic']),
  capacity: dimension,
  obsDim: dimension,
  actionDim: dimension,
  inserted: count,
  origins: z.array(originSchema),
});

export type SnapshotHeader = z.infer<typeof headerSchema>;

/** A buffer's whole content: `columns` hold min(inserted, capacity) rows. */
export interface Snapshot {
  readonly header: SnapshotHeader;
  readonly columns: Columns;
}

/** The same to be written: each column whole, or piece by piece where it is too large for that. */
export interface SnapshotContent {
  readonly header: SnapshotHeader;
  readonly columns: (name: ColumnName) => Iterable<ColumnArray>;
}

/** The file's bytes, piece by piece, the checksum last. */
export function* encodeSnapshot({ header, columns }: SnapshotContent): Generator<Uint8Array> {
  const hash = createHash('sha256');
  for (const piece of contentPieces(header, columns)) {
    hash.update(piece);
    yield piece;
  }
  yield hash.digest();
}

/** The checksum a file of this content ends with, in hexadecimal. */
export function hashSnapshot({ header, columns }: SnapshotContent): string {
  const hash = createHash('sha256');
  for (const piece of contentPieces(header, columns)) hash.update(piece);
  return hash.digest('hex');
}

/** Reads and checks a file. Throws FILE_INVALID, or CHECKPOINT_CORRUPT naming the file. */
export async function readSnapshot(path: string): Promise<Snapshot> {
  const file = await openFile(path);
  try {
    return await decode(path, file);
  } catch (error) {
    throw asCorrupt(path, error);
  } finally {
    await file.close();
  }
}

/**
 * Opens a file to be read by ranges of rows: header and size are checked, the checksum of the content is not.
 * Throws FILE_INVALID, or CHECKPOINT_CORRUPT naming the file.
 */
export async function openSnapshot(
  path: string,
): Promise<{ readonly file: FileHandle; readonly header: SnapshotHeader }> {
  const file = await openFile(path);
  try {
    const { header } = await checkedHeader(path, file, createHash('sha256'));
    return { file, header };
  } catch (error) {
    await file.close();
    throw asCorrupt(path, error);
  }
}

function openFile(path: string): Promise<FileHandle> {
  return open(path, 'r').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT')
      throw reverieError('FILE_INVALID', {
        problem: `No checkpoint at "${path}".`,
        hint: 'Check the path; a checkpoint appears there once the first save has finished.',
      });
    throw corrupt(path, error.message, error);
  });
}

/** What went wrong with a file, as an error of the catalogue. */
export function asCorrupt(path: string, error: unknown): ReverieError {
  return error instanceof ReverieError ? error : corrupt(path, (error as Error).message, error);
}

async function checkedHeader(path: string, file: FileHandle, hash: Hash) {
  const { size: fileBytes } = await file.stat();
  const { header, end } = await readHeader(path, file, fileBytes, hash);
  const rows = Math.min(header.inserted, header.capacity);
  const wanted = end + rows * rowBytes(header.obsDim, header.actionDim) + DIGEST_BYTES;
  if (fileBytes !== wanted) throw corrupt(path, `it has ${fileBytes} bytes, its header says ${wanted}.`);
  return { header, end, rows };
}

async function decode(path: string, file: FileHandle): Promise<Snapshot> {
  const hash = createHash('sha256');
  const { header, end, rows } = await checkedHeader(path, file, hash);
  const columns = allocateColumns(rows, header.obsDim, header.actionDim);
  let position = end;
  for (const name of COLUMN_NAMES) position = await readInto(file, bytesOf(columns[name]), position, hash);
  const stored = await readWhole(file, DIGEST_BYTES, position);
  if (!hash.digest().equals(stored)) throw corrupt(path, 'its checksum does not match its content.');
  if (columns.origin.some((id) => id >= header.origins.length)) throw corrupt(path, 'a row names an unknown origin.');
  return { header, columns };
}

async function readHeader(
  path: string,
  file: FileHandle,
  fileBytes: number,
  hash: Hash,
): Promise<{ header: SnapshotHeader; end: number }> {
  if (fileBytes < PREFIX_BYTES + DIGEST_BYTES) throw corrupt(path, `it has only ${fileBytes} bytes.`);
  const prefix = await readWhole(file, PREFIX_BYTES, 0);
  if (prefix.toString('latin1', 0, MAGIC.length) !== MAGIC) throw corrupt(path, 'it is not a replay buffer.');
  const length = prefix.readUInt32LE(MAGIC.length);
  if (PREFIX_BYTES + length + DIGEST_BYTES > fileBytes) throw corrupt(path, 'it ends within its header.');
  const json = await readWhole(file, length, PREFIX_BYTES);
  hash.update(prefix).update(json);
  const parsed = headerSchema.safeParse(parseJson(path, json));
  if (!parsed.success) throw corrupt(path, `its header is not valid: ${describeIssues(parsed.error)}`);
  return { header: parsed.data, end: PREFIX_BYTES + length };
}

function parseJson(path: string, json: Buffer): unknown {
  try {
    return JSON.parse(json.toString('utf8'));
  } catch (error) {
    throw corrupt(path, 'its header is not JSON.', error);
  }
}

async function readInto(file: FileHandle, target: Uint8Array, position: number, hash: Hash): Promise<number> {
  for (let at = 0; at < target.length; ) {
    const piece = target.subarray(at, at + PIECE_BYTES);
    const { bytesRead } = await file.read(piece, 0, piece.length, position + at);
    if (bytesRead === 0) throw new Error('it ended while being read.');
    hash.update(piece.subarray(0, bytesRead));
    at += bytesRead;
  }
  return position + target.length;
}

async function readWhole(file: FileHandle, length: number, position: number): Promise<Buffer> {
  const bytes = Buffer.alloc(length);
  await fillWhole(file, bytes, position);
  return bytes;
}

/** What comes before the columns. */
export function headerBytes(header: SnapshotHeader): Buffer {
  const json = Buffer.from(JSON.stringify(header), 'utf8');
  const prefix = Buffer.alloc(PREFIX_BYTES);
  prefix.write(MAGIC, 'latin1');
  prefix.writeUInt32LE(json.length, MAGIC.length);
  return Buffer.concat([prefix, json]);
}

function* contentPieces(header: SnapshotHeader, columns: SnapshotContent['columns']): Generator<Uint8Array> {
  yield headerBytes(header);
  for (const name of COLUMN_NAMES) {
    for (const column of columns(name)) {
      const bytes = bytesOf(column);
      for (let at = 0; at < bytes.length; at += PIECE_BYTES) yield bytes.subarray(at, at + PIECE_BYTES);
    }
  }
}

export function bytesOf(column: ColumnArray): Uint8Array {
  return new Uint8Array(column.buffer, column.byteOffset, column.byteLength);
}

function corrupt(path: string, problem: string, cause?: unknown): ReverieError {
  return reverieError('CHECKPOINT_CORRUPT', { path, problem }, cause);
}
