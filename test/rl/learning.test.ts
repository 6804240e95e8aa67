// Off-policy and imitation learning do what they are for: small, real tasks.

import { describe, expect, it } from 'vitest';
import type { SyncVectorEnvironment } from '../../src/core/environment.js';
import { Rng } from '../../src/core/rng.js';
import { makeEnvironment } from '../../src/env/environments.js';
import { allocateBatch } from '../../src/replay/columns.js';
import type { TransitionBatch } from '../../src/replay/transition.js';
import { makeBc } from '../../src/rl/bc.js';
import { evaluatePolicy } from '../../src/rl/evaluate.js';
import { RandomPolicy } from '../../src/rl/policy-net.js';
import { makeSac, type SoftActorCritic } from '../../src/rl/soft-actor-critic.js';
import { make as build, lacksCompiler } from '../native/native-build.js';
import { cartpoleController, pendulumController } from './controllers.js';

/** Fills `history` by acting, `updates` gradient steps for each step once `start` random ones are there. */
async function trainOffPolicy(
  sac: SoftActorCritic,
  env: SyncVectorEnvironment,
  steps: number,
  start: number,
  rng: Rng,
): Promise<void> {
  const history = allocateBatch(steps, 3, 1);
  const [random, live] = [new RandomPolicy(env.actionSpace), sac.policy()];
  const streams = { act: rng.split('act'), pick: rng.split('pick'), update: rng.split('update') };
  const every = 10;
  let obs = env.reset({ seed: 50 }).observation.slice();
  for (let i = 0; i < steps; i++) {
    const { action } = await (i < start ? random : live).act(obs, 1, streams.act);
    const result = env.step(action);
    history.obs.set(obs, i * 3);
    history.action.set(action, i);
    history.reward[i] = result.reward;
    history.nextObs.set(result.observation, i * 3);
    obs = (result.truncated ? env.reset() : result).observation.slice();
    if (i < start || i % every !== 0) continue;
    await sac.update(drawRows(history, i + 1, every * sac.config.batchSize, streams.pick), every, streams.update);
  }
}

function drawRows(history: TransitionBatch, size: number, rows: number, rng: Rng): TransitionBatch {
  const batch = allocateBatch(rows, 3, 1);
  for (let row = 0; row < rows; row++) {
    const i = rng.int(size);
    batch.obs.set(history.obs.subarray(i * 3, i * 3 + 3), row * 3);
    batch.nextObs.set(history.nextObs.subarray(i * 3, i * 3 + 3), row * 3);
    batch.action[row] = history.action[i];
    batch.reward[row] = history.reward[i];
  }
  return batch;
}

const hasAddon = !lacksCompiler('learning.test.ts');
if (hasAddon) build('addon');
const device = hasAddon ? 'native' : 'cpu';

describe('SAC', () => {
  it('swings the pendulum up within a few thousand steps', async () => {
    const env = await makeEnvironment({ id: 'pendulum' });
    const rng = Rng.fromSeed(21);
    const sac = await makeSac(
      { gamma: 0.97, hidden: [64, 64], batchSize: 128, lr: 1e-3 },
      env,
      rng.split('init'),
      device,
    );
    const before = await evaluatePolicy(env, sac.policy(), { episodes: 5, seed: 1 });
    await trainOffPolicy(sac, env, 3500, 500, rng);
    const after = await evaluatePolicy(env, sac.policy(), { episodes: 5, seed: 1 });
    expect(before.meanReturn).toBeLessThan(-900);
    expect(after.meanReturn).toBeGreaterThan(-400);
    await sac.close();
  });
});

describe('behaviour cloning', () => {
  const observe = async (
    env: SyncVectorEnvironment,
    expert: typeof pendulumController,
    rows: number,
    actionDim: number,
  ) => {
    const rng = Rng.fromSeed(31);
    const explorer = new RandomPolicy(env.actionSpace);
    let obs = env.reset({ seed: 3 }).observation;
    const all = new Float32Array(rows * obs.length);
    for (let i = 0; i < rows; i++) {
      all.set(obs, i * obs.length);
      const result = env.step(explorer.act(obs, 1, rng).action);
      obs = result.terminated || result.truncated ? env.reset().observation : result.observation;
    }
    return { rows, obs: all, action: expert.act(all, rows).action.slice(0, rows * actionDim) };
  };

  for (const loss of ['mse', 'nll'] as const) {
    it(`imitates a continuous controller by ${loss}`, async () => {
      const env = await makeEnvironment({ id: 'pendulum' });
      const expert = pendulumController;
      const data = await observe(env, expert, 1500, 1);
      const bc = await makeBc({ loss }, env, Rng.fromSeed(1));
      const first = await bc.update(data, 20, Rng.fromSeed(2));
      const last = await bc.update(data, 1500, Rng.fromSeed(3));
      expect(last.loss).toBeLessThan(first.loss);
      const { action } = await bc.policy().act(data.obs, data.rows, Rng.fromSeed(4), { deterministic: true });
      const error = action.reduce((sum, a, i) => sum + Math.abs(a - data.action[i]), 0) / data.rows;
      expect(error).toBeLessThan(0.1);
      await bc.close();
    });
  }

  it('imitates a discrete controller, and does as well', async () => {
    const env = await makeEnvironment({ id: 'cartpole' });
    const expert = cartpoleController;
    const data = await observe(env, expert, 1500, 1);
    const bc = await makeBc({}, env, Rng.fromSeed(1));
    await bc.update(data, 1000, Rng.fromSeed(3));
    const { action } = await bc.policy().act(data.obs, data.rows, Rng.fromSeed(4), { deterministic: true });
    const agreement = action.filter((a, i) => a === data.action[i]).length / data.rows;
    expect(agreement).toBeGreaterThan(0.97);
    const options = { episodes: 5, seed: 1 };
    const [ours, theirs] = [
      await evaluatePolicy(env, bc.policy(), options),
      await evaluatePolicy(env, expert, options),
    ];
    expect(ours.meanReturn).toBeGreaterThan(0.7 * theirs.meanReturn);
    await bc.close();
  });

  it('refuses demonstrations from another action space', async () => {
    const env = await makeEnvironment({ id: 'cartpole' });
    const bc = await makeBc({}, env, Rng.fromSeed(1));
    const data = { rows: 2, obs: new Float32Array(8), action: Float32Array.of(0, 2) };
    await expect(bc.update(data, 1, Rng.fromSeed(1))).rejects.toMatchObject({ code: 'ACTION_OUT_OF_SPACE' });
    await bc.close();
  });
});
