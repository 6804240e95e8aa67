// A round of MBPO whose branches were all cut at their first step.

import { expect, it } from 'vitest';
import { Rng } from '../../src/core/rng.js';
import { ReplayBuffer } from '../../src/replay/buffer.js';
import { allocateBatch } from '../../src/replay/columns.js';
import { UniformSelector } from '../../src/replay/selectors.js';
import type { TransitionBatch } from '../../src/replay/transition.js';
import type { ReplayLearner } from '../../src/rl/learner.js';
import { train } from '../../src/training/loops.js';
import type { Training } from '../../src/training/training.js';

const ORIGIN = {
  scenario: 's',
  policyVersion: 'p',
  seed: 0,
  episode: Float64Array.of(0, 0),
  step: Uint32Array.of(0, 1),
};
const SHAPE = { capacity: 4, obsDim: 1, actionDim: 1 } as const;

/** One round of an open plan in which `dream` leaves nothing behind. */
function training(real: ReplayBuffer, learner: ReplayLearner): Training {
  const synthetic = new ReplayBuffer({ ...SHAPE, source: 'synthetic' });
  const selectors = { real: new UniformSelector(real), synthetic: new UniformSelector(synthetic) };
  let rounds = 0;
  const nothing = async () => {};
  const phase = () => ({ advance: () => {}, end: () => {} });
  return {
    settings: { train: { cyclesPerRound: 2, updatesPerRound: 4 } },
    parts: { real, synthetic, selectors, learner, world: {} },
    dreamPlan: { isOpen: true, starts: 8, realRatio: 0.1 },
    ports: { phase, signal: new AbortController().signal },
    isFinished: () => rounds === 1,
    beginRound: () => Rng.fromSeed(0),
    endRound: () => rounds++,
    knowsNothing: () => true,
    isEvaluationDue: () => false,
    ...{ collectAtRandom: nothing, fit: nothing, dream: nothing, checkpoint: nothing },
    ...{ countUpdates: () => {}, tell: () => {} },
  } as unknown as Training;
}

it('learns from real rows, with as many updates', async () => {
  const real = new ReplayBuffer({ ...SHAPE, source: 'real' });
  const lived = allocateBatch(2, 1, 1);
  lived.reward.set([5, 5]);
  real.append(lived, { ...ORIGIN, source: 'real', backend: 'real', modelVersion: '' });
  const batches: { readonly rewards: number[]; readonly steps: number }[] = [];
  const learner = {
    learnsFrom: 'replay',
    config: { batchSize: 3 },
    policySnapshot: () => undefined,
    update: async ({ reward }: TransitionBatch, steps: number) => {
      batches.push({ rewards: [...reward], steps });
      return {};
    },
  } as unknown as ReplayLearner;
  await train(training(real, learner));
  expect(batches).toEqual([
    { rewards: Array(6).fill(5), steps: 2 },
    { rewards: Array(6).fill(5), steps: 2 },
  ]);
});
