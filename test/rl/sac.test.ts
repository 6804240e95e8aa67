// SAC against a reference written without graphs, and its border: on ONNX Runtime, and by vector code where there is a compiler.

import { beforeAll, describe, expect, it } from 'vitest';
import { Rng } from '../../src/core/rng.js';
import type { ParamLayout } from '../../src/nn/parameters.js';
import type { TrainingDevice } from '../../src/nn/trainer.js';
import { sacConfigSchema } from '../../src/rl/config.js';
import type { PolicyNet } from '../../src/rl/policy-net.js';
import { makeSac, type SoftActorCritic, sacDesign } from '../../src/rl/soft-actor-critic.js';
import { layoutsOf } from '../../src/rl/soft-actor-critic-graph.js';
import { make as build, lacksCompiler } from '../native/native-build.js';
import { box, randomBatch, spacesOf } from './batches.js';
import {
  absoluteErrors,
  alphaGradient,
  criticLoss,
  differences,
  policyLoss,
  type ReferenceCase,
  targets,
} from './sac-reference.js';

const hasAddon = !lacksCompiler('sac.test.ts');
if (hasAddon) build('addon');
const DEVICES: readonly TrainingDevice[] = hasAddon ? ['cpu', 'native'] : ['cpu'];

const ROWS = 6;
const settings = {
  hidden: [4, 3],
  activation: 'tanh' as const,
  batchSize: ROWS,
  actorLr: 2e-3,
  criticLr: 1e-3,
  alphaLr: 5e-3,
  tau: 0.1,
  initAlpha: 0.3,
  rewardScale: 2,
};
const spaces = spacesOf(2, box(1, -3, 1));
const NET: PolicyNet = {
  head: 'squashed',
  obsDim: 2,
  hidden: settings.hidden,
  activation: settings.activation,
  actions: { type: 'box', dim: 1, low: [-3], high: [1], scale: [2], bias: [-1] },
};

/** A learner, a weighted batch, and the reference's view of both; noise as `update` draws it. */
async function referenceCase(device: TrainingDevice, criticLayerNorm = false) {
  const sac = await makeSac({ ...settings, criticLayerNorm }, spaces, Rng.fromSeed(4), device);
  const batch = randomBatch(ROWS, 2, 1, Rng.fromSeed(5));
  const weight = Rng.fromSeed(6).fillUniform(new Float32Array(ROWS), 0.2, 1);
  const draws = Rng.fromSeed(7);
  const noise = draws.fillNormal(new Float32Array(ROWS));
  const nextNoise = draws.fillNormal(new Float32Array(ROWS));
  const c: ReferenceCase = {
    config: sacConfigSchema.parse({ ...settings, criticLayerNorm }),
    obsDim: 2,
    actionDim: 1,
    batch,
    scale: 2,
    bias: -1,
    weight,
    noise,
    nextNoise,
  };
  return { sac, c };
}

function reader(layout: ParamLayout, theta: Float64Array) {
  const offsets = new Map<string, [number, number]>();
  let at = 0;
  for (const spec of layout.specs) {
    const size = spec.shape.reduce((a, b) => a * b, 1);
    offsets.set(spec.name, [at, at + size]);
    at += size;
  }
  return (name: string) => theta.subarray(...offsets.get(name)!);
}

function referenceGradient(sac: SoftActorCritic, c: ReferenceCase): number[] {
  const layout = layoutsOf(NET, sacDesign(c.config));
  const { arrays } = sac.state();
  const theta = Float64Array.from(arrays.theta);
  const read = reader(layout.all, theta);
  const y = targets(c, read, reader(layout.critics, Float64Array.from(arrays.target)));
  const critic = differences(theta, 0, layout.critics.size, (t) => criticLoss(c, reader(layout.all, t), y));
  const policy = differences(theta, layout.critics.size, layout.policySize, (t) =>
    policyLoss(c, reader(layout.all, t), read),
  );
  return [...critic, ...policy, alphaGradient(c, read)];
}

