// Every learner, continuous and discrete, through the learner's contract.

import type { Rng } from '../../src/core/rng.js';
import { makeEnvironment } from '../../src/env/make-environment.js';
import { type Bc, makeBc } from '../../src/rl/bc/bc.js';
import { makeDroq } from '../../src/rl/droq/droq.js';
import { makePets, type Pets } from '../../src/rl/pets/pets.js';
import { makePpo, type Ppo } from '../../src/rl/ppo/ppo.js';
import { makeRedq, type Redq } from '../../src/rl/redq/redq.js';
import { RolloutCollector } from '../../src/rl/rollout.js';
import { makeSac, type Sac } from '../../src/rl/sac/sac.js';
import { makeTd3Bc, type Td3Bc } from '../../src/rl/td3-bc/td3-bc.js';
import { lacksCompiler, make } from '../native/native-build.js';
import { box, randomBatch, spacesOf } from './batches.js';
import { learnerContract } from './learner-contract.js';

const reacherLike = spacesOf(5, box(2, -1, 1));

learnerContract('SAC', {
  obsDim: 5,
  actionDim: 2,
  noiseDim: 2,
  low: -1,
  high: 1,
  make: (rng) => makeSac({ hidden: [16, 16], batchSize: 8, criticLayerNorm: false }, reacherLike, rng),
  train: (learner, rng) => (learner as Sac).update(randomBatch(24, 5, 2, rng), 3, rng),
});

learnerContract('SAC with layer-normalised critics', {
  obsDim: 5,
  actionDim: 2,
  noiseDim: 2,
  low: -1,
  high: 1,
  make: (rng) => makeSac({ hidden: [16], batchSize: 8, criticLayerNorm: true, activation: 'swish' }, reacherLike, rng),
  train: (learner, rng) => (learner as Sac).update(randomBatch(8, 5, 2, rng), 1, rng),
});

const hasAddon = !lacksCompiler('contract.test.ts');
if (hasAddon) {
  make('addon');
  learnerContract('SAC by vector code', {
    obsDim: 5,
    actionDim: 2,
    noiseDim: 2,
    low: -1,
    high: 1,
    device: 'native',
    make: (rng) => makeSac({ hidden: [16, 16], batchSize: 8 }, reacherLike, rng, 'native'),
    train: (learner, rng) => (learner as Sac).update(randomBatch(24, 5, 2, rng), 3, rng),
  });
}

learnerContract('REDQ', {
  obsDim: 5,
  actionDim: 2,
  noiseDim: 2,
  low: -1,
  high: 1,
  make: (rng) => makeRedq({ hidden: [16, 16], batchSize: 8, critics: 4, policyEvery: 2 }, reacherLike, rng),
  // Three steps a call: the policy's step falls at the end of one call and within the next.
  train: (learner, rng) => (learner as Redq).update(randomBatch(24, 5, 2, rng), 3, rng),
});

learnerContract('DroQ', {
  obsDim: 5,
  actionDim: 2,
  noiseDim: 2,
  low: -1,
  high: 1,
  make: (rng) => makeDroq({ hidden: [16], batchSize: 8, dropout: 0.2, policyEvery: 2 }, reacherLike, rng),
  train: (learner, rng) => (learner as Redq).update(randomBatch(24, 5, 2, rng), 3, rng),
});

learnerContract('TD3+BC', {
  obsDim: 5,
  actionDim: 2,
  noiseDim: 2,
  low: -1,
  high: 1,
  make: (rng) => makeTd3Bc({ hidden: [16, 16], batchSize: 8 }, reacherLike, rng),
  // Three steps a call: the policy's step falls within the first call, and at both ends of the second.
  train: (learner, rng) => (learner as Td3Bc).update(randomBatch(24, 5, 2, rng), 3, rng),
});

learnerContract('PETS, the policy that it teaches', {
  obsDim: 5,
  actionDim: 2,
  noiseDim: 2,
  low: -1,
  high: 1,
  make: (rng) => makePets({ hidden: [16] }, reacherLike, rng),
  train: (learner, rng) => (learner as Pets).update(randomBatch(50, 5, 2, rng), 3, rng),
});

learnerContract('PPO with a Box', {
  obsDim: 3,
  actionDim: 1,
  noiseDim: 1,
  low: -2,
  high: 2,
  make: async (rng) =>
    makePpo({ hidden: [16], batchSize: 16, epochs: 2 }, await makeEnvironment({ id: 'pendulum' }), rng),
  train: (learner, rng) => trainPpo(learner as Ppo, 'pendulum', rng),
});

learnerContract('PPO with a Discrete', {
  obsDim: 4,
  actionDim: 1,
  noiseDim: 2,
  low: 0,
  high: 1,
  make: async (rng) =>
    makePpo({ hidden: [16], batchSize: 16, epochs: 2 }, await makeEnvironment({ id: 'cartpole' }), rng),
  train: (learner, rng) => trainPpo(learner as Ppo, 'cartpole', rng),
});

async function trainPpo(ppo: Ppo, id: string, rng: Rng): Promise<void> {
  const envs = await Promise.all([0, 1].map(() => makeEnvironment({ id })));
  const rollout = await new RolloutCollector(envs, rng.int(1000)).collect(ppo, 20, rng);
  await ppo.update(rollout, rng);
}

learnerContract('cloning of a Box', {
  obsDim: 5,
  actionDim: 2,
  noiseDim: 2,
  low: -1,
  high: 1,
  make: (rng) => makeBc({ hidden: [16], loss: 'nll', weightDecay: 0.01 }, reacherLike, rng),
  train: (learner, rng) => (learner as Bc).update(randomBatch(50, 5, 2, rng), 3, rng),
});

learnerContract('cloning of a Discrete', {
  obsDim: 5,
  actionDim: 1,
  noiseDim: 3,
  low: 2,
  high: 4,
  make: (rng) => makeBc({ hidden: [16] }, spacesOf(5, { type: 'discrete', n: 3, start: 2 }), rng),
  train: (learner, rng) => {
    const batch = randomBatch(50, 5, 1, rng);
    return (learner as Bc).update({ ...batch, action: batch.action.map(() => 2 + rng.int(3)) }, 3, rng);
  },
});
