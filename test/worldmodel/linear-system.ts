// A linear system with known noise, on which what an ensemble learns can be held against the truth.

import type { Rng } from '../../src/core/rng.js';
import { boxSpace, unboundedSpace } from '../../src/env/space-values.js';
import { allocateBatch } from '../../src/replay/columns.js';
import type { TransitionBatch } from '../../src/replay/transition.js';
import type { Spaces } from '../../src/worldmodel/dynamics.js';

export const linearSpaces: Spaces = { observationSpace: unboundedSpace(2), actionSpace: boxSpace([-1], [1]) };

/** Standard deviation of the noise on each element of the change, and on the reward. */
export const NOISE = [0.05, 0.2];
export const REWARD_NOISE = 0.1;

/** Expected change of the observation. */
export function meanChange(x: number, y: number, u: number): [number, number] {
  return [-0.1 * x + 0.2 * y + 0.5 * u, 0.3 * x - 0.2 * y];
}

/** Expected reward. */
export function meanReward(x: number, u: number): number {
  return x - 0.5 * u;
}

/** Random transitions with obs standard normal around `centre`; ends where the next x exceeds `edge`. */
export function linearTransitions(
  rows: number,
  rng: Rng,
  { centre = 0, edge = Number.POSITIVE_INFINITY } = {},
): TransitionBatch {
  const batch = allocateBatch(rows, 2, 1);
  rng.fillNormal(batch.obs);
  rng.fillUniform(batch.action, -1, 1);
  for (let r = 0; r < rows; r++) {
    batch.obs[2 * r] += centre;
    const [x, y, u] = [batch.obs[2 * r], batch.obs[2 * r + 1], batch.action[r]];
    const [dx, dy] = meanChange(x, y, u);
    batch.nextObs[2 * r] = x + dx + NOISE[0] * rng.normal();
    batch.nextObs[2 * r + 1] = y + dy + NOISE[1] * rng.normal();
    batch.reward[r] = meanReward(x, u) + REWARD_NOISE * rng.normal();
    batch.terminated[r] = batch.nextObs[2 * r] > edge ? 1 : 0;
  }
  return batch;
}

/** Settings that fit the linear system in about a second. */
export const smallConfig = {
  ...{ members: 3, elites: 2, hidden: [32, 32], maxEpochs: 30, lr: 3e-3, patience: 3 },
  ...{ batchSize: 256, minEpochSteps: 1 },
};
