// What lost a run's episodes, kept in its folder for a run that aims new tasks at it.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { reverieError } from '../../../core/errors.js';
import type { ToolsDomain } from '../../../env/index.js';
import { writeFileAtomic } from '../../../store/atomic-file.js';
import { openSealed, sealedText } from '../../../store/sealed-json.js';
import type { Deficit } from '../../../synth/index.js';

const DEFICITS_FILE = 'deficits.json';
const FORMAT = 'reverie-deficits/1';

const share = z.strictObject({ succeeded: z.int(), of: z.int() }).nullable();
const fileSchema = z.object({
  format: z.literal(FORMAT),
  domain: z.string(),
  deficits: z.array(
    z.strictObject({ name: z.string(), lost: z.int(), tasks: z.array(z.string()), needed: share, elsewhere: share }),
  ),
});

export async function writeDeficits(
  folder: string,
  { id }: Pick<ToolsDomain, 'id'>,
  deficits: readonly Deficit[],
): Promise<void> {
  await writeFileAtomic(join(folder, DEFICITS_FILE), sealedText({ format: FORMAT, domain: id, deficits }));
}

/** Those of a run on the same domain. @throws CHECKPOINT_CORRUPT, AIM_EMPTY */
export async function readDeficits(folder: string, { id }: Pick<ToolsDomain, 'id'>): Promise<readonly Deficit[]> {
  const path = join(folder, DEFICITS_FILE);
  const { domain, deficits } = await readFileOf(path);
  if (domain !== id) throw reverieError('AIM_EMPTY', { problem: `"${path}" is of domain "${domain}", not "${id}".` });
  if (deficits.length === 0) {
    throw reverieError('AIM_EMPTY', { problem: `"${path}" names nothing that lost an episode.` });
  }
  return deficits;
}

async function readFileOf(path: string): Promise<z.output<typeof fileSchema>> {
  try {
    return fileSchema.parse(openSealed(await readFile(path, 'utf8')));
  } catch (error) {
    throw reverieError('CHECKPOINT_CORRUPT', { path, problem: (error as Error).message }, error);
  }
}
