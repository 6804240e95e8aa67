// Episodes that a training imitates, in its folder, so that a run that goes on has them all.
//
//   wins/demonstrations.jsonl   WonText, a line each
//   wins/0.jsonl                of the first round, and so on

import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { WonText, WonTexts } from '../../../algorithms/index.js';
import { reverieError } from '../../../core/errors.js';
import { ensureFolder, writeFileAtomic } from '../../../store/atomic-file.js';

/** @param out  the run's folder. `kept` throws CHECKPOINT_CORRUPT where a file of it is damaged */
export function keptWins(out: string): WonTexts {
  const folder = join(out, 'wins');
  const fileOf = (name: string) => join(folder, `${name}.jsonl`);
  return {
    async keep(name, won) {
      await ensureFolder(folder);
      await writeFileAtomic(fileOf(name), won.map((one) => `${JSON.stringify(one)}\n`).join(''));
    },
    async kept(names) {
      const found: WonText[] = [];
      for (const path of names.map(fileOf).filter((file) => existsSync(file))) found.push(...(await read(path)));
      return found;
    },
  };
}

async function read(path: string): Promise<WonText[]> {
  const lines = (await readFile(path, 'utf8')).split('\n').filter((line) => line !== '');
  try {
    return lines.map((line) => JSON.parse(line) as WonText);
  } catch (error) {
    throw reverieError('CHECKPOINT_CORRUPT', { path, problem: (error as Error).message }, error);
  }
}
