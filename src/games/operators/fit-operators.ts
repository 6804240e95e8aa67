// Operators induced from a job's own records.

import { join } from 'node:path';
import { reverieError } from '../../core/errors.js';
import { writeFileAtomic } from '../../core/files.js';
import type { FitRequest, FittedBackend } from '../../synth/train-backend.js';
import { induceOperators } from './induce-operators.js';
import { recordedTries } from './recorded-tries.js';

/** @throws DOMAIN_UNFIT in a world whose states are no facts about objects */
export async function fitOperators({ domain, steps, folder, phase }: FitRequest): Promise<FittedBackend> {
  if (domain.rules?.scene === undefined)
    throw reverieError('DOMAIN_UNFIT', {
      problem: `The states of domain "${domain.id}" are no facts about objects, so operators cannot be found in its records.`,
      hint: 'Take a domain of PDDL games (text-games, alfworld). Rules of other domains: reverie induce FOLDER --logs RECORDS.',
    });
  const bar = phase('induce operators', 1, 'fits');
  const found = induceOperators(recordedTries(steps, domain));
  const file = join(folder, 'operators.json');
  await writeFileAtomic(file, `${JSON.stringify(found, null, 2)}\n`);
  const about = `${found.operators.length} operators from ${found.from.transitions} calls, ${found.from.accepted} of them carried out`;
  bar.end(about);
  return { settings: { file }, about, isReady: true };
}
