// The recorded transitions the user named.

import { reverieError } from '../../core/errors.js';
import { rowSize, type VectorEnvironment } from '../../env/index.js';
import { ReplayBuffer } from '../../replay/index.js';

/** The buffer in `folder`, in a ring of `capacity` where given. Throws CHECKPOINT_CORRUPT, or INPUT_UNFIT if its rows are not such as `env` gives. */
export async function recordsOf(env: VectorEnvironment, folder: string, capacity?: number): Promise<ReplayBuffer> {
  const buffer = await ReplayBuffer.load(folder, { capacity });
  const [theirs, ours] = [
    [buffer.obsDim, buffer.actionDim],
    [rowSize(env.observationSpace), rowSize(env.actionSpace)],
  ].map(([obsDim, actionDim]) => `${obsDim} observation and ${actionDim} action numbers`);
  if (theirs === ours) return buffer;
  throw reverieError('INPUT_UNFIT', { path: folder, input: 'data', env: env.id, what: 'row', theirs, ours });
}
