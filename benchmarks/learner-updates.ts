// Gradient steps of a learner on rows made up, as benchmarks time them.

import { Rng } from '../src/core/rng.js';
import { boxSpace, unboundedSpace } from '../src/env/space-values.js';
import type { TrainingDevice } from '../src/nn/trainer.js';
import { allocateBatch } from '../src/replay/batch.js';
import type { ReplayLearner } from '../src/rl/learner.js';
import { makeLearner } from '../src/rl/learners.js';

export interface UpdateShape {
  readonly obsDim: number;
  readonly actionDim: number;
  readonly hidden: readonly number[];
  readonly batchSize: number;
  /** Gradient steps of a round. */
  readonly steps: number;
}

/** What answers the gradient steps a second of a learner, call after call. */
export async function updates(
  learner: string,
  device: TrainingDevice,
  { obsDim, actionDim, hidden, batchSize, steps }: UpdateShape,
) {
  const spaces = {
    observationSpace: unboundedSpace(obsDim),
    actionSpace: boxSpace(new Array(actionDim).fill(-1), new Array(actionDim).fill(1)),
  };
  const rng = Rng.fromSeed(0);
  const settings = { hidden, batchSize };
  const made = (await makeLearner(learner, settings, spaces, rng.split('learner'), device)) as ReplayLearner;
  const batch = allocateBatch(steps * batchSize, obsDim, actionDim);
  rng.fillUniform(batch.action, -1, 1);
  for (const column of [batch.obs, batch.nextObs, batch.reward]) rng.fillNormal(column);
  const rate = async () => {
    const start = performance.now();
    await made.update(batch, steps, rng);
    return steps / ((performance.now() - start) / 1000);
  };
  return { rate, close: () => made.close() };
}
