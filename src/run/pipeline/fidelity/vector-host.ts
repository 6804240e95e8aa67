// What a run knows of folders, and who opens what lies in them, for judging models of numbers.

import { existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { ReverieError } from '../../../core/errors.js';
import type { VectorHost } from '../../../fidelity/vector/ground.js';
import { readRunRecord } from '../../run-folder.js';
import { broughtModel, findInput, keptPolicies, learnerFor, plannerOf, recordsOf, resolvedSpec } from '../inputs.js';

export const vectorHost: VectorHost = {
  find: findInput,
  ownModel: broughtModel,
  environment: resolvedSpec,
  records: recordsOf,
  learner: learnerFor,
  planner: plannerOf,
  keptLearners: keptPolicies,
  trainingFolders: (model) => trainingFolders(model),
};

/**
 * Folders of transitions that a model was made from, as far as runs say: those that lie beside it, those its run was given,
 * and those of the model that it continues.
 *
 * @param model a world model's folder, or a run that holds one
 */
export function trainingFolders(model: string, known: ReadonlySet<string> = new Set()): string[] {
  const folder = resolve(model);
  if (known.has(folder) || !existsSync(folder)) return [];
  const seen = new Set([...known, folder]);
  const run = [folder, dirname(folder)].find((place) => readRunRecord(place) !== undefined) ?? folder;
  const { data, model: earlier } = readRunRecord(run)?.inputs ?? {};
  const named = data !== undefined && existsSync(data) ? transitionsIn(data) : [];
  const before = earlier === undefined ? [] : trainingFolders(earlier, seen);
  return [...new Set([...transitionsIn(run), ...named, ...before])];
}

function transitionsIn(folder: string): string[] {
  try {
    const found = findInput({ data: folder }, 'data');
    return found === undefined ? [] : [resolve(found)];
  } catch (error) {
    // A model need not lie where transitions do.
    if (error instanceof ReverieError && error.code === 'INPUT_MISSING') return [];
    throw error;
  }
}
