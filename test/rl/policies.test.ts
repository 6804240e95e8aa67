// Policies that do not learn, snapshots that are not policies, and evaluation.

import { describe, expect, it } from 'vitest';
import { Rng } from '../../src/core/rng.js';
import { makeEnvironment } from '../../src/env/environments.js';
import { evaluatePolicy, summariseReturns } from '../../src/rl/evaluate.js';
import { loadPolicy, type NetworkPolicy, RandomPolicy } from '../../src/rl/policy-net.js';
import { makeSimba } from '../../src/rl/soft-actor-critic.js';
import { box } from './batches.js';
import { pendulumController } from './controllers.js';

describe('RandomPolicy', () => {
  it('covers a Box uniformly', () => {
    const { action, logProb } = new RandomPolicy(box(2, -3, 1)).act(new Float32Array(0), 4000, Rng.fromSeed(1));
    expect([Math.min(...action) > -3, Math.max(...action) < 1]).toEqual([true, true]);
    expect(action.reduce((sum, a) => sum + a, 0) / action.length).toBeCloseTo(-1, 1);
    expect(logProb![0]).toBeCloseTo(-2 * Math.log(4), 6);
  });

  it('covers a Discrete from its start, and survives its snapshot', async () => {
    const policy = new RandomPolicy({ type: 'discrete', n: 3, start: 5 });
    const acted = policy.act(new Float32Array(0), 300, Rng.fromSeed(1));
    expect([...new Set(acted.action)].sort()).toEqual([5, 6, 7]);
    const revived = await loadPolicy(structuredClone(policy.snapshot()).payload);
    expect(revived.version).toBe(policy.version);
    expect(await revived.act(new Float32Array(0), 300, Rng.fromSeed(1))).toEqual(acted);
  });
});

describe('a policy as plain layers', () => {
  it.each([0.5, 100, 1e6])('acts as it does where an observed element is always %f', async (constant) => {
    const spaces = { observationSpace: box(3, -1e9, 1e9), actionSpace: box(1, -5, -1) };
    const learner = await makeSimba({ hidden: [32, 32] }, spaces, Rng.fromSeed(1));
    const rows = 100;
    const rng = Rng.fromSeed(2);
    const obs = Float32Array.from({ length: 3 * rows }, (_, i) => [rng.normal(), 50 + rng.normal(), constant][i % 3]);
    learner.standardise(obs);
    const policy = learner.policy() as NetworkPolicy;
    const { action } = await policy.act(obs, rows, rng, { deterministic: true });
    const { layers } = policy.network();
    for (let row = 0; row < rows; row++) {
      let h = obs.slice(3 * row, 3 * row + 3);
      for (const [layer, { w, b, out }] of layers.entries()) {
        const next = b.slice();
        for (const [i, value] of h.entries())
          for (let o = 0; o < out; o++) next[o] += Math.fround(value * w[i * out + o]);
        h = layer === layers.length - 1 ? next : next.map((value) => Math.max(0, value));
      }
      expect(-3 + 2 * Math.tanh(h[0])).toBeCloseTo(action[row], 4);
    }
    await learner.close();
  });
});

describe('evaluatePolicy', () => {
  it('runs whole episodes, each by its own seed', async () => {
    const env = await makeEnvironment({ id: 'pendulum' });
    const policy = pendulumController;
    const all = await evaluatePolicy(env, policy, { episodes: 3, seed: 7 });
    expect([...all.lengths]).toEqual([200, 200, 200]);
    expect(new Set(all.returns).size).toBe(3);
    const last = await evaluatePolicy(env, policy, { episodes: 1, seed: 9 });
    expect(last.returns[0]).toBe(all.returns[2]);
    const mean = (all.returns[0] + all.returns[1] + all.returns[2]) / 3;
    expect(all.meanReturn).toBeCloseTo(mean, 9);
    const squares = [...all.returns].reduce((sum, r) => sum + (r - mean) ** 2, 0);
    expect(all.stdReturn).toBeCloseTo(Math.sqrt(squares / 2), 9);
  });

  it('sums up more episodes than a call takes arguments', () => {
    const returns = Float64Array.from({ length: 200_000 }, (_, i) => i);
    expect(summariseReturns(returns, returns)).toMatchObject({
      minReturn: 0,
      maxReturn: 199_999,
      meanReturn: 99_999.5,
    });
  });

  it('cuts episodes without a clock, and can be stopped', async () => {
    const env = await makeEnvironment({ id: 'pendulum', maxEpisodeSteps: null });
    const random = new RandomPolicy(env.actionSpace);
    const options = { episodes: 2, seed: 1, deterministic: false, maxEpisodeSteps: 30 };
    expect([...(await evaluatePolicy(env, random, options)).lengths]).toEqual([30, 30]);
    const signal = AbortSignal.abort(new Error('enough'));
    await expect(evaluatePolicy(env, random, { ...options, signal })).rejects.toThrow('enough');
  });
});
