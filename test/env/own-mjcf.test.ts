// Bring your own MJCF: a model file and a body written as data, and everything that can be wrong with them.

import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { type EnvSpec, makeEnvironment } from '../../src/env/environments.js';
import type { MujocoEnvironment } from '../../src/env/mujoco/mujoco-environment.js';
import { temporaryFolder } from '../temporary-folder.js';
import { environmentContract } from './environment.contract.js';

const given = (name: string) => readFileSync(new URL(`own-mjcf/${name}`, import.meta.url), 'utf8');
const arm = (extra = '') => given('arm.xml').replace('<!-- more -->', extra);
const spec = parse(given('arm.yaml')) as EnvSpec;

const root = temporaryFolder('mjcf');
const folder = path.join(root, 'scenario');
const make = (changes: Record<string, unknown> = {}) =>
  makeEnvironment({ ...spec, ...changes } as EnvSpec, { folder }) as Promise<MujocoEnvironment>;

beforeAll(() => {
  mkdirSync(path.join(folder, 'parts'), { recursive: true });
  mkdirSync(path.join(root, 'shared'));
  writeFileSync(path.join(folder, 'arm.xml'), arm());
  writeFileSync(path.join(root, 'shared', 'arm.xml'), arm());
  writeFileSync(path.join(root, 'outside.xml'), '<mujocoinclude><size memory="1M"/></mujocoinclude>');
  writeFileSync(path.join(folder, 'parts', 'size.xml'), '<mujocoinclude><size memory="1M"/></mujocoinclude>');
  symlinkSync(path.join(root, 'outside.xml'), path.join(folder, 'parts', 'link.xml'));
});

environmentContract('own MJCF', () => make());

describe('what the data says is what happens', () => {
  test('positions belong to the observed joints, velocities to the step', async () => {
    const env = await make({ resetNoise: [], maxEpisodeSteps: null });
    env.reset({ seed: 1 });
    let before = env.jointState().qpos;
    for (let i = 0; i < 5; i++) {
      const { observation } = env.step(Float32Array.of(1, -0.5));
      const { qpos } = env.jointState();
      const hand = {
        x: 0.5 * (Math.sin(qpos[0]) + Math.sin(qpos[0] + qpos[1])),
        z: 1 + 0.5 * (Math.cos(qpos[0]) + Math.cos(qpos[0] + qpos[1])),
      };
      expect(observation[6]).toBeCloseTo(hand.x - 0.5, 6);
      expect(observation[8]).toBeCloseTo(hand.z - 1.5, 6);
      expect(observation[12]).toBeCloseTo(Math.cos(qpos[0] + qpos[1]), 6);
      expect(observation[13]).toBeCloseTo((0.5 * (Math.sin(qpos[0]) - Math.sin(before[0]))) / 0.02, 5);
      before = qpos;
    }
    env.close();
  });

  test('reward is the weighted sum of its terms, each shown in info', async () => {
    const env = await make();
    env.reset({ seed: 1 });
    const { reward, info, observation } = env.step(Float32Array.of(0.5, 0.25));
    const distance = Math.hypot(observation[6], observation[7], observation[8]);
    expect(info.reward_near).toBeCloseTo(Math.exp(Math.log(0.1) * distance ** 2), 5);
    expect(info.reward_effort).toBeCloseTo(-0.1 * (0.25 + 0.0625), 12);
    expect(reward).toBeCloseTo((info.reward_near as number) + (info.reward_effort as number), 12);
    env.close();
  });

  test('termination strikes where its range ends', async () => {
    const env = await make({ termination: [{ of: { qpos: ['turn'] }, atMost: 0.5 }], resetNoise: [] });
    env.reset({ seed: 1 });
    let result = env.step(Float32Array.of(1, 0));
    while (!result.terminated && !result.truncated) {
      expect(env.jointState().qpos[0]).toBeLessThanOrEqual(0.5);
      result = env.step(Float32Array.of(1, 0));
    }
    expect(result.terminated).toBe(true);
    expect(env.jointState().qpos[0]).toBeGreaterThan(0.5);
    env.close();
  });

  test.each([
    [
      'their sum',
      [
        { name: 'large', of: { constant: 3e38 } },
        { name: 'larger', of: { constant: 2e38 } },
      ],
      /sum of the rewards.*"larger", as float32/,
    ],
  ])('a reward that float32 cannot hold: %s', async (_, reward, message) => {
    const env = await make({ reward });
    env.reset({ seed: 0 });
    expect(() => env.step(Float32Array.of(0, 0))).toThrow(
      expect.objectContaining({ code: 'NON_FINITE_VALUE', message: expect.stringMatching(message) }),
    );
    env.close();
  });

  test('meshes are found in the mesh folder', async () => {
    const vertices = ['0 0 0', '0.2 0 0', '0 0.2 0', '0 0 0.2'].map((vertex) => `v ${vertex}`);
    const faces = ['1 3 2', '1 2 4', '2 3 4', '1 4 3'].map((face) => `f ${face}`);
    mkdirSync(path.join(folder, 'meshes'));
    writeFileSync(path.join(folder, 'meshes', 'wedge.obj'), [...vertices, ...faces].join('\n'));
    const asset = '<compiler meshdir="meshes"/><asset><mesh name="wedge" file="wedge.obj"/></asset>';
    writeFileSync(
      path.join(folder, 'mesh.xml'),
      arm(asset).replace('<site name="hand"', '<geom type="mesh" mesh="wedge"/>$&'),
    );
    const env = await make({ mjcf: 'mesh.xml' });
    env.reset({ seed: 1 });
    expect(Number.isFinite(env.step(new Float32Array(2)).reward)).toBe(true);
    env.close();
    rmSync(path.join(folder, 'meshes', 'wedge.obj'));
    await expect(make({ mjcf: 'mesh.xml' })).rejects.toMatchObject({ code: 'ENV_UNUSABLE' });
  });
});

