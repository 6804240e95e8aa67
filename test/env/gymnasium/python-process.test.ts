// What can go wrong with a Python process, and what of it the environment survives.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { kill } from 'node:process';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { makeEnvironment } from '../../../src/env/environments.js';
import type { GymnasiumEnvironment } from '../../../src/env/gymnasium/gymnasium-environment.js';
import { temporaryFolder } from '../../temporary-folder.js';
import { gymnasiumPython, noGymnasium, room, useGymnasium } from './python.js';

useGymnasium();

afterEach(() => {
  process.env.REVERIE_PYTHON = gymnasiumPython;
  vi.restoreAllMocks();
});

describe.skipIf(noGymnasium)('a process that dies', () => {
  test('kill -9 in mid-episode changes no observation', async () => {
    const [undisturbed, env] = [await room('Room'), await room('Room', { kwargs: {}, timeoutSeconds: 61 })];
    const expected = await walk(undisturbed, 6);
    let killed = 0;
    const lived = await walk(env, 6, (step) => {
      if (step !== 3) return;
      kill(env.pid!, 'SIGKILL');
      killed++;
    });
    expect(lived).toEqual(expected);
    expect(killed).toBe(1);
    await env.close();
    await undisturbed.close();
  });

  test('one that dies at the same step again and again is told of, with its last words', async () => {
    const env = await room('Faulty');
    await env.reset({ seed: 1 });
    await env.step(Float32Array.of(1));
    await env.step(Float32Array.of(1));
    await expect(env.step(Float32Array.of(1))).rejects.toMatchObject({
      code: 'GYMNASIUM_DIED',
      values: { times: 3, problem: expect.stringContaining('segmentation of the wheel') },
    });
    await env.reset({ seed: 1 });
    expect((await env.step(Float32Array.of(-1))).info).toMatchObject({ steps: 1 });
    await env.close();
  });

  test('an episode that does not go the same way again is not passed off as the same', async () => {
    const env = await room('Gambler');
    await env.reset({ seed: 1 });
    await env.step(Float32Array.of(0));
    const snapshot = env.snapshot();
    kill(env.pid!, 'SIGKILL');
    await expect(env.step(Float32Array.of(0))).rejects.toMatchObject({ code: 'GYMNASIUM_NOT_REPEATABLE' });
    await expect(env.restore(snapshot)).rejects.toMatchObject({ code: 'GYMNASIUM_NOT_REPEATABLE' });
    await env.reset({ seed: 1 });
    await env.close();
  });

  test('one that hangs is ended after its time', async () => {
    const env = await room('Slow', { timeoutSeconds: 5 });
    await env.reset({ seed: 1 });
    await expect(env.step(Float32Array.of(1))).rejects.toMatchObject({
      code: 'GYMNASIUM_TIMEOUT',
      values: { seconds: 5 },
    });
    await env.reset({ seed: 2 });
    await env.close();
  });
});

