// The learner of a checkpoint the user named, checked against the environment it is to act in.

import { reverieError } from '../../core/errors.js';
import { describeSpace, type VectorEnvironment } from '../../env/index.js';
import { type LoadedLearner, loadLearner } from '../../rl/index.js';

/** The learner in `folder`. Throws CHECKPOINT_CORRUPT, or INPUT_UNFIT if it learned to act in other spaces than `env`'s. */
export async function learnerFor(env: VectorEnvironment, folder: string): Promise<LoadedLearner> {
  const { learner, manifest } = await loadLearner(folder);
  try {
    for (const space of ['observationSpace', 'actionSpace'] as const) {
      const theirs = describeSpace(manifest.spaces[space] as VectorEnvironment[typeof space]);
      const ours = describeSpace(env[space]);
      if (theirs === ours) continue;
      const what = space === 'actionSpace' ? 'action space' : 'observation space';
      throw reverieError('INPUT_UNFIT', { path: folder, input: 'checkpoint', env: env.id, what, theirs, ours });
    }
    return { learner, manifest };
  } catch (error) {
    await learner.close();
    throw error;
  }
}
