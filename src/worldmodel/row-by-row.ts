// Rows of different episodes asked one after the other: for models whose answer to a row depends on the batch it is in, be it
// by a last bit.

import type { Rng } from '../core/rng.js';
import { checkStepInput } from './input-check.js';
import { rowShape } from './model-spaces.js';
import type { StepOptions, VectorPrediction, VectorWorldModel } from './world-model.js';

/** What `model.step` says of each row with its own stream, as one prediction. Throws as it does, naming row 0 of the row. */
export async function rowByRow(
  model: VectorWorldModel,
  obs: Float32Array,
  action: Float32Array,
  rngs: readonly Rng[],
  options: StepOptions,
): Promise<VectorPrediction> {
  const rows = rngs.length;
  checkStepInput(model.backend, model, obs, action, rows);
  const { obsDim, actionDim } = rowShape(model);
  const nextObs = new Float32Array(rows * obsDim);
  const reward = new Float32Array(rows);
  const terminated = new Uint8Array(rows);
  const disagreement = options.disagreement ? new Float32Array(rows) : undefined;
  for (let r = 0; r < rows; r++) {
    const oneObs = obs.slice(r * obsDim, (r + 1) * obsDim);
    const oneAction = action.slice(r * actionDim, (r + 1) * actionDim);
    const answer = await model.step(oneObs, oneAction, 1, rngs[r], options);
    nextObs.set(answer.nextObs, r * obsDim);
    reward.set(answer.reward, r);
    terminated.set(answer.terminated, r);
    if (answer.disagreement) disagreement?.set(answer.disagreement, r);
  }
  return { nextObs, reward, terminated, disagreement };
}
