// Gymnasium's equations, written out once more for single steps.

import { expect, test } from 'vitest';
import type { SyncVectorEnvironment } from '../../src/core/environment.js';
import { packNumbers } from '../../src/env/clocked-environment.js';
import { makeEnvironment } from '../../src/env/environments.js';

async function placed(id: string, state: number[]): Promise<SyncVectorEnvironment> {
  const env = await makeEnvironment({ id });
  env.reset({ seed: 0 });
  const snapshot = env.snapshot();
  env.restore({ ...snapshot, state: { ...(snapshot.state as object), world: packNumbers(state) } });
  return env;
}

test('pendulum: one step from a known state', async () => {
  const env = await placed('pendulum', [2, 1]);
  const { observation, reward, terminated } = env.step(Float32Array.of(0.5));
  const velocity = 1 + (15 * Math.sin(2) + 3 * 0.5) * 0.05;
  const theta = 2 + velocity * 0.05;
  expect(reward).toBeCloseTo(-(4 + 0.1 + 0.001 * 0.25), 12);
  expect(Array.from(observation)).toEqual([Math.cos(theta), Math.sin(theta), velocity].map(Math.fround));
  expect(terminated).toBe(false);
});

test('cartpole: one step from a known state', async () => {
  const env = await placed('cartpole', [0.1, 0.2, 0.05, -0.3]);
  const { observation, reward } = env.step(Float32Array.of(1));
  const push = (10 + 0.05 * 0.09 * Math.sin(0.05)) / 1.1;
  const angular = (9.8 * Math.sin(0.05) - Math.cos(0.05) * push) / (0.5 * (4 / 3 - (0.1 * Math.cos(0.05) ** 2) / 1.1));
  const linear = push - (0.05 * angular * Math.cos(0.05)) / 1.1;
  const expected = [0.1 + 0.02 * 0.2, 0.2 + 0.02 * linear, 0.05 - 0.02 * 0.3, -0.3 + 0.02 * angular];
  observation.forEach((value, i) => {
    expect(value).toBeCloseTo(expected[i], 6);
  });
  expect(reward).toBe(1);
});

test.each([
  ['far to the right', [2.39, 1, 0, 0], true],
  ['fallen over', [0, 0, 0.2094, 1], true],
  ['upright', [0, 0, 0.2, 0], false],
])('cartpole: ends when %s', async (_, state, ends) => {
  const env = await placed('cartpole', state);
  const result = env.step(Float32Array.of(1));
  expect(result.terminated).toBe(ends);
  expect(result.reward).toBe(1);
  if (ends) expect(() => env.step(Float32Array.of(1))).toThrow(/stepped before reset/);
});
