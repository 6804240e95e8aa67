// PPO's loss against numbers worked out by hand, its border, and that it learns.

import { describe, expect, it } from 'vitest';
import { Rng } from '../../src/core/rng.js';
import { makeEnvironment } from '../../src/env/environments.js';
import { Graph } from '../../src/nn/graph.js';
import type { ParamLayout } from '../../src/nn/parameters.js';
import { sliceBatch } from '../../src/replay/columns.js';
import { ppoConfigSchema } from '../../src/rl/config.js';
import { evaluatePolicy } from '../../src/rl/evaluate.js';
import type { Rollout } from '../../src/rl/learner.js';
import type { NetworkPolicy, PolicyNet } from '../../src/rl/policy-net.js';
import { makePpo, ppoLayout, ppoLoss } from '../../src/rl/ppo.js';
import { evaluated } from '../nn/nn.js';
import { RolloutCollector } from './rollouts.js';

const NET: PolicyNet = {
  head: 'gaussian',
  obsDim: 1,
  hidden: [1],
  activation: 'tanh',
  actions: { type: 'box', dim: 1, low: [-1], high: [1], scale: [1], bias: [0] },
};

/** Evaluates the loss where the policy is N(0, 1) and the value 1 for every observation. */
async function lossOf(overrides: object, columns: Record<'ratio' | 'advantage' | 'returns', number[]>) {
  const config = { ...ppoConfigSchema.parse({ initLogStd: 0, ...overrides }), gamma: 0.99 };
  const graph = new Graph('test');
  const layout: ParamLayout = ppoLayout(NET, config).all;
  const theta = new Float32Array(layout.size);
  layout.view(theta, 'value.b1')[0] = 1;
  const rows = columns.ratio.length;
  const action = Float32Array.from({ length: rows }, (_, i) => i - 1);
  const newLogProb = [...action].map((a) => -0.5 * a * a - 0.5 * Math.log(2 * Math.PI));
  const logProb = newLogProb.map((now, i) => now - Math.log(columns.ratio[i]));
  const { ratio: _, ...given } = columns;
  const data = { obs: new Float32Array(rows), action, logProb, ...given };
  const value = (name: keyof typeof data, shape: number[]) =>
    graph.initializer(name, shape, Float32Array.from(data[name]));
  const batch = {
    obs: value('obs', [rows, 1]),
    action: value('action', [rows, 1]),
    logProb: value('logProb', [rows]),
    advantage: value('advantage', [rows]),
    returns: value('returns', [rows]),
  };
  const params = layout.unpack(graph.initializer('theta', [layout.size], theta));
  const { loss, metrics } = ppoLoss(NET, config, params, batch);
  for (const [name, metric] of Object.entries({ loss, ...metrics })) graph.output(name, metric);
  const results = await evaluated(graph);
  return (name: string) => Number(results[name].data[0]);
}

describe("PPO's loss", () => {
  const ratio = [1.5, 0.5, 1.1, 1.5];
  // Of mean 0 and deviation 1, as they are made to be.
  const advantage = [1, 1, -1, -1];

  it('clips the ratio only where that lowers the objective', async () => {
    const read = await lossOf({}, { ratio, advantage, returns: [1, 1, 1, 1] });
    // min(r A, clip(r) A) = 1.2, 0.5, -1.1, -1.5
    expect(read('policyLoss')).toBeCloseTo(0.9 / 4, 5);
    expect(read('clipFraction')).toBeCloseTo(3 / 4, 6);
    const kl = ratio.reduce((sum, r) => sum + r - 1 - Math.log(r), 0) / 4;
    expect(read('approxKl')).toBeCloseTo(kl, 5);
  });

  it('adds the value loss and takes away the entropy bonus', async () => {
    const columns = { ratio: [1, 1], advantage: [0, 0], returns: [3, 1] };
    const read = await lossOf({ entropyCoefficient: 0.1, valueCoefficient: 0.25 }, columns);
    const entropy = 0.5 * Math.log(2 * Math.PI * Math.E);
    expect(read('entropy')).toBeCloseTo(entropy, 5);
    expect(read('valueLoss')).toBeCloseTo(0.5 * ((1 - 3) ** 2 / 2), 5);
    expect(read('loss')).toBeCloseTo(0.25 * read('valueLoss') - 0.1 * entropy, 5);
  });
});

