// LMDB maps its file into memory, where a page that is not there ends the process: so its size is looked at first.

import { closeSync, existsSync, openSync, readSync, statSync } from 'node:fs';
import { join } from 'node:path';

const FILE = 'data.mdb';
// Of the two meta pages at the start of the file, which begin with the page size apart.
const MAGIC = 0xbeefc0de;
const AT = { magic: 24, pageSize: 48, lastPage: 144, transaction: 152, end: 160 } as const;
const LARGEST_PAGE = 65_536;

/** Whether the database in `folder` lacks pages that its newest transaction needs. One that is not there yet lacks none. */
export function isCutOff(folder: string): boolean {
  const path = join(folder, FILE);
  if (!existsSync(path)) return false;
  const { size } = statSync(path);
  return size > 0 && size < neededSize(path);
}

/** Bytes that the newest transaction needs; what is no meta page at all is left for LMDB to refuse. */
function neededSize(path: string): number {
  const head = readHead(path, LARGEST_PAGE + AT.end);
  const pageSize = head.length >= AT.end ? head.readUInt32LE(AT.pageSize) : AT.end;
  const metas = [head, head.subarray(pageSize)].filter(
    (meta) => meta.length >= AT.end && meta.readUInt32LE(AT.magic) === MAGIC,
  );
  const newest = metas.sort((a, b) => Number(b.readBigUInt64LE(AT.transaction) - a.readBigUInt64LE(AT.transaction)))[0];
  if (newest === undefined) return 2 * pageSize;
  return Math.max(2, Number(newest.readBigUInt64LE(AT.lastPage)) + 1) * pageSize;
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
