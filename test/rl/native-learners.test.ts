// Gradient steps of actor-critics by vector code against those of ONNX Runtime, which define them; and the same bytes whatever
// the width.

import { createHash } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { Rng } from '../../src/core/rng.js';
import type { TrainingDevice } from '../../src/nn/trainer.js';
import { withDecisions } from '../../src/rl/auto-settings.js';
import { sacConfigSchema } from '../../src/rl/config.js';
import type { ReplayLearner } from '../../src/rl/learner.js';
import { makeLearner } from '../../src/rl/learners.js';
import { adamSchedule, withMoments } from '../../src/rl/network-learner.js';
import { policyNet } from '../../src/rl/policy-net.js';
import { sacDesign } from '../../src/rl/soft-actor-critic.js';
import { layoutsOf, trainersOf } from '../../src/rl/soft-actor-critic-graph.js';
import { boxActions } from '../../src/rl/spaces.js';
import { distance, inEveryWidth, lacksCompiler, make } from '../native/native-build.js';
import { box, randomBatch, spacesOf } from './batches.js';

interface Case {
  readonly kind: 'sac' | 'redq' | 'droq' | 'simba';
  readonly obsDim: number;
  readonly actionDim: number;
  readonly settings: Record<string, unknown>;
}

/** Sizes that fill vectors and blocks of rows, and such as do not. */
const CASES: Readonly<Record<string, Case>> = {
  'SAC as by default': { kind: 'sac', obsDim: 3, actionDim: 1, settings: {} },
  'SAC with several blocks of rows, the last one cut': {
    ...{ kind: 'sac', obsDim: 17, actionDim: 6 },
    settings: { hidden: [40, 33], batchSize: 150, lr: 3e-4, tau: 0.2, rewardScale: 0.5 },
  },
  'SAC with three layers of tanh without normalisation': {
    ...{ kind: 'sac', obsDim: 5, actionDim: 2 },
    settings: { hidden: [19, 7, 12], activation: 'tanh', criticLayerNorm: false, batchSize: 5, targetEntropy: -3 },
  },
  'REDQ of ten critics': { kind: 'redq', obsDim: 3, actionDim: 1, settings: { hidden: [24, 17], policyEvery: 4 } },
  'REDQ of three critics, all drawn, several blocks of rows': {
    ...{ kind: 'redq', obsDim: 17, actionDim: 6 },
    settings: { critics: 3, drawn: 3, policyEvery: 2, hidden: [40, 33], batchSize: 150, activation: 'swish' },
  },
  'SimBa, three blocks, several blocks of rows': {
    ...{ kind: 'simba', obsDim: 11, actionDim: 3 },
    settings: { hidden: [20, 20, 20], policyEvery: 2, batchSize: 150, activation: 'tanh' },
  },
  SimBa: { kind: 'simba', obsDim: 4, actionDim: 2, settings: { policyEvery: 2, lr: 1e-4 } },
  DroQ: { kind: 'droq', obsDim: 4, actionDim: 2, settings: { hidden: [40, 33], batchSize: 70, policyEvery: 2 } },
};

/** Of the learned arrays. */
const GOLDEN: Readonly<Record<string, string>> = {
  'SAC as by default': '78c2a40bfb60d971',
  'SAC with three layers of tanh without normalisation': '874d71d84e35d59b',
  'REDQ of ten critics': '95f1e6223ab1faf7',
  DroQ: 'ff52388cf22c8122',
};

const STEPS = 4;

/** Parameters move by thousandths in these steps, by Adam also where a gradient is nearly nothing; moments are gradients, which sums in another order round differently. */
const limitOf = (name: string) => (['theta', 'critics', 'target'].includes(name) ? 1e-4 : 2e-4);

async function learned(device: TrainingDevice, { kind, obsDim, actionDim, settings }: Case) {
  const spaces = spacesOf(obsDim, box(actionDim, -2, 1));
  const learner = (await makeLearner(kind, settings, spaces, Rng.fromSeed(1), device)) as ReplayLearner;
  const rows = STEPS * learner.config.batchSize;
  const batch = randomBatch(rows, obsDim, actionDim, Rng.fromSeed(2));
  const weights = Rng.fromSeed(3).fillUniform(new Float32Array(rows), 0.2, 1);
  const metrics = await learner.update(batch, STEPS, Rng.fromSeed(4), weights);
  const state = learner.state();
  await learner.close();
  return { metrics: metrics as Readonly<Record<string, number>>, ...state };
}

describe.skipIf(lacksCompiler('native-learners.test.ts'))('learners by vector code', () => {
  beforeAll(() => make('addon'));

  it.each(Object.entries(CASES))('learn what ONNX Runtime learns: %s', async (_, c) => {
    const [ours, reference] = [await learned('native', c), await learned('cpu', c)];
    expect(ours.meta).toEqual(reference.meta);
    for (const [name, values] of Object.entries(reference.arrays)) {
      expect(distance(ours.arrays[name], values), name).toBeLessThan(limitOf(name));
    }
    expect(Object.keys(ours.metrics)).toEqual(Object.keys(reference.metrics));
    for (const [name, value] of Object.entries(reference.metrics)) expect(ours.metrics[name]).toBeCloseTo(value, 5);
  });

  it.each(Object.entries(CASES))('have the same bytes whatever the width: %s', async (_, c) => {
    const states = await inEveryWidth(async () => (await learned('native', c)).arrays);
    for (const state of states) expect(state).toEqual(states[0]);
    expect(states.length).toBeGreaterThan(1);
  });

  it('learn what they learnt when they were held against a reference in float64', async () => {
    const hashes: Record<string, string> = {};
    for (const name of Object.keys(GOLDEN)) {
      const hash = createHash('sha256');
      const { arrays } = await learned('native', CASES[name]);
      for (const array of Object.keys(arrays).sort()) hash.update(new Uint8Array(arrays[array].buffer));
      hashes[name] = hash.digest('hex').slice(0, 16);
    }
    expect(hashes).toEqual(GOLDEN);
  });

  it('refuse what does not fill their steps, as ONNX Runtime does', async () => {
    const spaces = spacesOf(2, box(1, -1, 1));
    const config = withDecisions(sacConfigSchema.parse({ hidden: [8], batchSize: 4 }), spaces);
    const net = policyNet(spaces, config, boxActions(spaces.actionSpace, 'test'), 'squashed');
    const design = sacDesign(config);
    const layout = layoutsOf(net, design);
    const theta = layout.all.init(Rng.fromSeed(1));
    const rows = (width: number) => new Float32Array(4 * width);
    const perStep = {
      ...{ obs: rows(2), action: rows(1), reward: rows(1), discount: rows(1), nextObs: rows(2), weight: rows(1) },
      ...{ noise: rows(1), nextNoise: rows(1), ...adamSchedule(0, 1, 1e-3) },
    };
    const run = { state: { ...withMoments(theta), target: theta.slice(0, layout.critics.size) }, perStep, steps: 1 };
    for (const device of ['native', 'cpu'] as const) {
      const trainer = (await trainersOf(net, design, device)).policy;
      const refused = (change: object) =>
        expect(trainer.run({ ...run, ...change })).rejects.toMatchObject({ code: 'DATA_MISMATCH' });
      await refused({ steps: 0 });
      await refused({ steps: 2 });
      await refused({ perStep: { ...perStep, obs: rows(3) } });
      await refused({ perStep: { ...perStep, other: rows(1) } });
      await refused({ state: { ...run.state, target: theta } });
      await refused({ state: withMoments(theta) });
      expect((await trainer.run(run)).state.theta).not.toEqual(theta);
      await trainer.release();
    }
  });
});
