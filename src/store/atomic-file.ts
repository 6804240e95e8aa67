// Writing that survives anything: after a kill, a power cut or a full disk a path holds either what it held before or
// the whole of what was being written, never a mixture. One writer a path at a time is assumed.

import * as nodeFiles from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { ReverieError, reverieError } from '../core/errors.js';

/** The file operations used here; tests put failing ones in their place. */
export type FileSystem = Pick<typeof nodeFiles, 'open' | 'rename' | 'mkdir' | 'rm' | 'readdir' | 'stat'>;

/** Whole content, or pieces of it in order. */
export type FileContent = string | Uint8Array | Iterable<Uint8Array> | AsyncIterable<Uint8Array>;

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

/** Creates a folder and those above it, durably. Throws STORAGE_FULL or STORAGE_FAILED. */
export async function ensureFolder(path: string, files: FileSystem = nodeFiles): Promise<void> {
  try {
    const first = await files.mkdir(path, { recursive: true });
    if (first === undefined) return;
    for (let folder = resolve(path); folder.length >= resolve(first).length; folder = dirname(folder)) {
      await syncPath(dirname(folder), files);
    }
  } catch (error) {
    throw storageError(path, await reasonOf(path, error, files));
  }
}

/** Node says "not found" of a folder that could not be made on a read-only file system: the nearest one that exists knows why. */
async function reasonOf(path: string, error: unknown, files: FileSystem): Promise<unknown> {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') return error;
  for (let folder = dirname(resolve(path)); ; folder = dirname(folder)) {
    if (!(await exists(folder, files)) && folder !== dirname(folder)) continue;
    return nodeFiles.access(folder, nodeFiles.constants.W_OK).then(
      () => error,
      (reason: unknown) => reason,
    );
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
 * Finishes a swap that a kill cut in two. Call before opening a folder that `replaceFolderAtomic` writes; does nothing
 * to a folder that is in place.
 */
export async function recoverFolder(path: string, files: FileSystem = nodeFiles): Promise<void> {
  const { target, next, previous } = swapPaths(path);
  // The old folder is moved away only once the new one is complete and synced, so whoever finds it moved and the
  // target missing may finish the swap.
  if ((await exists(target, files)) || !(await exists(previous, files))) return;
  const complete = (await exists(next, files)) ? next : previous;
  try {
    await files.rename(complete, target);
    await syncPath(dirname(target), files);
  } catch (error) {
    throw storageError(path, error);
  }
  await removeQuietly(previous, files);
}

function swapPaths(path: string): { target: string; next: string; previous: string } {
  const target = resolve(path);
  return { target, next: `${target}.new`, previous: `${target}.old` };
}

async function swapIn(target: string, next: string, previous: string, files: FileSystem): Promise<void> {
  if (!(await exists(target, files))) {
    await files.rename(next, target);
  } else {
    await files.rename(target, previous);
    try {
      await files.rename(next, target);
    } catch (error) {
      await files.rename(previous, target);
      throw error;
    }
  }
  await syncPath(dirname(target), files);
}

async function writeSynced(path: string, content: FileContent, files: FileSystem): Promise<void> {
  const file = await files.open(path, 'w');
  try {
    for await (const piece of pieces(content)) {
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

function pieces(content: FileContent): Iterable<Uint8Array> | AsyncIterable<Uint8Array> {
  if (typeof content === 'string') return [new TextEncoder().encode(content)];
  return content instanceof Uint8Array ? [content] : content;
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
      if (error.code === 'ENOENT') return false;
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
