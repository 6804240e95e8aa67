// Learners as they were on the way, kept beside a training run's checkpoint: `policies/<real steps>/`, each a learner checkpoint
// like any other. A run that goes on from its checkpoint lives later ones again, and writes the same bytes.

import { readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { ensureFolder } from '../../core/files.js';
import { saveLearner } from '../../rl/checkpoint.js';
import type { Training } from '../../training/training.js';

export const POLICIES_FOLDER = 'policies';

/** Digits of a folder's name, so that names are in the order of steps. */
const DIGITS = 9;

export interface KeptPolicy {
  readonly realSteps: number;
  /** Of the learner checkpoint. */
  readonly folder: string;
}

/** The learner as it is now. @throws STORAGE_FULL, STORAGE_FAILED */
export async function keepPolicy(out: string, run: Training): Promise<void> {
  const folder = join(out, POLICIES_FOLDER);
  await ensureFolder(folder);
  const name = String(run.counters.realSteps).padStart(DIGITS, '0');
  await saveLearner(join(folder, name), run.parts.learner, run.learnedFrom());
}

/** Those of a run's folder, the earliest first; none for a folder that has none. */
export async function keptPolicies(run: string): Promise<KeptPolicy[]> {
  const folder = join(run, POLICIES_FOLDER);
  const names = await readdir(folder).catch(() => []);
  const kept = names.filter((name) => /^\d+$/.test(name)).sort();
  return kept.map((name) => ({ realSteps: Number(basename(name)), folder: join(folder, name) }));
}
