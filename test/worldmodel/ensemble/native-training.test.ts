// Gradient steps of an ensemble's members by vector code against those of ONNX Runtime, which define them; and the same bytes
// whatever the width, and however many members are trained at a time.

import { beforeAll, describe, expect, it } from 'vitest';
import { Rng } from '../../../src/core/rng.js';
import { adamScalars } from '../../../src/nn/parameters.js';
import type { TrainingDevice } from '../../../src/nn/trainer.js';
import { type EnsembleConfig, ensembleConfigSchema } from '../../../src/worldmodel/ensemble/config.js';
import { fitEnsemble } from '../../../src/worldmodel/ensemble/fit.js';
import { decayVector, memberLayout, memberTrainer } from '../../../src/worldmodel/ensemble/members.js';
import { distance, inEveryWidth, lacksCompiler, make } from '../../native/native-build.js';
import { box, randomBatch, spacesOf } from '../../rl/batches.js';

interface Case {
  readonly inputDim: number;
  readonly outputDim: number;
  readonly batchSize: number;
  readonly hidden: readonly number[];
  readonly learnTermination: boolean;
}

/** Sizes that fill vectors and blocks of rows, and such as do not. */
const CASES: Readonly<Record<string, Case>> = {
  'little data': { inputDim: 4, outputDim: 3, batchSize: 32, hidden: [64, 64], learnTermination: false },
  'an end, and several blocks of rows': {
    ...{ inputDim: 23, outputDim: 18, batchSize: 150, hidden: [50, 33, 20], learnTermination: true },
  },
  'one narrow layer': { inputDim: 2, outputDim: 1, batchSize: 5, hidden: [3], learnTermination: true },
};

const STEPS = 4;
const ROWS = 200;

async function trained(device: TrainingDevice, { learnTermination, hidden, ...sizes }: Case) {
  const config: EnsembleConfig = ensembleConfigSchema.parse({
    ...{ hidden: [...hidden], batchSize: sizes.batchSize, learnReward: false, learnTermination },
  });
  const shape = { ...sizes, hidden, termination: learnTermination };
  const layout = memberLayout(shape, config);
  const rng = Rng.fromSeed(1);
  const inputs = {
    inputs: rng.fillNormal(new Float32Array(ROWS * shape.inputDim)),
    targets: rng.fillNormal(new Float32Array(ROWS * shape.outputDim)),
    terminated: Float32Array.from({ length: ROWS }, () => rng.int(2)),
    weights: rng.fillUniform(new Float32Array(shape.outputDim), 0.5, 1.5),
    decay: decayVector(layout, config),
  };
  const scalars = Array.from({ length: STEPS }, (_, i) => adamScalars(i + 1, 1e-3));
  const perStep = {
    rows: Int32Array.from({ length: STEPS * sizes.batchSize }, () => rng.int(ROWS)),
    alpha: Float32Array.from(scalars, ({ alpha }) => alpha),
    epsilon: Float32Array.from(scalars, ({ epsilon }) => epsilon),
  };
  const zeros = () => new Float32Array(layout.size);
  const state = { theta: layout.init(rng), m: zeros(), v: zeros() };
  const trainer = await memberTrainer(shape, config, sizes.batchSize, device);
  const result = await trainer.run({ state, inputs, perStep, steps: STEPS });
  await trainer.release();
  return { before: state.theta, ...result };
}

describe.skipIf(lacksCompiler('native-training.test.ts'))('members by vector code', () => {
  beforeAll(() => make('addon'));

  it.each(Object.entries(CASES))('learn what ONNX Runtime learns: %s', async (_, c) => {
    const [ours, reference] = [await trained('native', c), await trained('cpu', c)];
    for (const name of ['theta', 'm', 'v']) {
      expect(distance(ours.state[name], reference.state[name]), name).toBeLessThan(name === 'theta' ? 1e-5 : 1e-4);
    }
    expect(distance(ours.state['theta'], ours.before)).toBeGreaterThan(1e-3);
    expect(ours.metrics['nll'].length).toBe(STEPS);
    ours.metrics['nll'].forEach((value, step) => {
      expect(value).toBeCloseTo(reference.metrics['nll'][step], 5);
    });
  });

  it.each(Object.entries(CASES))('have the same bytes whatever the width: %s', async (_, c) => {
    const states = await inEveryWidth(async () => (await trained('native', c)).state);
    for (const state of states) expect(state).toEqual(states[0]);
    expect(states.length).toBeGreaterThan(1);
  });

  it('have the same bytes one after another and side by side', async () => {
    const rng = Rng.fromSeed(3);
    const data = randomBatch(120, 3, 1, rng);
    const settings = { members: 4, elites: 2, hidden: [16], maxEpochs: 3, learnReward: true, learnTermination: true };
    const fitted = async (workers: number) => {
      const seen: number[] = [];
      const { model } = await fitEnsemble(data, spacesOf(3, box(1, -3, 1)), settings, {
        ...{ rng: Rng.fromSeed(4), device: 'native', workers },
        onProgress: ({ member }) => seen.push(member!),
      });
      await model.close();
      return { version: model.modelVersion, seen };
    };
    const [alone, together] = [await fitted(0), await fitted(3)];
    expect(together.version).toBe(alone.version);
    expect(alone.seen).toEqual([0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]);
    expect(new Set(together.seen.slice(0, 3)).size).toBeGreaterThan(1);
  });
});
