// Environments that show only some of their observation.

import { describe, expect, it } from 'vitest';
import { makeEnvironment } from '../../src/env/make-environment.js';
import { hideElements, stackObservations } from '../../src/env/partial-environment.js';
import { DEFAULT_GRID, Gridworld } from '../controlled/gridworld.js';

const pendulum = () => makeEnvironment({ id: 'pendulum' });

describe('a pendulum without its velocity', () => {
  it('shows the angle as the whole one does, and gives its rewards', async () => {
    const [whole, partial] = [await pendulum(), hideElements(await pendulum(), [2])];
    expect(partial.observationSpace).toMatchObject({ low: [-1, -1], high: [1, 1] });
    expect(partial.known).toBeUndefined();
    expect(partial.reset({ seed: 5 }).observation).toEqual(whole.reset({ seed: 5 }).observation.slice(0, 2));
    for (let t = 0; t < 200; t++) {
      const [seen, all] = [partial.step(Float32Array.of(1)), whole.step(Float32Array.of(1))];
      expect(seen).toEqual({ ...all, observation: all.observation.slice(0, 2) });
    }
  });

  it('goes on from its snapshots with the velocity that nobody saw', async () => {
    const env = hideElements(await pendulum(), [2]);
    env.reset({ seed: 1 });
    env.step(Float32Array.of(2));
    const snapshot = env.snapshot();
    const next = env.step(Float32Array.of(0));
    const other = hideElements(await pendulum(), [2]);
    expect(other.restore(snapshot).length).toBe(2);
    expect(other.step(Float32Array.of(0))).toEqual(next);
  });

  it.each([[[3]], [[-1]], [[0.5]], [[0, 1, 2]]])('refuses to hide %j', async (hidden) => {
    const env = await pendulum();
    expect(() => hideElements(env, hidden)).toThrow(expect.objectContaining({ code: 'ENV_SPEC_INVALID' }));
  });
});

describe('stacked observations', () => {
  const stacked = async () => stackObservations(hideElements(await pendulum(), [2]), 3);

  it('are the last ones, the newest last, and the first again before an episode has as many', async () => {
    const [whole, env] = [await pendulum(), await stacked()];
    expect(env.observationSpace).toMatchObject({ shape: [6] });
    const first = [...whole.reset({ seed: 5 }).observation.slice(0, 2)];
    expect([...env.reset({ seed: 5 }).observation]).toEqual([...first, ...first, ...first]);
    const later = [0, 1, 2].map(() => [...whole.step(Float32Array.of(1)).observation.slice(0, 2)]);
    expect([...env.step(Float32Array.of(1)).observation]).toEqual([...first, ...first, ...later[0]]);
    env.step(Float32Array.of(1));
    const { observation, reward } = env.step(Float32Array.of(1));
    expect([...observation]).toEqual(later.flat());
    expect(reward).toBeLessThan(0);
  });

  it('are what a specification with `stack` makes, of what is not hidden', async () => {
    const env = await makeEnvironment({ id: 'pendulum', hide: [2], stack: 4 });
    expect(env.observationSpace).toMatchObject({ shape: [8] });
    const grid = new Gridworld(DEFAULT_GRID, 100);
    expect(() => stackObservations(grid, 2)).toThrow(expect.objectContaining({ code: 'ENV_SPEC_INVALID' }));
  });
});