const UPDATES = DEVICES.flatMap((device) => [false, true].map((criticLayerNorm) => ({ device, criticLayerNorm })));

describe.each(UPDATES)('one SAC update on $device with criticLayerNorm $criticLayerNorm', (update) => {
  const { device, criticLayerNorm } = update;
  let before: Awaited<ReturnType<SoftActorCritic['state']>>;
  let after: typeof before;
  let gradient: number[];
  let criticSize: number;
  beforeAll(async () => {
    const { sac, c } = await referenceCase(device, criticLayerNorm);
    before = sac.state();
    gradient = referenceGradient(sac, c);
    await sac.update(c.batch, 1, Rng.fromSeed(7), c.weight as Float32Array);
    after = sac.state();
    criticSize = after.arrays.target.length;
    await sac.close();
  });

  it('has the reference gradient for critics, policy and temperature, each of its own loss alone', () => {
    // At the first step the scaled first moment is the gradient itself.
    expect(gradient.length).toBe(after.arrays.m.length);
    gradient.forEach((g, i) => {
      expect(Math.abs(after.arrays.m[i] - g)).toBeLessThan(2e-5 * Math.max(1, Math.abs(g)));
    });
    expect(gradient.filter((g) => Math.abs(g) > 1e-3).length).toBeGreaterThan(gradient.length / 2);
  });

  it('moves every group by Adam with its own learning rate', () => {
    const rateOf = (i: number) =>
      i < criticSize ? settings.criticLr : i < gradient.length - 1 ? settings.actorLr : settings.alphaLr;
    gradient.forEach((g, i) => {
      if (Math.abs(g) < 1e-4) return;
      expect(after.arrays.theta[i] - before.arrays.theta[i]).toBeCloseTo(-rateOf(i) * Math.sign(g), 5);
    });
  });

  it('moves the targets by tau towards the new critics', () => {
    for (let i = 0; i < criticSize; i++) {
      const expected = before.arrays.target[i] + 0.1 * (after.arrays.theta[i] - before.arrays.target[i]);
      expect(after.arrays.target[i]).toBeCloseTo(expected, 6);
    }
  });
});