describe('one clear error each', () => {
  const cases: [string, Record<string, unknown>, RegExp, string][] = [
    ['a model that is not there', { mjcf: 'none.xml' }, /none\.xml/, 'ENV_UNUSABLE'],
    ['a model MuJoCo does not compile', { mjcf: 'massless.xml' }, /mass and inertia/, 'ENV_UNUSABLE'],
    [
      'an include outside the folder',
      { mjcf: 'outside.xml' },
      /"\.\.\/outside\.xml", which lies outside/,
      'ENV_UNUSABLE',
    ],
    [
      'an include outside through a link',
      { mjcf: 'linked.xml' },
      /"parts\/link\.xml", which lies outside/,
      'ENV_UNUSABLE',
    ],
    ['an absolute include', { mjcf: 'absolute.xml' }, /"\/etc\/hosts", which lies outside/, 'ENV_UNUSABLE'],
    ['a joint that is not there', { observation: [{ qpos: ['trun'] }] }, /no joint "trun".*"turn"/, 'ENV_SPEC_INVALID'],
    ['a reward of several numbers', { reward: [{ name: 'x', of: { qpos: 'all' } }] }, /2 numbers/, 'ENV_SPEC_INVALID'],
    ['an expression of none', { observation: [{}] }, /exactly one/, 'ENV_SPEC_INVALID'],
    ['a mistyped key', { frameskip: 2 }, /Unknown key "frameskip"/, 'UNKNOWN_KEY'],
    ['a missing reward', { reward: undefined }, /needs "reward"/, 'ENV_SPEC_INVALID'],
    [
      'a start of the wrong size',
      { initial: { qpos: { turn: [1, 2] } } },
      /2 numbers; the joint has 1/,
      'ENV_SPEC_INVALID',
    ],
  ];

  beforeAll(() => {
    writeFileSync(path.join(folder, 'text.xml'), 'once upon a time');
    writeFileSync(
      path.join(folder, 'massless.xml'),
      '<mujoco><worldbody><body><freejoint/></body></worldbody></mujoco>',
    );
    writeFileSync(path.join(folder, 'outside.xml'), arm('<include file="../outside.xml"/>'));
    writeFileSync(path.join(folder, 'linked.xml'), arm('<include file="parts/link.xml"/>'));
    writeFileSync(path.join(folder, 'absolute.xml'), arm('<include file="/etc/hosts"/>'));
  });

  test.each(cases)('%s', async (_, changes, message, code) => {
    const attempt = make(changes).then((env) => env.reset({ seed: 1 }));
    await expect(attempt).rejects.toMatchObject({ code, message: expect.stringMatching(message) });
  });

  test('a reward that is not finite names environment, step and term; the episode is over', async () => {
    const overflow = { exp: { affine: { of: { qpos: ['turn'] }, scale: 1e6, offset: 1e6 } } };
    const env = await make({ reward: [{ name: 'wild', of: overflow }] });
    env.reset({ seed: 1 });
    const expected = { code: 'NON_FINITE_VALUE', message: expect.stringMatching(/Infinity.*step 0 of "arm".*"wild"/) };
    expect(errorOf(() => env.step(new Float32Array(2)))).toMatchObject(expected);
    expect(errorOf(() => env.step(new Float32Array(2)))).toMatchObject({ code: 'ENV_NOT_RESET' });
    env.close();
  });

  test('a simulation that diverges is an error, not a silent new start', async () => {
    writeFileSync(path.join(folder, 'wild.xml'), arm().replace('gear="2"', 'gear="1e12"').replace('"0.01"', '"1"'));
    const env = await make({ mjcf: 'wild.xml', termination: [] });
    env.reset({ seed: 1 });
    const failure = errorOf(() => {
      for (let i = 0; i < 50; i++) env.step(Float32Array.of(1, 0.5));
    });
    expect(failure).toMatchObject({ code: 'NON_FINITE_VALUE', message: expect.stringMatching(/step \d+ of "wild"/) });
    env.close();
  });
});

function errorOf(action: () => unknown): unknown {
  try {
    action();
  } catch (error) {
    return error;
  }
  return undefined;
}
