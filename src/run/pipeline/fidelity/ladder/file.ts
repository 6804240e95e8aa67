// A ladder is made once a run and kept in its folder: worker threads, and a run that goes on, judge by the same policies.

import { join } from 'node:path';
import { ensureFolder, writeFileAtomic } from '../../../../atomic-file.js';
import { readKept } from '../../../../fidelity/index.js';
import { sealedText } from '../../../../sealed-json.js';
import type { Ladder } from './recipes.js';

const FILE = 'ladder.json';

/** The kept ladder where one was made for `identity`, else that of `make`, kept. @throws CHECKPOINT_CORRUPT for a damaged file */
export async function keptLadder(folder: string, identity: string, make: () => Promise<Ladder>): Promise<Ladder> {
  const path = join(folder, FILE);
  const kept = (await readKept(path)) as { readonly identity: string; readonly ladder: Ladder } | undefined;
  if (kept?.identity === identity) return kept.ladder;
  const ladder = await make();
  await ensureFolder(folder);
  await writeFileAtomic(path, sealedText({ identity, ladder }));
  return ladder;
}
