// A buffer's file written and read by ranges of rows, by as many threads as there are: what is larger than memory is never
// held whole. The file is that of `snapshot-file.ts`, byte for byte.

import { createHash } from 'node:crypto';
import { type FileHandle, open, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { ensureFolder, fillWhole, storageError, syncPath } from '../core/files.js';
import { type ColumnName, type Columns, rowBytes, transitionSchema } from './columns.js';
import { elementBytes, widthOf } from './schema.js';
import { bytesOf, DIGEST_BYTES, headerBytes, type SnapshotHeader } from './snapshot-file.js';

/** A file that is being written: plain data, for any thread. */
export interface SnapshotDraft {
  /** Where the file will be once it is sealed. */
  readonly path: string;
  readonly header: SnapshotHeader;
}

const HASHED_AT_ONCE = 1 << 22;

/** Makes room for all rows of `header` beside `path`. Throws STORAGE_FULL, STORAGE_FAILED. */
export async function beginSnapshot(draft: SnapshotDraft): Promise<void> {
  const path = draftPath(draft);
  await ensureFolder(dirname(path));
  await withFile(path, 'w', async (file) => {
    const head = headerBytes(draft.header);
    await writeAt(file, head, 0);
    await file.truncate(head.length + rowsOf(draft.header) * bytesOfRow(draft.header) + DIGEST_BYTES);
  });
}

/** Puts rows at their place, from row `first` on. Rows may come in any order, from any thread. */
export async function writeSnapshotRows(draft: SnapshotDraft, first: number, columns: Columns): Promise<void> {
  const { header } = draft;
  await withFile(draftPath(draft), 'r+', async (file) => {
    for (const { name, start, width } of placesOf(header)) {
      await writeAt(file, bytesOf(columns[name]), start + first * width);
    }
  });
}

/** Adds the checksum and puts the file in its place, durably. Throws STORAGE_FULL, STORAGE_FAILED. */
export async function sealSnapshot(draft: SnapshotDraft): Promise<void> {
  const path = draftPath(draft);
  await withFile(path, 'r+', async (file) => {
    const end = (await file.stat()).size - DIGEST_BYTES;
    const hash = createHash('sha256');
    const piece = Buffer.alloc(HASHED_AT_ONCE);
    for (let at = 0; at < end; ) {
      const { bytesRead } = await file.read(piece, 0, Math.min(piece.length, end - at), at);
      hash.update(piece.subarray(0, bytesRead));
      at += bytesRead;
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

/** Rows [first, first + count) as they lie in the file, of the columns `names` alone. */
export async function readSnapshotRows<N extends ColumnName>(
  file: FileHandle,
  header: SnapshotHeader,
  into: Pick<Columns, N>,
  first: number,
): Promise<void> {
  for (const { name, start, width } of placesOf(header)) {
    if (!(name in into)) continue;
    await fillWhole(file, bytesOf((into as Columns)[name]), start + first * width);
  }
}

/** Rows that a file of this header holds. */
export function rowsOf({ inserted, capacity }: SnapshotHeader): number {
  return Math.min(inserted, capacity);
}

function bytesOfRow({ obsDim, actionDim }: SnapshotHeader): number {
  return rowBytes(obsDim, actionDim);
}

/** Where each column begins, and the bytes of its rows. */
function* placesOf(header: SnapshotHeader): Generator<{ name: ColumnName; start: number; width: number }> {
  let start = headerBytes(header).length;
  for (const [name, spec] of Object.entries(transitionSchema(header.obsDim, header.actionDim))) {
    const width = widthOf(spec) * elementBytes(spec);
    yield { name: name as ColumnName, start, width };
    start += width * rowsOf(header);
  }
}

function draftPath({ path }: SnapshotDraft): string {
  return `${path}.tmp`;
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
