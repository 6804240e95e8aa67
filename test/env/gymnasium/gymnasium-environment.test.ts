// Environments of Python's Gymnasium: the contract, their spaces, and what they answer.

import { describe, expect, test } from 'vitest';
import { makeEnvironment } from '../../../src/env/environments.js';
import { environmentContract } from '../environment.contract.js';
import { noGymnasium, room, useGymnasium } from './python.js';

useGymnasium();

describe.skipIf(noGymnasium)('environments of Gymnasium', () => {
  environmentContract('CartPole-v1', () => makeEnvironment({ gymnasium: 'CartPole-v1' }));
  environmentContract('an image', () => room('Picture'));

  test('a seed is Gymnasium’s own: the first state of Pendulum-v1 from seed 42', async () => {
    const env = await makeEnvironment({ gymnasium: 'Pendulum-v1' });
    const { observation } = await env.reset({ seed: 42 });
    const again = await env.reset({ seed: 42 });
    const other = await env.reset({ seed: 43 });
    expect(again.observation).toEqual(observation);
    expect(other.observation).not.toEqual(observation);
    // gymnasium.make('Pendulum-v1').reset(seed=42)[0]
    for (const [i, value] of [-0.14995256, 0.9886932, -0.12224312].entries())
      expect(observation[i]).toBeCloseTo(value, 6);
    await env.close();
  });
});

describe.skipIf(noGymnasium)('spaces', () => {
  test('an image is a box of bytes, shown as it is', async () => {
    const env = await room('Picture');
    expect(env.observationSpace).toMatchObject({ type: 'box', shape: [4, 5, 3] });
    await env.reset({ seed: 1 });
    const { observation } = await env.step(Float32Array.of(0));
    const lit = observation.findIndex((value) => value > 0);
    expect([...observation.subarray(lit, lit + 3)]).toEqual([255, 1, 7]);
    expect([...observation].filter((value) => value > 0)).toHaveLength(3);
    await env.close();
  });

  test('dictionaries and tuples are flat rows, several choices are one', async () => {
    const env = await room('Nested');
    expect(env.observationSpace).toMatchObject({ type: 'box', shape: [7] });
    expect(env.actionSpace).toEqual({ type: 'discrete', n: 6, start: 0 });
    await env.reset({ seed: 1 });
    const { observation, reward } = await env.step(Float32Array.of(5));
    // The last of three and of two; in alphabetical order: pair (one of three as bits, two bits), where.
    expect(reward).toBe(21);
    expect([...observation]).toEqual([0, 1, 0, 1, 0, 21, -1]);
    await env.close();
  });

  test('actions lie in boxes of double precision and of integers, their bounds included', async () => {
    const env = await room('Joints');
    expect(env.actionSpace).toMatchObject({ type: 'box', shape: [3] });
    await env.reset({ seed: 1 });
    const highest = Float32Array.of(0.1, -0.1, 4.6);
    expect((await env.step(highest)).reward).toBe(5);
    await env.close();
  });

  test.each([
    ['Spoken', 'observation', /^Text\(1, 10/],
    ['Bare', 'observation', /^None$/],
    ['Blind', 'observation', /^Dict\(\)$/],
    ['Idle', 'action', /\(0,\)/],
  ])('what is no row of numbers is refused by the name of its space: %s', async (name, which, space) => {
    const values = { which, space: expect.stringMatching(space) };
    await expect(room(name)).rejects.toMatchObject({ code: 'GYMNASIUM_SPACE', values });
  });

  test('a reward beyond a float32 is refused at its step', async () => {
    const env = await room('Lavish');
    await env.reset({ seed: 1 });
    const message = 'The reward as float32 is not finite (1e+300) at step 1 of "rooms/Lavish-v0".';
    await expect(env.step(Float32Array.of(0))).rejects.toMatchObject({ code: 'NON_FINITE_VALUE', message });
    await env.close();
  });
});
