// The learner a training run has: a fresh one by the scenario's settings, or one read from a checkpoint.

import { reverieError } from '../../core/errors.js';
import type { Rng } from '../../core/rng.js';
import type { VectorEnvironment } from '../../env/index.js';
import { type LearnedFrom, loadLearner, makePpo, makeSac, type Ppo, type Sac, type Spaces } from '../../rl/index.js';
import type { ScenarioConfig } from '../scenario-schema.js';
import { learnerFor } from './frozen-policy.js';

export type RunLearner = Sac | Ppo;

/** A learner that knows nothing. Throws SPACE_UNSUPPORTED. */
export function freshLearner({ rl }: ScenarioConfig, spaces: Spaces, rng: Rng): Promise<RunLearner> {
  const { algorithm, ...settings } = rl;
  return algorithm === 'sac' ? makeSac(settings, spaces, rng) : makePpo(settings, spaces, rng);
}

/** The learner of a run's own checkpoint. Throws CHECKPOINT_CORRUPT, also for another algorithm's. */
export async function savedLearner(folder: string, { rl }: ScenarioConfig): Promise<RunLearner> {
  const { learner } = await loadLearner(folder);
  if (learner.kind === rl.algorithm) return learner as RunLearner;
  const problem = `it holds a ${learner.kind} learner where ${rl.algorithm} is wanted`;
  await learner.close();
  throw reverieError('CHECKPOINT_CORRUPT', { path: folder, problem });
}

/** The learner the user named, and what it has behind it. Throws CHECKPOINT_CORRUPT, or INPUT_UNFIT also for another algorithm's. */
export async function givenLearner(
  folder: string,
  { rl }: ScenarioConfig,
  env: VectorEnvironment,
): Promise<{ learner: RunLearner; before: LearnedFrom }> {
  const { learner, manifest } = await learnerFor(env, folder);
  if (learner.kind === rl.algorithm) return { learner: learner as RunLearner, before: manifest.learnedFrom };
  await learner.close();
  const sides = { what: 'algorithm', theirs: learner.kind, ours: rl.algorithm };
  throw reverieError('INPUT_UNFIT', { path: folder, input: 'checkpoint', env: env.id, ...sides });
}
