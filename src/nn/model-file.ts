// Reads a model file given by a user, without trusting what lies at the path.

import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { reverieError } from '../errors.js';

/** Protobuf's own limit is 2 GiB; policies and dynamics models are a thousandth of this. */
const MAX_MODEL_BYTES = 1 << 30;

/**
 * The bytes of a model file.
 * @throws MODEL_NOT_FOUND, MODEL_NOT_A_FILE (folders, pipes, devices), MODEL_TOO_LARGE
 */
export async function readModelFile(path: string, maxBytes = MAX_MODEL_BYTES): Promise<Uint8Array> {
  const file = await openModel(path);
  try {
    const stat = await file.stat();
    if (!stat.isFile()) throw reverieError('MODEL_NOT_A_FILE', { path });
    if (stat.size > maxBytes) throw reverieError('MODEL_TOO_LARGE', { path, bytes: stat.size, maxBytes });
    const bytes = Buffer.allocUnsafeSlow(stat.size);
    const { bytesRead } = await file.read(bytes, 0, stat.size, 0);
    return bytes.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

async function openModel(path: string): Promise<FileHandle> {
  try {
    // Without O_NONBLOCK, opening a named pipe would wait for a writer.
    return await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  } catch (error) {
    throw reverieError('MODEL_NOT_FOUND', { path, problem: (error as Error).message }, error);
  }
}
