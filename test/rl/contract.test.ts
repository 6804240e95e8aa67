// Every learner, continuous and discrete, through the learner's contract.

import { expect, it } from 'vitest';
import { Rng } from '../../src/core/rng.js';
import { makeEnvironment } from '../../src/env/environments.js';
import type { TrainingDevice } from '../../src/nn/trainer.js';
import { type Bc, makeBc } from '../../src/rl/bc.js';
import { makePets, type Pets } from '../../src/rl/icem.js';
import type { Learner, ReplayLearner } from '../../src/rl/learner.js';
import { makePpo, type Ppo } from '../../src/rl/ppo.js';
import { makeDroq, makeRedq, makeSac, makeSimba } from '../../src/rl/soft-actor-critic.js';
import { makeTd3Bc } from '../../src/rl/td3-bc.js';
import { lacksCompiler, make } from '../native/native-build.js';
import { box, randomBatch, spacesOf } from './batches.js';
import { learnerContract } from './learner-contract.js';
import { RolloutCollector } from './rollouts.js';

const SPACES = spacesOf(5, box(2, -1, 1));
const SHAPE = { obsDim: 5, actionDim: 2, noiseDim: 2, low: -1, high: 1 };

/** A learner of replayed rows; three steps a call, so that steps of a policy fall within calls and at their ends. */
function replays(name: string, made: (rng: Rng) => Promise<Learner>, device?: TrainingDevice): void {
  learnerContract(name, {
    ...SHAPE,
    device,
    make: made,
    train: (learner, rng) => (learner as ReplayLearner).update(randomBatch(24, 5, 2, rng), 3, rng),
  });
}

const SAC = { hidden: [16, 16], batchSize: 8 };
replays('SAC', (rng) => makeSac({ ...SAC, criticLayerNorm: false }, SPACES, rng));
if (!lacksCompiler('contract.test.ts')) {
  make('addon');
  replays('SAC by vector code', (rng) => makeSac(SAC, SPACES, rng, 'native'), 'native');
}
replays('REDQ', (rng) => makeRedq({ ...SAC, critics: 4, policyEvery: 2 }, SPACES, rng));
replays('DroQ', (rng) => makeDroq({ hidden: [16], batchSize: 8, dropout: 0.2, policyEvery: 2 }, SPACES, rng));
replays('SimBa', async (rng) => {
  const learner = await makeSimba({ ...SAC, policyEvery: 2 }, SPACES, rng);
  learner.standardise(randomBatch(24, 5, 2, rng).obs);
  return learner;
});
replays('TD3+BC', (rng) => makeTd3Bc(SAC, SPACES, rng));

learnerContract('PETS, the policy that it teaches', {
  ...SHAPE,
  make: (rng) => makePets({ hidden: [16] }, SPACES, rng),
  train: (learner, rng) => (learner as Pets).update(randomBatch(50, 5, 2, rng), 3, rng),
});

it('PETS exports no policy before it taught one', async () => {
  const learner = await makePets({ hidden: [16] }, SPACES, Rng.fromSeed(1));
  expect(learner.policyModel()).toBeUndefined();
  await learner.close();
});

for (const [id, shape] of [
  ['pendulum', { obsDim: 3, actionDim: 1, noiseDim: 1, low: -2, high: 2 }],
  ['cartpole', { obsDim: 4, actionDim: 1, noiseDim: 2, low: 0, high: 1 }],
] as const) {
  learnerContract(`PPO in ${id}`, {
    ...shape,
    make: async (rng) => makePpo({ hidden: [16], batchSize: 16, epochs: 2 }, await makeEnvironment({ id }), rng),
    train: async (learner, rng) => {
      const envs = await Promise.all([0, 1].map(() => makeEnvironment({ id })));
      const rollout = await new RolloutCollector(envs, rng.int(1000)).collect(learner as Ppo, 20, rng);
      await (learner as Ppo).update(rollout, rng);
    },
  });
}

learnerContract('cloning of a Box', {
  ...SHAPE,
  make: (rng) => makeBc({ hidden: [16], loss: 'nll' }, SPACES, rng),
  train: (learner, rng) => (learner as Bc).update(randomBatch(50, 5, 2, rng), 3, rng),
});

learnerContract('cloning of a Discrete', {
  ...{ obsDim: 5, actionDim: 1, noiseDim: 3, low: 2, high: 4 },
  make: (rng) => makeBc({ hidden: [16] }, spacesOf(5, { type: 'discrete', n: 3, start: 2 }), rng),
  train: (learner, rng) => {
    const batch = randomBatch(50, 5, 1, rng);
    return (learner as Bc).update({ ...batch, action: batch.action.map(() => 2 + rng.int(3)) }, 3, rng);
  },
});
