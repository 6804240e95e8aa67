// Bring your own MJCF: a model file and a body written as data, and everything that can be wrong with them.

import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { type EnvSpec, makeEnvironment } from '../../src/env/environments.js';
import type { MujocoEnvironment } from '../../src/env/mujoco/mujoco-environment.js';
import { Simulation } from '../../src/env/mujoco/simulation.js';
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
    ['beyond a clip is not known of what it shows', 20, undefined],
    ['within a clip is known', 3, true],
  ])('an end %s', async (_, limit, known) => {
    const termination = [{ of: { qvel: ['turn'] }, above: -limit, below: limit }];
    const env = await make({ termination, action: { range: [-9, 9] }, maxEpisodeSteps: null, resetNoise: [] });
    env.reset({ seed: 1 });
    let result = env.step(Float32Array.of(9, 0));
    while (!result.terminated) result = env.step(Float32Array.of(9, 0));
    expect(env.known?.terminated?.(result.observation, 0)).toBe(known);
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

  test('quaternions are unit ones in the first observation, whatever start and noise made of them', async () => {
    const loose = '<body name="ball"><freejoint name="free"/><geom size=".1"/></body>';
    const joint = '<joint name="wrist" type="ball"/><geom size=".01"/>';
    const model = arm().replace('<body name="base"', `${loose}$&`);
    writeFileSync(path.join(folder, 'loose.xml'), model.replace('<site name="hand"', `<body>${joint}</body>$&`));
    const at = { mjcf: 'loose.xml', observation: [{ qpos: ['free', 'wrist', 'turn'] }], termination: [] };
    const initial = { qpos: { free: [0, 0, 3, 2, 0, 0, 0], wrist: [0, 0, 0, 0], turn: 0.3 } };
    const exact = await make({ ...at, initial, resetNoise: [] });
    expect([...exact.reset({ seed: 1 }).observation]).toEqual([0, 0, 3, 1, 0, 0, 0, 1, 0, 0, 0, 0.3].map(Math.fround));
    exact.close();
    const env = await make({ ...at, resetNoise: [{ qpos: 'all', uniform: [-0.4, 0.4] }] });
    for (let seed = 0; seed < 20; seed++) {
      const { observation } = env.reset({ seed });
      expect(Math.hypot(...observation.subarray(3, 7))).toBeCloseTo(1, 6);
      expect(Math.hypot(...observation.subarray(7, 11))).toBeCloseTo(1, 6);
      expect(Math.hypot(...observation.subarray(4, 7))).toBeGreaterThan(0.001);
    }
    env.close();
  });
});

