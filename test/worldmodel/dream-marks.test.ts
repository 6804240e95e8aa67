// A dream's step taken back, and dreams that part from one state.

import { expect, test } from 'vitest';
import { Dream } from '../../src/worldmodel/dream.js';
import { gridDynamics, TabularModel } from '../controlled/gridworld.js';

const model = new TabularModel(gridDynamics({ map: ['...S...', '......G'], slip: 0.6, stepReward: -0.1 }));
const dream = () => new Dream({ model, starts: Float32Array.of(0, 1, 2, 5), maxEpisodeSteps: 30 });
const up = Float32Array.of(0);

test('is as it was, its stream included', async () => {
  const env = dream();
  await env.reset({ seed: 4 });
  await env.step(up);
  const before = await env.snapshot();
  const takeBack = env.mark();
  const step = await env.step(up);
  await env.reset();
  takeBack();
  expect(await env.snapshot()).toEqual(before);
  expect(await env.step(up)).toEqual(step);
});
