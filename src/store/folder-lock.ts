// One process at a time works in a folder: two that go on with one run would write over each other's files. The lock is a
// file that names its holder; a holder that is gone (killed, machine restarted) holds nothing, and leaves its file behind.
//
// A dead holder's file is never removed to make room, as two that find it could each remove what the other put in its place.
// Its place is claimed instead: `run.lock.after-TOKEN`, named after the dead holder's own token, can be made by one process
// alone. Whoever made it, and then still finds the dead holder's `run.lock`, is the holder: no other can have come in
// between, since only a holder changes `run.lock`, and no token ever comes back. It then writes its own name there.

import { linkSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { reverieError } from '../core/errors.js';
import { isLiving, processNameSchema, thisProcess } from '../core/living-process.js';
import { storageError } from './atomic-file.js';

const LOCK_FILE = 'run.lock';

/** Milliseconds after which a file that says nothing is taken for one whose writer was killed. */
const TORN_AFTER_MS = 5_000;

const holderSchema = processNameSchema.extend({
  /** No other lock ever had it. */
  token: z.string().optional(),
});

interface Holder {
  readonly token: string;
  readonly isHeld: boolean;
  readonly pid: number | string;
  readonly host: string;
}

/**
 * Takes the lock of `folder`; answers what releases it.
 * @throws RUN_IN_USE if a living process, or one of another machine, holds it; STORAGE_DENIED, STORAGE_FULL, STORAGE_FAILED
 */
export function lockFolder(folder: string): () => void {
  const path = join(folder, LOCK_FILE);
  const token = `${process.pid}-${Date.now()}-${process.hrtime.bigint()}`;
  const own = `${path}.${token}.tmp`;
  const name = { ...thisProcess(), token };
  try {
    writeFileSync(own, `${JSON.stringify(name)}\n`, { flag: 'wx' });
    let isTaken = false;
    while (!isTaken) isTaken = tryLock(folder, path, own);
  } catch (error) {
    throw storageError(path, error);
  } finally {
    rmSync(own, { force: true });
  }
  return () => {
    // A lock that someone removed by hand may be another's by now.
    if (holderIn(path)?.token === token) rmSync(path, { force: true });
  };
}

/** Whether a file of a folder is a lock, or what a killed process left of taking one. */
export function isLockFile(name: string): boolean {
  return name.startsWith(LOCK_FILE);
}

/** One attempt; false where another process changed something meanwhile. @throws RUN_IN_USE */
function tryLock(folder: string, path: string, own: string): boolean {
  const first = holderIn(path);
  if (first === undefined) return tryLink(own, path);
  // Claims follow on each other where claimants died before they had written their name into the lock.
  for (let last = first; ; ) {
    if (last.isHeld) {
      if (holderIn(path)?.token !== first.token) return false;
      throw reverieError('RUN_IN_USE', { path: folder, pid: last.pid, host: last.host, lock: path });
    }
    const claim = `${path}.after-${last.token}`;
    if (tryLink(own, claim)) return confirm(path, own, claim, first);
    const next = holderIn(claim);
    if (next === undefined) return false;
    last = next;
  }
}

/** Becomes the holder by a claim, unless the lock changed since it was read. */
function confirm(path: string, own: string, claim: string, first: Holder): boolean {
  if (holderIn(path)?.token !== first.token) {
    rmSync(claim, { force: true });
    return false;
  }
  // In this order: while claims are there, whoever read the lock before finds a living holder at their end.
  renameSync(own, path);
  const folder = join(path, '..');
  for (const name of readdirSync(folder)) {
    if (name.startsWith(`${LOCK_FILE}.after-`)) rmSync(join(folder, name), { force: true });
  }
  return true;
}

/** Puts the whole of `from` at `to`, if nothing is there. */
function tryLink(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') return false;
    if (code !== 'EPERM' && code !== 'ENOTSUP' && code !== 'EOPNOTSUPP' && code !== 'ENOSYS') throw error;
    return tryWrite(from, to);
  }
}

/** For file systems without links. A reader may find the file empty for a moment, which counts as held. */
function tryWrite(from: string, to: string): boolean {
  try {
    writeFileSync(to, readFileSync(from), { flag: 'wx' });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/** Who a lock or claim names; undefined if there is none. */
function holderIn(path: string): Holder | undefined {
  try {
    const { mtimeMs, ino } = statSync(path);
    const found = parsed(readFileSync(path, 'utf8'));
    if (found === undefined) {
      const isHeld = Date.now() - mtimeMs < TORN_AFTER_MS;
      return { token: `torn-${ino}-${Math.round(mtimeMs)}`, isHeld, pid: '?', host: hostname() };
    }
    const { pid, host, token = `${pid}-${ino}-${Math.round(mtimeMs)}` } = found;
    return { token, isHeld: isLiving(found), pid, host };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

function parsed(text: string): z.output<typeof holderSchema> | undefined {
  try {
    return holderSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
