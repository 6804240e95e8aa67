// Known reward and end of a stored world model: functions cannot be stored, so the environment that has them is named.

import { reverieError } from '../core/errors.js';
import { type EnvSpec, type KnownFunctions, makeEnvironment } from '../env/index.js';
import type { Outcome } from './answer.js';

/**
 * The functions a stored model uses, from the environment it names; none if it uses none.
 * Throws MODEL_FOLDER_INVALID if that environment knows no reward where one is used, and what `makeEnvironment` throws.
 */
export async function reviveKnown(outcome: Outcome, env: EnvSpec | undefined, path: string): Promise<KnownFunctions> {
  if (outcome.reward !== 'known' && outcome.terminated !== 'known') return {};
  const hint = 'Restore manifest.json as it was saved.';
  if (env === undefined) {
    throw reverieError('MODEL_FOLDER_INVALID', { path, problem: 'it uses known functions but names no "env".', hint });
  }
  const environment = await makeEnvironment(env);
  const { known = {} } = environment;
  environment.close();
  if (outcome.reward === 'known' && !known.reward) {
    const problem = `environment ${JSON.stringify(env)} has no known reward function.`;
    throw reverieError('MODEL_FOLDER_INVALID', { path, problem, hint });
  }
  return known;
}

/** Throws MODEL_NOT_PORTABLE if another thread could not revive the functions. */
export function requirePortable(outcome: Outcome, env: EnvSpec | undefined): void {
  if (env !== undefined || (outcome.reward !== 'known' && outcome.terminated !== 'known')) return;
  throw reverieError('MODEL_NOT_PORTABLE', { problem: 'it uses known functions of no named environment.' });
}
