// Bytes of an open file from a place on: one read may come back with fewer than were asked for, wherever it is.

import type { FileHandle } from 'node:fs/promises';

/** Fills `target`; how many bytes there were. Fewer than it takes: the file ends there. */
export async function fillFrom(file: FileHandle, target: Uint8Array, at: number): Promise<number> {
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
