// LMDB maps its file into memory, where a page that is not there ends the process; and refusing a file that is no
// database may end it too, as what it frees on the way out it frees twice. So the file is looked at before it is opened.
// Closing too early ends it as well: LMDB's writing thread still uses what closing frees.

import { closeSync, existsSync, openSync, readSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';

const FILE = 'data.mdb';
const MAGIC = 0xbeefc0de;
const VERSION = 2;
/** The flag of a meta page. */
const META = 0x08;
const PAGE = { smallest: 512, largest: 65_536 } as const;
// Of the two meta pages at the start of the file, which begin with the page size apart.
const AT = { flags: 18, magic: 24, version: 28, pageSize: 48, lastPage: 144, transaction: 152, end: 160 } as const;

/** Milliseconds a writing thread is given to leave the database after it has reported its last commit; it needs microseconds. */
const LEAVE_MS = 25;

/**
 * Closes a database once everything is on disk and its writing thread has left. `lmdb` 3.5 resolves `flushed` while that
 * thread may still be about to notify listeners, through an object that `close` deletes; the process then dies of it.
 */
export async function closeDatabase(database: {
  readonly flushed: PromiseLike<unknown>;
  close(): Promise<void>;
}): Promise<void> {
  await database.flushed;
  await setTimeout(LEAVE_MS);
  await database.close();
}

/** Why the database in `folder` must not be opened; undefined where it may be, as where none is there yet. */
export function databaseProblem(folder: string): string | undefined {
  const path = join(folder, FILE);
  if (!existsSync(path)) return undefined;
  const { size } = statSync(path);
  if (size === 0) return undefined;
  const head = readHead(path, PAGE.largest + AT.end);
  if (head.length < AT.end) return 'it is cut off';
  if (!isMeta(head)) return 'it is no database';
  const pageSize = head.readUInt32LE(AT.pageSize);
  const second = head.subarray(pageSize);
  if (second.length < AT.end) return 'it is cut off';
  if (!isMeta(second) || second.readUInt32LE(AT.pageSize) !== pageSize) return 'its second page is damaged';
  return size < neededSize([head, second], pageSize) ? 'it is cut off' : undefined;
}

function isMeta(page: Buffer): boolean {
  const pageSize = page.readUInt32LE(AT.pageSize);
  return (
    (page.readUInt16LE(AT.flags) & META) !== 0 &&
    page.readUInt32LE(AT.magic) === MAGIC &&
    page.readUInt16LE(AT.version) === VERSION &&
    pageSize >= PAGE.smallest &&
    pageSize <= PAGE.largest &&
    (pageSize & (pageSize - 1)) === 0
  );
}

/** Bytes that the newest transaction needs. */
function neededSize(metas: readonly Buffer[], pageSize: number): number {
  const [a, b] = metas.map((meta) => ({
    transaction: meta.readBigUInt64LE(AT.transaction),
    pages: Number(meta.readBigUInt64LE(AT.lastPage)) + 1,
  }));
  return Math.max(2, (a.transaction > b.transaction ? a : b).pages) * pageSize;
}

function readHead(path: string, bytes: number): Buffer {
  const head = Buffer.alloc(bytes);
  const file = openSync(path, 'r');
  try {
    return head.subarray(0, readSync(file, head, 0, bytes, 0));
  } finally {
    closeSync(file);
  }
}
