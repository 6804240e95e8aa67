// A stored world model is a folder: manifest.json (sealed), and the files it names with their hashes. Reading trusts nothing.

import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { open, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { z } from 'zod';
import { reverieError } from '../core/errors.js';
import { openSealed, parseObject, recoverFolder, replaceFolderAtomic, SEAL, sealedText } from '../core/files.js';

export const MANIFEST = 'manifest.json';

/** Name to SHA-256, in hex. */
export const fileHashesSchema = z.record(z.string(), z.string().regex(/^[0-9a-f]{64}$/));

const MAX_FILE_BYTES = 1 << 30;
const CORRUPT_HINT = 'Restore the folder from a copy, or fit the model again.';

/** Replaces `folder` by the manifest (to which `files`, the hashes, and the seal are added) and the files, atomically. */
export async function writeModelFolder(
  folder: string,
  manifest: Record<string, unknown>,
  files: Readonly<Record<string, Uint8Array>>,
): Promise<void> {
  const hashes = Object.fromEntries(Object.entries(files).map(([name, bytes]) => [name, sha256(bytes)]));
  await replaceFolderAtomic(folder, async (temporary) => {
    for (const [name, bytes] of Object.entries(files)) await writeFile(join(temporary, name), bytes);
    await writeFile(join(temporary, MANIFEST), sealedText({ ...manifest, files: hashes }));
  });
}

/**
 * The manifest of a folder, unchecked but for its seal. Only dynamics of a user's own come without one, and without the
 * `files` that we add. Throws MODEL_FILE_INVALID.
 */
export async function readManifest(folder: string): Promise<Record<string, unknown>> {
  await recoverFolder(folder);
  const text = Buffer.from(await readModelPart(folder, MANIFEST)).toString('utf8');
  try {
    const manifest = parseObject(text);
    return SEAL in manifest || 'files' in manifest ? openSealed(text) : manifest;
  } catch (error) {
    throw folderInvalid(folder, `${MANIFEST} is damaged: ${(error as Error).message}.`, CORRUPT_HINT, error);
  }
}

/** A file of the folder whose hash must be `expected`, where one is given. Throws MODEL_FILE_INVALID. */
export async function readModelPart(folder: string, name: string, expected?: string): Promise<Uint8Array> {
  if (name !== basename(name) || name === '..' || name === '.') {
    throw folderInvalid(folder, `it names the file "${name}", which is not a plain name.`);
  }
  const bytes = await readRegularFile(folder, name);
  if (expected === undefined || sha256(bytes) === expected) return bytes;
  throw folderInvalid(folder, `"${name}" is damaged: its SHA-256 is not the one in ${MANIFEST}.`);
}

export function folderInvalid(path: string, problem: string, hint = CORRUPT_HINT, cause?: unknown): Error {
  return reverieError(
    'MODEL_FILE_INVALID',
    { problem: `World model "${path}" cannot be loaded: ${problem}`, hint },
    cause,
  );
}

export function sha256(bytes: Uint8Array | string): string {
  return createHash('sha256').update(bytes).digest('hex');
}

async function readRegularFile(folder: string, name: string): Promise<Uint8Array> {
  try {
    // Without O_NONBLOCK, opening a named pipe would wait for a writer.
    const file = await open(join(folder, name), constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    try {
      const stat = await file.stat();
      if (!stat.isFile()) throw new Error('it is not a regular file');
      if (stat.size > MAX_FILE_BYTES) throw new Error(`it has ${stat.size} bytes, more than ${MAX_FILE_BYTES}`);
      return await file.readFile();
    } finally {
      await file.close();
    }
  } catch (error) {
    const hint = name === MANIFEST ? 'Give the folder that a world model was saved in.' : CORRUPT_HINT;
    throw folderInvalid(folder, `"${name}" cannot be read: ${(error as Error).message}.`, hint, error);
  }
}