describe('files are found as MuJoCo finds them', () => {
  const mesh = (name: string) => `<asset><mesh name="wedge" file="${name}"/></asset>`;
  const mjcf = (...parts: string[]) => `<mujoco>${parts.join('')}</mujoco>`;
  const hand = '<worldbody><body name="palm"><joint/><geom type="mesh" mesh="wedge"/></body></worldbody>';
  const texture = '<asset><texture name="t" type="2d" file="../textures/dot.png"/></asset>';
  /** Each: the main file, the other XML files by name, and what is read after the main file, in order. */
  const cases: [string, string, Record<string, string>, string[]][] = [
    [
      'meshdir holds for files that are included',
      mjcf('<compiler meshdir="meshes"/><include file="parts/hand.xml"/>', hand),
      { 'parts/hand.xml': mjcf(mesh('wedge.obj')) },
      ['parts/hand.xml', 'meshes/wedge.obj'],
    ],
    [
      'meshdir of an included file holds for the main one',
      mjcf('<include file="parts/settings.xml"/>', mesh('wedge.obj'), hand),
      { 'parts/settings.xml': mjcf('<compiler meshdir="meshes"/>') },
      ['parts/settings.xml', 'meshes/wedge.obj'],
    ],
    [
      'an include beside the file that includes it, and one above',
      mjcf('<include file="parts/hand.xml"/>', hand),
      { 'parts/hand.xml': mjcf('<include file="mesh.xml"/>'), 'parts/mesh.xml': mjcf(mesh('meshes/wedge.obj')) },
      ['parts/hand.xml', 'parts/mesh.xml', 'meshes/wedge.obj'],
    ],
    [
      'an include by a name that only from its own folder lies within',
      mjcf('<include file="parts/hand.xml"/>', hand),
      { 'parts/hand.xml': mjcf('<include file="../mesh.xml"/>'), 'mesh.xml': mjcf(mesh('meshes/wedge.obj')) },
      ['parts/hand.xml', 'mesh.xml', 'meshes/wedge.obj'],
    ],
    [
      'assetdir, and a texture beside it',
      mjcf('<compiler assetdir="meshes"/>', mesh('wedge.obj'), texture, hand),
      {},
      ['meshes/wedge.obj', 'textures/dot.png'],
    ],
    [
      'strippath',
      mjcf('<compiler strippath="true" meshdir="meshes"/>', mesh('C:\\robots/v2/wedge.obj'), hand),
      {},
      ['meshes/wedge.obj'],
    ],
    ['backslashes', mjcf(mesh('meshes\\wedge.obj'), hand), {}, ['meshes/wedge.obj']],
    ['an absolute path within the folder', mjcf(mesh('FOLDER/meshes/wedge.obj'), hand), {}, ['meshes/wedge.obj']],
    [
      'characters of XML',
      mjcf(mesh('meshes/nut&amp;bolt&#x20;&apos;1&apos;.obj'), hand),
      {},
      ["meshes/nut&bolt '1'.obj"],
    ],
    [
      'an attached model with a mesh folder of its own',
      mjcf(
        '<asset><model name="hand" file="hand/hand.xml"/></asset>',
        '<worldbody><body name="arm"><joint/><geom size=".1"/><attach model="hand" body="palm" prefix="h_"/></body></worldbody>',
      ),
      { 'hand/hand.xml': mjcf('<compiler meshdir="own"/>', mesh('wedge.obj'), hand) },
      ['hand/hand.xml', 'hand/own/wedge.obj'],
    ],
  ];
  const home = path.join(root, 'found');
  const write = (name: string, content: string | Uint8Array) => {
    mkdirSync(path.dirname(path.join(home, name)), { recursive: true });
    writeFileSync(path.join(home, name), content);
  };
  const wedge = (size: number) => {
    const vertices = [
      [0, 0, 0],
      [size, 0, 0],
      [0, size, 0],
      [0, 0, size],
    ].map((vertex) => `v ${vertex.join(' ')}`);
    return [...vertices, 'f 1 3 2', 'f 1 2 4', 'f 2 3 4', 'f 1 4 3'].join('\n');
  };
  const read = async (file: string) => {
    const names: string[] = [];
    const simulation = await Simulation.load({ file: path.join(home, file), onRead: (name) => names.push(name) });
    return { names, simulation };
  };

  beforeAll(() => {
    for (const name of ['meshes/wedge.obj', "meshes/nut&bolt '1'.obj", 'hand/own/wedge.obj']) write(name, wedge(0.2));
    const dot = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC';
    write('textures/dot.png', Buffer.from(dot, 'base64'));
  });

  test.each(cases)('%s', async (_, main, others, expected) => {
    write('main.xml', main.replace('FOLDER', home));
    for (const [name, content] of Object.entries(others)) write(name, content);
    const { names, simulation } = await read('main.xml');
    expect(names).toEqual(['main.xml', ...expected]);
    simulation.delete();
  });

  test('a file that changed within a second is read anew', async () => {
    const motor = '<actuator><motor joint="turn"/></actuator>';
    const pushed = hand.replace('<joint/>', '<joint name="turn"/>');
    write('main.xml', mjcf('<compiler meshdir="meshes"/>', mesh('changing.obj'), pushed, motor));
    const falls: number[] = [];
    for (const size of [0.2, 0.2, 2]) {
      write('meshes/changing.obj', wedge(size));
      const { names, simulation } = await read('main.xml');
      expect(names).toEqual(['main.xml', 'meshes/changing.obj']);
      simulation.arrays.ctrl[0] = 1;
      simulation.step(20);
      falls.push(simulation.arrays.qpos[0]);
      simulation.delete();
    }
    expect(falls[1]).toBe(falls[0]);
    expect(falls[2]).not.toBeCloseTo(falls[0], 3);
  });

  test('what lies beside the model’s folder is read where mjcfFolder says so', async () => {
    const at = { mjcf: '../found/arms/arm.xml', observation: [{ qpos: 'all' }] };
    const asset = '<compiler meshdir="../meshes"/><include file="asset.xml"/>';
    write('arms/asset.xml', mjcf(mesh('wedge.obj')));
    write('arms/arm.xml', arm(asset).replace('<site name="hand"', '<geom type="mesh" mesh="wedge"/>$&'));
    await expect(make(at)).rejects.toMatchObject({
      code: 'ENV_UNUSABLE',
      message: expect.stringMatching(/"\S*found\/meshes\/wedge\.obj" cannot be read: it lies outside "\S*found\/arms"/),
      hint: expect.stringContaining('env.mjcfFolder'),
    });
    const env = await make({ ...at, mjcfFolder: '../found' });
    expect(env.reset({ seed: 1 }).observation).toHaveLength(2);
    env.close();
  });
});

