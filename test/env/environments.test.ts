import { expect, test } from 'vitest';
import { environmentIds, makeEnvironment } from '../../src/env/environments.js';
import { DEFAULT_GRID, Gridworld } from '../controlled/gridworld.js';
import { environmentContract } from './environment.contract.js';

for (const id of environmentIds) environmentContract(id, () => makeEnvironment({ id }));
environmentContract('slippery gridworld', async () => new Gridworld({ ...DEFAULT_GRID, slip: 0.3 }, 100));

const CLOCKS: Record<string, number> = {
  'inverted-pendulum': 1000,
  'inverted-double-pendulum': 1000,
  reacher: 50,
  hopper: 1000,
  'half-cheetah': 1000,
  walker2d: 1000,
  cartpole: 500,
  pendulum: 200,
  'cartpole-swingup': 250,
};

test.each(Object.entries(CLOCKS))('%s is cut off after %i steps', async (id, steps) => {
  const env = await makeEnvironment({ id });
  expect(env.maxEpisodeSteps).toBe(steps);
  env.close();
  const endless = await makeEnvironment({ id, maxEpisodeSteps: null });
  expect(endless.maxEpisodeSteps).toBeUndefined();
  endless.close();
});

test('a choice out of range is refused with the numbers there are', async () => {
  const env = await makeEnvironment({ id: 'cartpole' });
  await env.reset({ seed: 1 });
  const hint = 'Give one whole number of 0 to 1, in an array.';
  for (const wrong of [2, -1, 0.5]) {
    await expect(async () => env.step(Float32Array.of(wrong))).rejects.toMatchObject({
      code: 'ACTION_OUT_OF_SPACE',
      hint,
    });
  }
  env.close();
});