describe.each(DEVICES)('SAC on %s', (device) => {
  const makeOne = () => makeSac(settings, spaces, Rng.fromSeed(4), device);

  it('answers the TD error of every row', async () => {
    const { sac, c } = await referenceCase(device);
    const layout = layoutsOf(NET, sacDesign(c.config));
    const { arrays } = sac.state();
    const read = reader(layout.all, Float64Array.from(arrays.theta));
    const nextNoise = Rng.fromSeed(8).fillNormal(new Float32Array(ROWS));
    const y = targets({ ...c, nextNoise }, read, reader(layout.critics, Float64Array.from(arrays.target)));
    const errors = await sac.tdErrors(c.batch, Rng.fromSeed(8));
    absoluteErrors(c, read, y).forEach((expected, i) => {
      expect(errors[i]).toBeCloseTo(expected, 4);
    });
    await sac.close();
  });

  it('runs K steps in one call as in K calls', async () => {
    const batch = randomBatch(ROWS * 3, 2, 1, Rng.fromSeed(5));
    const [together, apart] = [await makeOne(), await makeOne()];
    await together.update(batch, 3, Rng.fromSeed(1));
    const noise = Rng.fromSeed(1).fillNormal(new Float32Array(ROWS * 6));
    const part = (k: number) => noise.subarray(k * ROWS, (k + 1) * ROWS);
    for (let k = 0; k < 3; k++) {
      await apart.update(rowsOf(batch, k * ROWS, (k + 1) * ROWS), 1, replay([part(k), part(3 + k)]));
    }
    expect(together.state()).toEqual(apart.state());
    await Promise.all([together.close(), apart.close()]);
  });

  it('stops the bootstrap at terminated rows and not at truncated ones', async () => {
    const sac = await makeOne();
    const flags = { terminated: Uint8Array.of(1, 0, 0, 1), truncated: Uint8Array.of(0, 1, 0, 1) };
    const batch = { ...randomBatch(4, 2, 1, Rng.fromSeed(5)), ...flags };
    const shifted = { ...batch, nextObs: batch.nextObs.map((x) => x + 5) };
    const [a, b] = [await sac.tdErrors(batch, Rng.fromSeed(1)), await sac.tdErrors(shifted, Rng.fromSeed(1))];
    expect([...a].map((value, i) => value === b[i])).toEqual([true, false, false, true]);
    await sac.close();
  });

  it('learns nothing from data that is not finite or not of its shape', async () => {
    const sac = await makeOne();
    const before = sac.state();
    const good = randomBatch(ROWS, 2, 1, Rng.fromSeed(5));
    const reward = good.reward.slice();
    reward[2] = Number.NaN;
    const obs = good.obs.slice();
    obs[3] = Number.POSITIVE_INFINITY;
    const refusal = (mentioned: string) => ({
      code: 'NON_FINITE_VALUE',
      message: expect.stringContaining(mentioned),
    });
    const update = (batch: typeof good) => sac.update(batch, 1, Rng.fromSeed(1));
    await expect(update({ ...good, reward })).rejects.toMatchObject(refusal('row 2'));
    await expect(update({ ...good, obs })).rejects.toMatchObject(refusal('obs'));
    await expect(sac.update(good, 2, Rng.fromSeed(1))).rejects.toMatchObject({ code: 'DATA_MISMATCH' });
    expect(sac.state()).toEqual(before);
    await sac.close();
  });

  it('keeps its last good weights when training explodes', async () => {
    const sac = await makeOne();
    const batch = randomBatch(ROWS, 2, 1, Rng.fromSeed(5));
    await sac.update(batch, 1, Rng.fromSeed(1));
    const before = sac.state();
    const huge = { ...batch, reward: batch.reward.map(() => 3e38) };
    await expect(sac.update(huge, 1, Rng.fromSeed(2))).rejects.toMatchObject({ code: 'NON_FINITE_VALUE' });
    expect(sac.state()).toEqual(before);
    await sac.close();
  });

  it('refuses unknown settings, discrete actions and unbounded boxes', async () => {
    const rng = Rng.fromSeed(0);
    await expect(makeSac({ gama: 0.9 } as never, spaces, rng)).rejects.toMatchObject({
      code: 'SETTING_INVALID',
      message: expect.stringContaining('"gamma"'),
    });
    const discrete = spacesOf(2, { type: 'discrete', n: 3, start: 0 });
    await expect(makeSac({}, discrete, rng)).rejects.toMatchObject({ code: 'SCENARIO_UNFIT' });
    await expect(makeSac({}, spacesOf(2, box(1, null, 1)), rng)).rejects.toMatchObject({ code: 'SCENARIO_UNFIT' });
  });
});

type Batch = ReturnType<typeof randomBatch>;

function rowsOf(batch: Batch, from: number, to: number): Batch {
  const cut = <T extends Float32Array | Uint8Array>(column: T) => {
    const width = column.length / batch.rows;
    return column.slice(from * width, to * width) as T;
  };
  const { obs, action, reward, terminated, truncated, nextObs } = batch;
  return {
    rows: to - from,
    obs: cut(obs),
    action: cut(action),
    reward: cut(reward),
    terminated: cut(terminated),
    truncated: cut(truncated),
    nextObs: cut(nextObs),
  };
}

/** A stream that answers given normals. */
function replay(draws: Float32Array[]): Rng {
  const fillNormal = (out: Float32Array) => {
    out.set(draws.shift()!);
    return out;
  };
  return { fillNormal } as unknown as Rng;
}