describe('one clear error each', () => {
  const crossed = (low: number, high: number) =>
    new RegExp(`no number lies between a low of ${low} and a high of ${high};`);
  const end = (bounds: object) => ({ termination: [{ of: { qpos: ['turn'] }, ...bounds }] });
  const cases: [string, Record<string, unknown>, RegExp, string][] = [
    ['a model that is not there', { mjcf: 'none.xml' }, /none\.xml/, 'ENV_UNUSABLE'],
    ['a model MuJoCo does not compile', { mjcf: 'massless.xml' }, /mass and inertia/, 'ENV_UNUSABLE'],
    [
      'an include outside the folder',
      { mjcf: 'outside.xml' },
      /"\S*\/outside\.xml" cannot be read: it lies outside "\S*scenario" .*line 2/,
      'ENV_UNUSABLE',
    ],
    [
      'an include outside through a link',
      { mjcf: 'linked.xml' },
      /"\S*\/parts\/link\.xml" cannot be read: it lies outside/,
      'ENV_UNUSABLE',
    ],
    ['an absolute include', { mjcf: 'absolute.xml' }, /"\/etc\/hosts" cannot be read: it lies outside/, 'ENV_UNUSABLE'],
    ['a device', { mjcf: 'device.xml' }, /"\/dev\/stdin" cannot be read: it lies outside/, 'ENV_UNUSABLE'],
    ['a folder as a file', { mjcf: 'folder.xml' }, /parts" cannot be read: it is not a regular file/, 'ENV_UNUSABLE'],
    ['a file that is missing', { mjcf: 'missing.xml' }, /parts\/none\.xml.*line 2/, 'ENV_UNUSABLE'],
    ['a plugin', { mjcf: 'plugin.xml' }, /plugin "mujoco\.elasticity\.cable".*WebAssembly.*line 2/, 'ENV_UNUSABLE'],
    [
      'actuators without limits, named as far as they have names',
      { mjcf: 'unlimited.xml' },
      /Actuator 0 has no ctrlrange/,
      'ENV_SPEC_INVALID',
    ],
    [
      'a name that is not there, where others have none',
      { mjcf: 'unlimited.xml', action: { actuators: ['pull'] } },
      /no actuator "pull"\. Known: none/,
      'ENV_SPEC_INVALID',
    ],
    ['a simulation without memory', { mjcf: 'small.xml' }, /MuJoCo could not go on.*out of memory/, 'ENV_UNUSABLE'],
    ['a joint that is not there', { observation: [{ qpos: ['trun'] }] }, /no joint "trun".*"turn"/, 'ENV_SPEC_INVALID'],
    ['a reward of several numbers', { reward: [{ name: 'x', of: { qpos: 'all' } }] }, /2 numbers/, 'ENV_SPEC_INVALID'],
    ['an expression of none', { observation: [{}] }, /exactly one/, 'ENV_SPEC_INVALID'],
    ['a mistyped key', { frameskip: 2 }, /Unknown key "frameskip"/, 'UNKNOWN_KEY'],
    [
      'a clip',
      { observation: [{ clip: { of: { qpos: 'all' }, low: 1, high: -1 } }] },
      crossed(1, -1),
      'ENV_SPEC_INVALID',
    ],
    [
      'a tolerance within another expression',
      { reward: [{ name: 'x', of: { sum: [{ tolerance: { of: { qpos: ['turn'] }, bounds: [1, 0] } }] } }] },
      crossed(1, 0),
      'ENV_SPEC_INVALID',
    ],
    ['noise', { resetNoise: [{ qpos: 'all', uniform: [0.1, -0.1] }] }, crossed(0.1, -0.1), 'ENV_SPEC_INVALID'],
    [
      'a disc of one element',
      { resetNoise: [{ qpos: ['turn'], disc: 1 }] },
      /two elements.* are 1\./,
      'ENV_SPEC_INVALID',
    ],
    ['an action’s range', { action: { range: [1, -1] } }, crossed(1, -1), 'ENV_SPEC_INVALID'],
    ['an end that is everywhere', end({ above: 1, below: 0 }), crossed(1, 0), 'ENV_SPEC_INVALID'],
    ['one without its ends', end({ above: 1, atMost: 1 }), crossed(1, 1), 'ENV_SPEC_INVALID'],
    ['one of four bounds', end({ above: 1, atLeast: 0, below: 3, atMost: 0.5 }), crossed(1, 0.5), 'ENV_SPEC_INVALID'],
    ['an end without a bound', end({}), /give one of above, below, atLeast, atMost/, 'ENV_SPEC_INVALID'],
    ['a missing reward', { reward: undefined }, /needs "reward"/, 'ENV_SPEC_INVALID'],
    [
      'a start of the wrong size',
      { initial: { qpos: { turn: [1, 2] } } },
      /another length \(2\) than the joint \(1\)/,
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
    for (const [name, file] of [
      ['absolute', '/etc/hosts'],
      ['device', '/dev/stdin'],
      ['folder', 'parts'],
      ['missing', 'parts/none.xml'],
    ])
      writeFileSync(path.join(folder, `${name}.xml`), arm(`<include file="${file}"/>`));
    const cable = '<extension><plugin plugin="mujoco.elasticity.cable"/></extension>';
    writeFileSync(path.join(folder, 'plugin.xml'), arm(cable));
    writeFileSync(path.join(folder, 'unlimited.xml'), arm().replace(/<motor .*?\/>/g, '<motor joint="turn"/>'));
    const box = (at: number) => `<body pos="0 0 ${at}"><freejoint/><geom type="box" size=".1 .1 .1"/></body>`;
    const pile = [0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35].map(box).join('');
    writeFileSync(path.join(folder, 'small.xml'), arm(`<size memory="30K"/><worldbody>${pile}</worldbody>`));
  });

  test.each(cases)('%s', async (_, changes, message, code) => {
    const attempt = make(changes).then((env) => env.reset({ seed: 1 }));
    await expect(attempt).rejects.toMatchObject({ code, message: expect.stringMatching(message) });
  });

  test('a range of one number is one', async () => {
    const noise = [{ qpos: 'all', uniform: [0.5, 0.5] }];
    const env = await make({ ...end({ atLeast: 0.5, atMost: 0.5 }), resetNoise: noise, initial: {} });
    expect([...env.reset({ seed: 1 }).observation.subarray(0, 1)]).toHaveLength(1);
    expect([...env.jointState().qpos]).toEqual([0.5, 0.5]);
    env.close();
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
