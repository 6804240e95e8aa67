// The learner a training run has: a fresh one by the scenario's settings, or one read from a checkpoint.

import { reverieError } from '../../errors.js';
import { type LearnedFrom, loadLearner, makePpo, makeSac, type Ppo, type Sac, type Spaces } from '../../rl/index.js';
import type { Rng } from '../../rng.js';
import type { ScenarioConfig } from '../scenario-schema.js';

export type RunLearner = Sac | Ppo;

/** A learner that knows nothing. Throws SPACE_UNSUPPORTED. */
export function freshLearner({ rl }: ScenarioConfig, spaces: Spaces, rng: Rng): Promise<RunLearner> {
  const { algorithm, ...settings } = rl;
  return algorithm === 'sac' ? makeSac(settings, spaces, rng) : makePpo(settings, spaces, rng);
}

/** The learner of a checkpoint, and what it has behind it. Throws CHECKPOINT_CORRUPT, also for another algorithm's. */
export async function savedLearner(
  folder: string,
  { rl }: ScenarioConfig,
): Promise<{ learner: RunLearner; learnedFrom: LearnedFrom }> {
  const { learner, manifest } = await loadLearner(folder);
  if (learner.kind !== rl.algorithm) {
    const problem = `it holds a ${learner.kind} learner where ${rl.algorithm} is wanted`;
    await learner.close();
    throw reverieError('CHECKPOINT_CORRUPT', { path: folder, problem });
  }
  return { learner: learner as RunLearner, learnedFrom: manifest.learnedFrom };
}
