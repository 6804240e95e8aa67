// The policy of a checkpoint the user named, to act with as it is.

import { describeSpace, type VectorEnvironment } from '../../env/index.js';
import { reverieError } from '../../errors.js';
import { type Learner, loadLearner } from '../../rl/index.js';

/** The learner in `folder`. Throws CHECKPOINT_CORRUPT, or INPUT_UNFIT if it learned to act in other spaces than `env`'s. */
export async function learnerFor(env: VectorEnvironment, folder: string): Promise<Learner> {
  const { learner, manifest } = await loadLearner(folder);
  try {
    for (const space of ['observationSpace', 'actionSpace'] as const) {
      const theirs = describeSpace(manifest.spaces[space] as VectorEnvironment[typeof space]);
      const ours = describeSpace(env[space]);
      if (theirs === ours) continue;
      const what = space === 'actionSpace' ? 'action space' : 'observation space';
      throw reverieError('INPUT_UNFIT', { path: folder, input: 'checkpoint', env: env.id, what, theirs, ours });
    }
    return learner;
  } catch (error) {
    await learner.close();
    throw error;
  }
}
