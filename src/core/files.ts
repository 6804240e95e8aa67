// Names a process so that others can tell whether it still lives, when its number may long be another's.

import { isUtf8 } from 'node:buffer';
import { linkSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import * as nodeFiles from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { z } from 'zod';
import { contentHash, parsedJson } from './canonical-json.js';
import { ReverieError, reverieError } from './errors.js';

const processNameSchema = z.object({
  pid: z.int(),
  host: z.string(),
  /** When the process began, in the system's own count; null where the system does not tell. Tells reused numbers apart. */
  began: z.string().nullable(),
});

type ProcessName = z.output<typeof processNameSchema>;

function thisProcess(): ProcessName {
  return { pid: process.pid, host: hostname(), began: beganOf(process.pid) };
}

/** One of another machine is taken to live, as it cannot be told here. */
function isLiving({ pid, host, began }: ProcessName): boolean {
  return host !== hostname() || (isThere(pid) && (began === null || began === beganOf(pid)));
}

function isThere(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Clock ticks from boot to the start of a process with the boot's id (Linux: proc(5)); null elsewhere. */
function beganOf(pid: number): string | null {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name of the command, in parentheses, may hold spaces: fields are counted from behind it.
    const started = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
    return `${boot}:${started}`;
  } catch {
    return null;
  }
}

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
  // In this order: while claims are there, a reader of the lock finds a living holder at their end.
  renameSync(own, path);
  const folder = dirname(path);
  for (const name of readdirSync(folder))
    if (name.startsWith(`${LOCK_FILE}.after-`)) rmSync(join(folder, name), { force: true });
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
    const found = holderSchema.safeParse(parsedJson(readFileSync(path, 'utf8'))).data;
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

const PREFIX = 'reverie-';
/** Says whose a folder is. */
const OWNER_FILE = '.owner.json';

export interface TemporaryFolder {
  readonly path: string;
  remove(): void;
}

/** A new folder below the system's temporary one, after those of processes that are gone were taken away. */
export function temporaryFolder(what: string): TemporaryFolder {
  for (const name of readdirSync(tmpdir())) {
    const path = join(tmpdir(), name);
    if (name.startsWith(PREFIX) && isOrphaned(path)) removeFolder(path);
  }
  const path = mkdtempSync(join(tmpdir(), `${PREFIX}${what}-`));
  writeFileSync(join(path, OWNER_FILE), JSON.stringify(thisProcess()));
  return { path, remove: () => removeFolder(path) };
}

/** Whether it was made here, by a process of this machine that is gone. */
function isOrphaned(path: string): boolean {
  try {
    const owner = processNameSchema.safeParse(JSON.parse(readFileSync(join(path, OWNER_FILE), 'utf8'))).data;
    return owner !== undefined && !isLiving(owner);
  } catch {
    return false;
  }
}

/** Another process may be at it, too, or it may be another user's. */
function removeFolder(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true });
  } catch {
    // It stays for the next who looks.
  }
}

