// A ladder is made once a run and kept in its folder: worker threads, and a run that goes on, judge by the same policies.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ensureFolder, writeFileAtomic } from '../../../../atomic-file.js';
import { reverieError } from '../../../../errors.js';
import { openSealed, sealedText } from '../../../../sealed-json.js';
import type { Ladder } from './recipes.js';

const FILE = 'ladder.json';

/** The kept ladder where one was made for `identity`, else that of `make`, kept. @throws CHECKPOINT_CORRUPT for a damaged file */
export async function keptLadder(folder: string, identity: string, make: () => Promise<Ladder>): Promise<Ladder> {
  const path = join(folder, FILE);
  const text = await readFile(path, 'utf8').catch(() => undefined);
  const kept = text === undefined ? undefined : opened(path, text);
  if (kept?.identity === identity) return kept.ladder;
  const ladder = await make();
  await ensureFolder(folder);
  await writeFileAtomic(path, sealedText({ identity, ladder }));
  return ladder;
}

function opened(path: string, text: string): { readonly identity: string; readonly ladder: Ladder } {
  try {
    return openSealed(text) as { identity: string; ladder: Ladder };
  } catch (error) {
    throw reverieError('CHECKPOINT_CORRUPT', { path, problem: (error as Error).message }, error);
  }
}
