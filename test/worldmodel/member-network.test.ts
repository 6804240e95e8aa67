import { describe, expect, it } from 'vitest';
import { Rng } from '../../src/core/rng.js';
import { float32, Graph } from '../../src/nn/graph.js';
import { InferenceSession } from '../../src/nn/runtime.js';
import { ensembleConfigSchema } from '../../src/worldmodel/ensemble/config.js';
import { type Normaliser, normalise } from '../../src/worldmodel/ensemble/dataset.js';
import {
  type MemberShape,
  memberLayout,
  memberModel,
  memberOutput,
  renormalise,
} from '../../src/worldmodel/ensemble/members.js';

const shape: MemberShape = { inputDim: 5, outputDim: 3, termination: true, hidden: [40, 40] };
const config = ensembleConfigSchema.parse({
  ...{ hidden: [40, 40], weightDecay: [1, 2, 3], batchSize: 256 },
  ...{ learnReward: true, learnTermination: true },
});
const layout = memberLayout(shape, config);

/** Inputs whose elements lie far from zero compared with how much they vary, the hard case for folding. */
const normaliser: Normaliser = {
  input: { mean: [100, -3, 0, 20, 1], scale: [0.5, 2, 1, 0.01, 7] },
  target: { mean: [0.5, -20, 3], scale: [0.1, 5, 100] },
};
const other: Normaliser = {
  input: { mean: [99, -2, 0.5, 20.02, 0], scale: [1, 1.5, 2, 0.02, 5] },
  target: { mean: [0.4, -10, -3], scale: [0.2, 4, 50] },
};

function randomTheta(seed: number): Float32Array {
  const rng = Rng.fromSeed(seed);
  const theta = layout.init(rng);
  for (const name of ['net.b0', 'net.b1', 'net.b2']) rng.fillUniform(layout.view(theta, name), -0.5, 0.5);
  rng.fillUniform(layout.view(theta, 'logVarMin'), -4, -2);
  return theta;
}

function randomInputs(rows: number): Float32Array {
  const inputs = Rng.fromSeed(3).fillNormal(new Float32Array(rows * 5));
  return inputs.map((value, i) => normaliser.input.mean[i % 5] + normaliser.input.scale[i % 5] * value);
}

/** The trained form, evaluated with normalisation outside the network: mean, std and end in raw units. */
async function reference(theta: Float32Array, inputs: Float32Array, { input, target }: Normaliser) {
  const rows = inputs.length / 5;
  const graph = new Graph('reference');
  const params = layout.unpack(graph.input('theta', 'float32', [layout.size]));
  const output = memberOutput(params, graph.input('x', 'float32', ['rows', 5]), shape);
  graph.output('mean', output.mean);
  graph.output('logVar', output.logVar);
  graph.output('logit', output.logit!);
  const session = await InferenceSession.fromBytes(graph.toModel());
  const x = inputs.slice();
  normalise(x, 5, input);
  const answer = await session.run({ theta: float32(theta), x: float32(x, [rows, 5]) });
  await session.release();
  const [mean, logVar, logit] = ['mean', 'logVar', 'logit'].map((name) => answer[name].data as Float32Array);
  return {
    mean: mean.map((value, i) => target.mean[i % 3] + target.scale[i % 3] * value),
    std: logVar.map((value, i) => target.scale[i % 3] * Math.exp(value / 2)),
    terminated: logit.map((value) => 1 / (1 + Math.exp(-value))),
  };
}

async function folded(theta: Float32Array, inputs: Float32Array, norm: Normaliser) {
  const session = await InferenceSession.fromBytes(memberModel(theta, layout, shape, norm, {}));
  const answer = await session.run({ input: float32(inputs, [inputs.length / 5, 5]) });
  await session.release();
  return Object.fromEntries(Object.entries(answer).map(([name, { data }]) => [name, data as Float32Array]));
}

describe('a member with its normaliser folded in', () => {
  it('computes what the trained network computes', async () => {
    const theta = randomTheta(1);
    const inputs = randomInputs(200);
    const expected = await reference(theta, inputs, normaliser);
    const got = await folded(theta, inputs, normaliser);
    for (let i = 0; i < 600; i++) {
      const unit = normaliser.target.scale[i % 3];
      // Inputs at 20 ± 0.01 have a float32 resolution of 2e-4 in normalised units: that bounds any form.
      expect(Math.abs(got['mean'][i] - expected.mean[i]) / unit).toBeLessThan(1e-3);
      expect(Math.abs(got['std'][i] / expected.std[i] - 1)).toBeLessThan(1e-3);
    }
    got['terminated'].forEach((value, i) => {
      expect(Math.abs(value - expected.terminated[i])).toBeLessThan(1e-3);
    });
  });

  it('is the same function after its parameters moved to another normaliser', async () => {
    const theta = randomTheta(4);
    const inputs = randomInputs(100);
    const before = await folded(theta, inputs, normaliser);
    const moved = theta.slice();
    renormalise(moved, layout, shape, normaliser, other);
    const after = await folded(moved, inputs, other);
    after['mean'].forEach((value, i) => {
      expect(Math.abs(value - before['mean'][i]) / other.target.scale[i % 3]).toBeLessThan(1e-3);
    });
    after['std'].forEach((value, i) => {
      expect(Math.abs(value / before['std'][i] - 1)).toBeLessThan(1e-3);
    });
  });
});
