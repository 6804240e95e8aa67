// TD3+BC: what it weighs, and when its policy moves. Its bytes, states and shapes are the contract's business (contract.test.ts).

import { describe, expect, it } from 'vitest';
import { Rng } from '../../src/core/rng.js';
import { mean } from '../../src/core/statistics.js';
import type { TransitionBatch } from '../../src/replay/transition.js';
import { makeTd3Bc } from '../../src/rl/td3-bc.js';
import { box, randomBatch, spacesOf } from './batches.js';

const SPACES = spacesOf(1, box(1, -1, 1));

/** One step long: the reward is the action itself, and the data act around 0. */
function bandit(rows: number, rng: Rng): TransitionBatch {
  const batch = randomBatch(rows, 1, 1, rng);
  const action = rng.fillUniform(new Float32Array(rows), -0.5, 0.5);
  return { ...batch, action, reward: action, terminated: new Uint8Array(rows).fill(1) };
}

async function modeAfter(settings: object, updates: number): Promise<number> {
  const learner = await makeTd3Bc({ hidden: [16], batchSize: 32, lr: 3e-3, ...settings }, SPACES, Rng.fromSeed(1));
  const rng = Rng.fromSeed(2);
  for (let i = 0; i < updates; i += 50) await learner.update(bandit(50 * 32, rng), 50, rng);
  const obs = rng.fillNormal(new Float32Array(20));
  const { action } = await learner.policy().act(obs, 20, rng, { deterministic: true });
  await learner.close();
  return mean(action);
}

describe('TD3+BC', () => {
  it('stays near the actions of the data, and goes for what is worth more as far as `alpha` says', async () => {
    const cloned = await modeAfter({ alpha: 0 }, 350);
    const weighed = await modeAfter({ alpha: 0.5 }, 350);
    const greedy = await modeAfter({ alpha: 50 }, 350);
    expect(Math.abs(cloned)).toBeLessThan(0.1);
    expect(weighed).toBeGreaterThan(cloned + 0.05);
    expect(greedy).toBeGreaterThan(weighed + 0.1);
  });

  it('learns the same from observations in other units once it has seen the records', async () => {
    const learned = async (unit: number, shift: number) => {
      const learner = await makeTd3Bc({ hidden: [16], batchSize: 32, lr: 3e-3 }, SPACES, Rng.fromSeed(1));
      const seen = (values: Float32Array) => values.map((x) => unit * x + shift);
      const batch = bandit(50 * 32, Rng.fromSeed(2));
      learner.standardise(seen(batch.obs));
      await learner.update({ ...batch, obs: seen(batch.obs), nextObs: seen(batch.nextObs) }, 50, Rng.fromSeed(3));
      const obs = seen(Float32Array.of(-1, 0, 1));
      const { action } = await learner.policy().act(obs, 3, Rng.fromSeed(4), { deterministic: true });
      await learner.close();
      return action;
    };
    const [one, other] = [await learned(1, 0), await learned(200, 1000)];
    for (const [i, action] of one.entries()) expect(other[i]).toBeCloseTo(action, 2);
  });

  it('moves policy and targets once in `policyEvery` steps, and critics at each', async () => {
    const learner = await makeTd3Bc({ hidden: [8], batchSize: 4, policyEvery: 3 }, SPACES, Rng.fromSeed(1));
    const versions: string[] = [];
    const targets: number[] = [];
    const critics: number[] = [];
    for (let i = 0; i < 6; i++) {
      await learner.update(randomBatch(4, 1, 1, Rng.fromSeed(i)), 1, Rng.fromSeed(10 + i));
      const { target, theta } = learner.state().arrays;
      versions.push(learner.policy().version);
      targets.push(target[0]);
      critics.push(theta[0]);
    }
    await learner.close();
    expect(versions.map((version, i) => i > 0 && version !== versions[i - 1])).toEqual([
      ...[false, false, true],
      ...[false, false, true],
    ]);
    expect([new Set(targets.slice(0, 2)).size, new Set(targets).size]).toEqual([1, 3]);
    expect(new Set(critics).size).toBe(6);
  });
});
