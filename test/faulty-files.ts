// File operations that fail or "crash" at the n-th call, so that a test can cut a writer at every boundary.

import * as nodeFiles from 'node:fs/promises';
import type { FileSystem } from '../src/core/files.js';

export interface Fault {
  /** Which call fails, from 1. */
  readonly at: number;
  /** `error`: that call alone fails. `crash`: it and all after it fail, as if the process were gone; writes tear. */
  readonly kind: 'error' | 'crash';
  readonly code?: string;
}

export interface FaultyFiles {
  readonly files: FileSystem;
  /** Calls made so far. */
  calls(): number;
}

type FileHandle = Awaited<ReturnType<FileSystem['open']>>;

export function faultyFiles({ at, kind, code = 'EIO' }: Fault): FaultyFiles {
  let calls = 0;
  const fails = (): boolean => {
    calls++;
    return kind === 'error' ? calls === at : calls >= at;
  };
  const failure = (syscall: string): Error =>
    Object.assign(new Error(`${code}: injected, ${syscall}`), { code, syscall });
  const guard = <A extends unknown[], R>(syscall: string, call: (...args: A) => Promise<R>) => {
    return async (...args: A): Promise<R> => {
      if (fails()) throw failure(syscall);
      return call(...args);
    };
  };
  const guardHandle = (handle: FileHandle): FileHandle => {
    const write = async (bytes: Uint8Array, offset: number, length: number) => {
      if (!fails()) return handle.write(bytes, offset, Math.max(1, Math.ceil(length / 2)));
      if (kind === 'crash' && calls === at) await handle.write(bytes, offset, Math.floor(length / 3));
      throw failure('write');
    };
    const sync = guard('fsync', () => handle.sync());
    // A failing close still frees the descriptor, as close(2) does.
    const close = async (): Promise<void> => {
      await handle.close();
      if (fails()) throw failure('close');
    };
    return { write, sync, close } as unknown as FileHandle;
  };
  const files = {
    open: guard('open', async (path: string, flags: string) => guardHandle(await nodeFiles.open(path, flags))),
    rename: guard('rename', nodeFiles.rename),
    mkdir: guard('mkdir', nodeFiles.mkdir),
    rm: guard('rm', nodeFiles.rm),
    readdir: guard('scandir', nodeFiles.readdir as (...args: unknown[]) => Promise<unknown>),
    stat: guard('stat', nodeFiles.stat as (...args: unknown[]) => Promise<unknown>),
  } as unknown as FileSystem;
  return { files, calls: () => calls };
}