describe('PPO', () => {
  const collect = async (targetKl: number | null, lr: number) => {
    const env = await makeEnvironment({ id: 'cartpole' });
    const ppo = await makePpo({ hidden: [16], epochs: 6, batchSize: 32, lr, targetKl }, env, Rng.fromSeed(1));
    const rollout = await new RolloutCollector([env], 5).collect(ppo, 256, Rng.fromSeed(2));
    return { ppo, rollout };
  };

  it('stops its epochs once the policy has moved too far', async () => {
    const { ppo, rollout } = await collect(0.002, 1e-2);
    const { epochs, approxKl } = await ppo.update(rollout, Rng.fromSeed(3));
    expect(epochs).toBeLessThan(6);
    expect(approxKl).toBeGreaterThan(0.002);
    const { ppo: free } = await collect(null, 1e-2);
    expect((await free.update(rollout, Rng.fromSeed(3))).epochs).toBe(6);
    await Promise.all([ppo.close(), free.close()]);
  });

  it('refuses rewards that are not finite, and is then as before', async () => {
    const { ppo, rollout } = await collect(null, 1e-3);
    const before = ppo.state();
    rollout.batch.reward[17] = Number.NaN;
    await expect(ppo.update(rollout, Rng.fromSeed(3))).rejects.toMatchObject({
      code: 'NON_FINITE_VALUE',
      message: expect.stringContaining('row 17'),
    });
    expect(ppo.state()).toEqual(before);
    await ppo.close();
  });

  it('collects successors themselves where episodes end, and log-probabilities that give ratio 1', async () => {
    const { ppo, rollout } = await collect(null, 1e-3);
    const { batch } = rollout;
    const ends = [...batch.terminated].flatMap((flag, i) => (flag ? [i] : []));
    expect(ends.length).toBeGreaterThan(2);
    for (const i of ends.filter((end) => end + 1 < batch.rows)) {
      const fallen = Math.abs(batch.nextObs[i * 4 + 2]) > 0.2 || Math.abs(batch.nextObs[i * 4]) > 2.4;
      expect(fallen).toBe(true);
      expect(Math.abs(batch.obs[(i + 1) * 4 + 2])).toBeLessThan(0.06);
    }
    const env = await makeEnvironment({ id: 'cartpole' });
    const settings = { hidden: [16], epochs: 1, batchSize: 256, targetKl: null };
    const once = await makePpo(settings, env, Rng.fromSeed(1));
    await once.update(rollout, Rng.fromSeed(3));
    const second = await new RolloutCollector([env], 5).collect(once, 256, Rng.fromSeed(4));
    expect(Math.abs((await once.update(second, Rng.fromSeed(3))).approxKl)).toBeLessThan(1e-6);
    await Promise.all([ppo.close(), once.close()]);
  });

  it('scales rewards by sums over whole episodes, wherever rollouts cut them', async () => {
    const env = await makeEnvironment({ id: 'pendulum' });
    const settings = { hidden: [4], epochs: 1, batchSize: 64, targetKl: null };
    const first = await makePpo(settings, env, Rng.fromSeed(1));
    const rollout = await new RolloutCollector([env], 5).collect(first, 512, Rng.fromSeed(2));
    // Pendulum's episodes have 200 steps, so either half ends within one.
    const part = (from: number, to: number) => ({
      ...{ steps: to - from, envs: 1, batch: sliceBatch(rollout.batch, from, to) },
      ...{ raw: rollout.raw.subarray(from, to), logProb: rollout.logProb.subarray(from, to) },
    });
    const scale = async (rollouts: readonly Rollout[]) => {
      const ppo = await makePpo(settings, env, Rng.fromSeed(1));
      for (const one of rollouts) await ppo.update(one, Rng.fromSeed(3));
      const { theta } = ppo.state().arrays;
      await ppo.close();
      return theta[theta.length - 3];
    };
    const whole = await scale([rollout]);
    expect(await scale([part(0, 256), part(256, 512)])).toBeCloseTo(whole, 5);
    expect(await scale(Array.from({ length: 8 }, (_, i) => part(64 * i, 64 * (i + 1))))).toBeCloseTo(whole, 5);
    await first.close();
  });

  it('learns the same whatever units observations and rewards come in, and exports what it learned', async () => {
    const learned = async (obsUnit: number, rewardUnit: number) => {
      const { ppo, rollout } = await collect(null, 1e-3);
      const scaled = (values: Float32Array, unit: number, shift: number) => values.map((x) => unit * x + shift);
      const shift = obsUnit === 1 ? 0 : 3;
      const { obs, nextObs, reward } = rollout.batch;
      const batch = {
        ...rollout.batch,
        ...{ obs: scaled(obs, obsUnit, shift), nextObs: scaled(nextObs, obsUnit, shift) },
        reward: scaled(reward, rewardUnit, 0),
      };
      await ppo.update({ ...rollout, batch }, Rng.fromSeed(3));
      const value = await ppo.value(batch.obs, 256);
      const version = ppo.policy().version;
      const { layers } = (ppo.policy() as NetworkPolicy).network();
      await ppo.close();
      return { value, version, layers };
    };
    const [one, other] = [await learned(1, 1), await learned(50, 1000)];
    for (const [i, value] of one.value.entries()) expect(other.value[i]).toBeCloseTo(value, 1);
    // The layers that leave it take observations as they come.
    const ratio = (layer: number, i: number) => one.layers[layer].w[i] / other.layers[layer].w[i];
    expect(ratio(0, 0)).toBeCloseTo(50, -1);
    expect(ratio(1, 0)).toBeCloseTo(1, 0);
  });

  it('learns to balance CartPole', async () => {
    const envs = await Promise.all(Array.from({ length: 8 }, () => makeEnvironment({ id: 'cartpole' })));
    const rng = Rng.fromSeed(11);
    const ppo = await makePpo({ lr: 1e-3, batchSize: 128, entropyCoefficient: 0.01 }, envs[0], rng.split('init'));
    const collector = new RolloutCollector(envs, 100);
    const [act, shuffle] = [rng.split('act'), rng.split('shuffle')];
    for (let i = 0; i < 22; i++) await ppo.update(await collector.collect(ppo, 128, act), shuffle);
    const { meanReturn } = await evaluatePolicy(envs[0], ppo.policy(), { episodes: 10, seed: 1, deterministic: false });
    expect(meanReturn).toBeGreaterThan(80);
    await ppo.close();
  });
});
