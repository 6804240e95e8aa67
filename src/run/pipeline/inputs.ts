// Where in a folder the user named the wanted thing lies: the folder itself, or a run that holds it.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { reverieError } from '../../errors.js';
import type { JobInputs } from '../job.js';

const PLACES = {
  data: { file: 'transitions.bin', folders: ['', 'data', 'checkpoint/real'], what: 'a replay snapshot' },
  model: { file: 'manifest.json', folders: ['model', 'checkpoint/model', ''], what: 'a world model' },
  checkpoint: { file: 'manifest.json', folders: ['learner', 'checkpoint/learner', ''], what: 'a learner checkpoint' },
} as const;

/** The folder of input `name`, or undefined if the user gave none. @throws INPUT_MISSING if it holds no such thing */
export function findInput(inputs: JobInputs, name: keyof typeof PLACES): string | undefined {
  const given = inputs[name];
  if (given === undefined) return undefined;
  const { file, folders, what } = PLACES[name];
  const found = folders.map((folder) => join(given, folder)).find((folder) => existsSync(join(folder, file)));
  if (found === undefined) throw reverieError('INPUT_MISSING', { what, path: given });
  return found;
}

/** As `findInput`, where the job cannot do without. @throws INPUT_MISSING */
export function requireInput(inputs: JobInputs, name: keyof typeof PLACES, flag: string): string {
  const found = findInput(inputs, name);
  if (found === undefined) throw reverieError('INPUT_MISSING', { what: PLACES[name].what, path: `(no ${flag})` });
  return found;
}
