// What was measured or prepared once and lies on disk, sealed.

import { readFile } from 'node:fs/promises';
import { reverieError } from '../errors.js';
import { openSealed } from '../sealed-json.js';

/** The content of a sealed file; undefined where there is none. @throws CHECKPOINT_CORRUPT for a damaged one */
export async function readKept(path: string): Promise<object | undefined> {
  const text = await readFile(path, 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  try {
    return openSealed(text);
  } catch (error) {
    throw reverieError('CHECKPOINT_CORRUPT', { path, problem: (error as Error).message }, error);
  }
}