describe.skipIf(noGymnasium)('a process that lives', () => {
  test('an exception is told, and the next episode begins as if there had been none', async () => {
    const env = await room('Faulty');
    await env.reset({ seed: 1 });
    await expect(env.step(Float32Array.of(0))).rejects.toMatchObject({
      code: 'GYMNASIUM_FAILED',
      values: { what: 'step 1', problem: 'ValueError: the wheel came off' },
    });
    await expect(env.step(Float32Array.of(-1))).rejects.toMatchObject({ code: 'ENV_NOT_RESET' });
    await env.reset({ seed: 1 });
    await env.close();
  });

  test.each([
    [
      'box',
      'short',
      /the observation is \[1\.\] of shape \(1,\) .*where its space is Box\(0\.0, 9\.0, \(2,\), float32\)/,
    ],
    ['box', 'long', /of shape \(3,\)/],
    ['box', 'turned', /of shape \(2, 1\)/],
    ['box', 'words', /\['a' 'b'\] .*type <U1/],
    ['box', 'none', /\[1\.0 None\] .*type object/],
    ['box', 'nan', /Observation element 1 is not finite \(NaN\)/],
    ['bytes', 'light', /0\.5.* type float64, .*uint8/],
    ['bytes', 'wide', /300.* type int64, .*uint8/],
    ['one', 'three', /the observation is 3 .*where its space is Discrete\(3\)/],
    ['parts', 'part', /the observation\['a'\] is -1/],
    ['parts', 'shared', /the observation\['b'\]\[0\] is .*of shape \(3,\)/],
    ['parts', 'missing', /parts of the observation: 1, where its space Dict.* has 2/],
    ['parts', 'more', /parts of the observation\['b'\]: 2/],
  ])('an observation that is not of its space (%s) is refused at reset and step: %s', async (space, shows, message) => {
    const [env, other] = [
      await room('Stray', { kwargs: { space, shows } }),
      await room('Stray', { kwargs: { space, shows } }),
    ];
    const refused = (where: string) => ({
      code: shows === 'nan' ? 'NON_FINITE_VALUE' : 'GYMNASIUM_FAILED',
      message: expect.stringMatching(new RegExp(`${shows === 'nan' ? '' : `in ${where}: `}.*${message.source}`)),
    });
    const [{ observation }] = [await env.reset({ seed: 1 }), await other.reset({ seed: 1 })];
    for (let step = 1; step <= 2; step++) expect((await env.step(Float32Array.of(0))).observation).toEqual(observation);
    // Side by side in one process: the one beside it is not disturbed.
    const [failed, seen] = await Promise.allSettled([env.step(Float32Array.of(0)), other.step(Float32Array.of(0))]);
    expect(failed).toMatchObject({ reason: refused('step 3') });
    expect(seen).toMatchObject({ value: { observation, reward: expect.any(Number) } });
    await env.reset({ seed: 1 });
    await expect(env.step(Float32Array.of(-1))).rejects.toMatchObject(refused('step 1'));
    await expect(env.reset({ seed: 1 })).rejects.toMatchObject(refused('reset'));
    await env.close();
    await other.close();
  });

  test('what is missing is named with the way out', async () => {
    await expect(makeEnvironment({ gymnasium: 'Pendulum-v9' })).rejects.toMatchObject({ code: 'GYMNASIUM_UNKNOWN' });
    await expect(makeEnvironment({ gymnasium: 'Pendulum-v1', import: 'no_such_module' })).rejects.toMatchObject({
      code: 'GYMNASIUM_UNKNOWN',
    });
    await expect(makeEnvironment({ id: 'gymnasium' })).rejects.toMatchObject({ code: 'NAME_UNKNOWN' });
    await expect(makeEnvironment({ gymnasium: 'Pendulum-v1', frameSkip: 2 })).rejects.toMatchObject({
      code: 'ENV_SPEC_INVALID',
      message: expect.stringContaining('"frameSkip" does not apply to "gymnasium"'),
    });
    const ended = (how: string) => ({ code: 'ENV_UNUSABLE', message: expect.stringContaining(how) });
    await expect(room('Sudden')).rejects.toMatchObject(ended('with exit code 5; it last wrote: no licence'));
    process.env.REVERIE_PYTHON = 'false';
    await expect(room('Faulty')).rejects.toMatchObject(
      ended('"rooms/Faulty-v0" ended before it had begun: with exit code 1'),
    );
    process.env.REVERIE_PYTHON = '/no/such/python';
    await expect(makeEnvironment({ gymnasium: 'Pendulum-v1' })).rejects.toMatchObject({
      code: 'ENV_UNUSABLE',
      hint: expect.stringContaining('REVERIE_PYTHON'),
    });
  });
});

test.skipIf(noGymnasium)('a Python without gymnasium is told what to install', async () => {
  const bare = join(temporaryFolder('python'), 'bare-python');
  writeFileSync(bare, `#!/bin/sh\nexec "${gymnasiumPython}" -I -S "$@"\n`, { mode: 0o755 });
  process.env.REVERIE_PYTHON = bare;
  await expect(makeEnvironment({ gymnasium: 'Pendulum-v1' })).rejects.toMatchObject({
    code: 'GYMNASIUM_MISSING',
    hint: expect.stringContaining(`${bare} -m pip install gymnasium`),
  });
});

/** Observations and rewards of an episode. */
async function walk(
  env: GymnasiumEnvironment,
  steps: number,
  before: (step: number) => void = () => undefined,
  seed = 5,
): Promise<number[][]> {
  const seen = [[...(await env.reset({ seed })).observation]];
  for (let step = 0; step < steps; step++) {
    before(step);
    const { observation, reward } = await env.step(Float32Array.of((step % 3) - 1));
    seen.push([...observation, reward]);
  }
  return seen;
}
