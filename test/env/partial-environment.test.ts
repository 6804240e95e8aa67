// Environments that show their last observations side by side.

import { expect, it } from 'vitest';
import { makeEnvironment } from '../../src/env/environments.js';
import { stackObservations } from '../../src/env/partial-environment.js';
import { unboundedSpace } from '../../src/env/space-values.js';
import { withDecisions } from '../../src/rl/auto-settings.js';
import { sacConfigSchema } from '../../src/rl/config.js';
import { DEFAULT_GRID, Gridworld } from '../controlled/gridworld.js';
import { environmentContract } from './environment.contract.js';

const pendulum = () => makeEnvironment({ id: 'pendulum' });

environmentContract('pendulum, two stacked', async () => stackObservations(await pendulum(), 2));

it('shows the last ones, the newest last, and the first again before an episode has as many', async () => {
  const [whole, env] = [await pendulum(), stackObservations(await pendulum(), 3)];
  expect(env.observationSpace).toMatchObject({ shape: [9] });
  expect(env.known).toBeUndefined();
  const first = [...whole.reset({ seed: 5 }).observation];
  expect([...env.reset({ seed: 5 }).observation]).toEqual([...first, ...first, ...first]);
  const later = [0, 1, 2].map(() => [...whole.step(Float32Array.of(1)).observation]);
  expect([...env.step(Float32Array.of(1)).observation]).toEqual([...first, ...first, ...later[0]]);
  env.step(Float32Array.of(1));
  const { observation, reward } = env.step(Float32Array.of(1));
  expect([...observation]).toEqual(later.flat());
  expect(reward).toBeLessThan(0);
});

it('gives observations away: who scales one in place changes nothing that is to come', async () => {
  const env = stackObservations(await pendulum(), 2);
  const start = env.reset({ seed: 1 });
  const snapshot = env.snapshot();
  const kept = env.step(Float32Array.of(0)).observation;
  for (const touched of [start.observation, env.restore(snapshot), env.reset({ seed: 1 }).observation]) touched.fill(9);
  expect(env.step(Float32Array.of(0)).observation).toEqual(kept);
});

it('shows pictures, too, which have more elements than a call takes arguments', async () => {
  const [env, width] = [await pendulum(), 100_000];
  const wide = Object.assign(Object.create(env), {
    observationSpace: unboundedSpace(width),
    reset: () => ({ ...env.reset({ seed: 1 }), observation: new Float32Array(width) }),
    step: (action: Float32Array) => ({ ...env.step(action), observation: new Float32Array(width).fill(1) }),
  });
  const stacked = stackObservations(wide as typeof env, 4);
  stacked.reset();
  const { observation } = stacked.step(Float32Array.of(0));
  expect([observation.length, observation.indexOf(1)]).toEqual([4 * width, 3 * width]);
});

it('goes on from its snapshots', async () => {
  const env = stackObservations(await pendulum(), 2);
  env.reset({ seed: 1 });
  env.step(Float32Array.of(2));
  const snapshot = env.snapshot();
  const next = env.step(Float32Array.of(0));
  const other = stackObservations(await pendulum(), 2);
  expect(other.restore(snapshot).length).toBe(6);
  expect(other.step(Float32Array.of(0))).toEqual(next);
});

it('is what a specification with `stack` makes, of observations in a box', async () => {
  const env = await makeEnvironment({ id: 'pendulum', stack: 4 });
  expect(env.observationSpace).toMatchObject({ shape: [12] });
  const grid = new Gridworld(DEFAULT_GRID, 100);
  const message = expect.stringContaining('shows a discrete 0..');
  expect(() => stackObservations(grid, 2)).toThrow(expect.objectContaining({ code: 'ENV_SPEC_INVALID', message }));
});

it('is the body that settings name', async () => {
  const settings = sacConfigSchema.parse({ targetEntropy: { pendulum: -0.3 } });
  expect(withDecisions(settings, stackObservations(await pendulum(), 2)).targetEntropy).toBe(-0.3);
});