/** Fills `target`; how many bytes there were. Fewer than it takes: the file ends there. */
async function fillFrom(file: FileHandle, target: Uint8Array, at: number): Promise<number> {
  let filled = 0;
  while (filled < target.length) {
    const { bytesRead } = await file.read(target, filled, target.length - filled, at + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return filled;
}

/** `length` bytes, or as many as there are. */
export async function readBytes(file: FileHandle, at: number, length: number): Promise<Buffer> {
  const bytes = Buffer.alloc(length);
  return bytes.subarray(0, await fillFrom(file, bytes, at));
}

/** Fills `target` to its end. Throws an Error that says what is wrong with the file ("it …"). */
export async function fillWhole(file: FileHandle, target: Uint8Array, at: number): Promise<void> {
  if ((await fillFrom(file, target, at)) < target.length) throw new Error('it ended while being read.');
}

/** The text of a file that a person wrote. Throws what `refuse` makes of another encoding: its letters would be lost without a word. */
export function readText(path: string, refuse = (problem: string) => new Error(problem)): string {
  const bytes = readFileSync(path);
  const text = bytes.toString('utf8').replace(/^\uFEFF/, '');
  if (isUtf8(bytes)) return text;
  const line = text.slice(0, text.indexOf('\uFFFD')).split('\n').length;
  throw refuse(`line ${line} is not UTF-8: save the file in this encoding`);
}

/** The file operations used here; tests put failing ones in their place. */
export type FileSystem = Pick<typeof nodeFiles, 'open' | 'rename' | 'mkdir' | 'rm' | 'readdir' | 'stat'>;

/** Whole content, or pieces of it in order. */
type FileContent = string | Uint8Array | Iterable<Uint8Array> | AsyncIterable<Uint8Array>;

const FULL = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);

const DENIED: Readonly<Record<string, string>> = {
  EACCES: 'its permissions do not allow it',
  EPERM: 'its permissions do not allow it',
  EROFS: 'its file system is mounted read-only',
};

/**
 * Puts `content` at `path`, durably, once the promise resolves: temporary file beside it, fsync, rename, fsync of the
 * folder. The folder must exist. Throws STORAGE_FULL or STORAGE_FAILED, leaving what was there.
 */
export async function writeFileAtomic(
  path: string,
  content: FileContent,
  files: FileSystem = nodeFiles,
): Promise<void> {
  // A fixed name, so that a killed writer's leftover is overwritten by the next and never piles up.
  const temporary = `${path}.tmp`;
  try {
    await writeSynced(temporary, content, files);
    await files.rename(temporary, path);
    await syncPath(dirname(path), files);
  } catch (error) {
    await removeQuietly(temporary, files);
    throw storageError(path, error);
  }
}

/** Creates a folder and those above it, durably. Throws STORAGE_DENIED, STORAGE_FULL or STORAGE_FAILED. */
export async function ensureFolder(path: string, files: FileSystem = nodeFiles): Promise<void> {
  const missing = [resolve(path)];
  try {
    while (!(await exists(dirname(missing[0]), files))) missing.unshift(dirname(missing[0]));
    // One by one: asked for all of them, Node tries for ever where none can be made (below /proc), and says of one that is read-only "not found".
    for (const folder of missing) {
      try {
        await files.mkdir(folder);
        await syncPath(dirname(folder), files);
      } catch (error) {
        const isThere = (error as NodeJS.ErrnoException).code === 'EEXIST' && (await files.stat(folder)).isDirectory();
        if (!isThere) throw error;
      }
    }
  } catch (error) {
    throw storageError(path, error);
  }
}

/**
 * Replaces the folder `path` by a new one that `build` fills, durably, once the promise resolves. `build` gets the
 * temporary folder. Readers call `recoverFolder` first. Throws STORAGE_FULL or STORAGE_FAILED (failing file operations
 * of `build` included; anything else it throws is thrown on), leaving the old folder whole.
 */
export async function replaceFolderAtomic(
  path: string,
  build: (temporary: string) => Promise<void>,
  files: FileSystem = nodeFiles,
): Promise<void> {
  const { target, next, previous } = swapPaths(path);
  try {
    await recoverFolder(target, files);
    await files.rm(next, { recursive: true, force: true });
    await files.rm(previous, { recursive: true, force: true });
    await files.mkdir(next, { recursive: true });
    await build(next);
    await syncTree(next, files);
    await swapIn(target, next, previous, files);
  } catch (error) {
    await removeQuietly(next, files);
    throw storageError(path, error);
  }
  // The new folder is in place and durable; an old one that cannot be removed is removed by the next writer.
  await removeQuietly(previous, files);
}

/**
 * Finishes a swap that a kill cut in two. Call before looking for a folder that `replaceFolderAtomic` writes; does nothing
 * to a folder that is in place. Answers whether there is one now.
 */
export async function recoverFolder(path: string, files: FileSystem = nodeFiles): Promise<boolean> {
  const { target, next, previous } = swapPaths(path);
  // The old folder is moved away only once the new one is complete and synced, so a process that finds it moved and the
  // target missing may finish the swap.
  const isThere = await exists(target, files);
  if (isThere || !(await exists(previous, files))) return isThere;
  const complete = (await exists(next, files)) ? next : previous;
  try {
    await putInPlace(complete, target, files);
    await syncPath(dirname(target), files);
  } catch (error) {
    throw storageError(path, error);
  }
  await removeQuietly(previous, files);
  return true;
}

function swapPaths(path: string): { target: string; next: string; previous: string } {
  const target = resolve(path);
  return { target, next: `${target}.new`, previous: `${target}.old` };
}

async function swapIn(target: string, next: string, previous: string, files: FileSystem): Promise<void> {
  const isThere = await exists(target, files);
  if (isThere) await files.rename(target, previous);
  try {
    await putInPlace(next, target, files);
  } catch (error) {
    if (isThere) await files.rename(previous, target);
    throw error;
  }
  await syncPath(dirname(target), files);
}

/** Unless another process, which took the swap for one that was cut in two, has done so meanwhile. */
async function putInPlace(from: string, target: string, files: FileSystem): Promise<void> {
  await files.rename(from, target).catch(async (error) => {
    if (!(await exists(target, files))) throw error;
  });
}

async function writeSynced(path: string, content: FileContent, files: FileSystem): Promise<void> {
  const file = await files.open(path, 'w');
  try {
    const whole = typeof content === 'string' ? new TextEncoder().encode(content) : content;
    for await (const piece of whole instanceof Uint8Array ? [whole] : whole) {
      for (let at = 0; at < piece.length; ) {
        const { bytesWritten } = await file.write(piece, at, piece.length - at);
        at += bytesWritten;
      }
    }
    await file.sync();
  } finally {
    await file.close();
  }
}

async function syncTree(folder: string, files: FileSystem): Promise<void> {
  for (const entry of await files.readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    await (entry.isDirectory() ? syncTree(path, files) : syncPath(path, files));
  }
  await syncPath(folder, files);
}

/** Flushes a file or a folder to its device. */
export async function syncPath(path: string, files: FileSystem = nodeFiles): Promise<void> {
  // Windows flushes neither folders nor read-only handles.
  if (process.platform === 'win32') return;
  const handle = await files.open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function exists(path: string, files: FileSystem): Promise<boolean> {
  return files.stat(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return false; // below a file there is nothing
      throw error;
    },
  );
}

async function removeQuietly(path: string, files: FileSystem): Promise<void> {
  // Called where the outcome is already decided: a leftover is removed by the next writer.
  await files.rm(path, { recursive: true, force: true }).catch(() => undefined);
}

/** The catalogue error for a failed file operation on `path`; any other error as it is. */
export function storageError(path: string, error: unknown): unknown {
  const { code, syscall, message } = error as NodeJS.ErrnoException;
  if (error instanceof ReverieError || syscall === undefined) return error;
  if (FULL.has(code ?? '')) return reverieError('STORAGE_FULL', { path }, error);
  const denied = DENIED[code ?? ''];
  if (denied !== undefined) return reverieError('STORAGE_DENIED', { path, problem: denied }, error);
  return reverieError('STORAGE_FAILED', { path, problem: message }, error);
}

export const SEAL = 'seal';

/** Stands for the negative zero while a text is written: JSON has one, which `JSON.stringify` writes as 0. */
const NEGATIVE_ZERO = '\0-0\0';

/** The file's text: the content, indented, with its seal as the last key. Its numbers are read back to the bit. */
export function sealedText(content: object): string {
  const exact = (_: string, value: unknown) => (Object.is(value, -0) ? NEGATIVE_ZERO : value);
  const text = JSON.stringify({ ...content, [SEAL]: contentHash(content) }, exact, 2);
  return `${text.replaceAll(JSON.stringify(NEGATIVE_ZERO), '-0')}\n`;
}

/** The content of a sealed text, without its seal. Throws an Error that says what is wrong with the text ("it …"). */
export function openSealed(text: string): Record<string, unknown> {
  const { [SEAL]: seal, ...content } = parseObject(text);
  if (seal === undefined) throw new Error('it has no seal');
  // Not the seals alone: different texts may be read as one number, and a changed digit is damage.
  if (sealedText(content) !== text) throw new Error('it was changed after it was written: its seal does not fit');
  return content;
}

/** Any JSON object, sealed or not. Throws an Error that says what is wrong with the text ("it …"). */
export function parseObject(text: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new Error(`it is not JSON (${(error as Error).message})`, { cause: error });
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new Error('it does not hold an object');
}
