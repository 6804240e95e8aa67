// Generalised advantages against sums written out by hand.

import { describe, expect, it } from 'vitest';
import { Rng } from '../../src/core/rng.js';
import { type GaeInput, generalisedAdvantage } from '../../src/rl/ppo.js';

function input(overrides: Partial<GaeInput>): GaeInput {
  const none = new Uint8Array(3);
  return {
    steps: 3,
    envs: 1,
    reward: Float32Array.of(1, 2, 3),
    value: Float32Array.of(10, 20, 30),
    nextValue: Float32Array.of(20, 30, 40),
    terminated: none,
    truncated: none,
    gamma: 0.5,
    gaeLambda: 0.5,
    ...overrides,
  };
}

describe('generalisedAdvantage', () => {
  it('sums discounted TD errors', () => {
    // deltas: 1 + 10 - 10 = 1; 2 + 15 - 20 = -3; 3 + 20 - 30 = -7; gamma * lambda = 1/4
    const { advantage, returns } = generalisedAdvantage(input({}));
    expect([...advantage]).toEqual([1 - 0.25 * 4.75, -3 - 0.25 * 7, -7]);
    expect([...returns]).toEqual([10 + advantage[0], 20 + advantage[1], 23]);
  });

  it('drops bootstrap and sum at a terminated step', () => {
    const { advantage } = generalisedAdvantage(input({ terminated: Uint8Array.of(0, 1, 0) }));
    expect([...advantage]).toEqual([1 - 0.25 * 18, 2 - 20, -7]);
  });

  it('bootstraps from the final observation at a truncated step, and drops the sum', () => {
    const nextValue = Float32Array.of(20, 100, 40);
    const { advantage } = generalisedAdvantage(input({ truncated: Uint8Array.of(0, 1, 0), nextValue }));
    expect([...advantage]).toEqual([1 + 0.25 * 32, 2 + 50 - 20, -7]);
  });

  it('treats environments side by side as if each were alone', () => {
    const rng = Rng.fromSeed(3);
    const [steps, envs] = [7, 3];
    const draw = () => rng.fillNormal(new Float32Array(steps * envs));
    const flag = () => Uint8Array.from({ length: steps * envs }, () => (rng.uniform() < 0.2 ? 1 : 0));
    const all = {
      steps,
      envs,
      reward: draw(),
      value: draw(),
      nextValue: draw(),
      terminated: flag(),
      truncated: flag(),
      gamma: 0.97,
      gaeLambda: 0.9,
    };
    const together = generalisedAdvantage(all);
    for (let e = 0; e < envs; e++) {
      const column = <T extends Float32Array | Uint8Array>(x: T) => x.filter((_, i) => i % envs === e) as T;
      const { reward, value, nextValue, terminated, truncated } = all;
      const alone = generalisedAdvantage({
        ...all,
        envs: 1,
        reward: column(reward),
        value: column(value),
        nextValue: column(nextValue),
        terminated: column(terminated),
        truncated: column(truncated),
      });
      expect(column(together.advantage)).toEqual(alone.advantage);
    }
  });
});
