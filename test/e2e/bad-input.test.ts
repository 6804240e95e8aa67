// What goes wrong in use: every wrong input is refused in one line with a code and a way out, and nothing is lost by it.

import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeEnvironment } from '../../src/env/index.js';
import { writeDynamics } from './own-dynamics.js';
import { fileHashes, halfWritten, refusal, reverie, startReverie } from './reverie.js';

const SMOKE = ['pendulum', '--profile', 'smoke', '--set', 'train.checkpointSeconds=0'];
const isRoot = process.getuid?.() === 0;
const NOBODY = 65_534;

let folder: string;
const at = (...names: string[]) => join(folder, ...names);
const refused = (...args: string[]) => refusal(args, folder);

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'reverie-bad-input-'));
  chmodSync(folder, 0o755);
  const trained = await reverie(['train', ...SMOKE, '--out', 'trained', '--quiet'], folder);
  expect(trained.stderr).toBe('');
  const seen = await reverie(['collect', 'pendulum', '--set', 'collect.steps=400', '--out', 'seen', '--quiet'], folder);
  expect(seen.code).toBe(0);
});
afterAll(() => rmSync(folder, { recursive: true }));

describe('an MJCF of one’s own that is wrong', () => {
  const GOOD =
    '<mujoco><worldbody><body name="b"><joint name="j"/><geom size="1"/></body></worldbody><actuator><motor name="m" joint="j" ctrlrange="-1 1"/></actuator></mujoco>';
  const SCENARIO = [
    'name: own',
    'env:',
    '  mjcf: body.xml',
    '  observation: [{ qpos: all }, { qvel: all }]',
    '  reward: [{ name: up, of: { cos: { qpos: [j] } } }]',
  ].join('\n');
  const own = (xml?: string) => {
    rmSync(at('own'), { recursive: true, force: true });
    mkdirSync(at('own'));
    writeFileSync(at('own', 'scenario.yaml'), SCENARIO);
    if (xml !== undefined) writeFileSync(at('own', 'body.xml'), xml);
  };
  const collect = (...args: string[]) =>
    refused('collect', 'own', '--set', 'collect.steps=20', '--out', 'body', ...args);

  it.each([
    ['is not XML', 'hello', /XML/],
    ['is empty', '', /XML/],
    ['MuJoCo refuses', '<mujoco><worldbody><body><joint/></body></worldbody></mujoco>', /mass and inertia/],
    ['is not there', undefined, /no file "body.xml"/],
    ['includes what lies outside', '<mujoco><include file="../secret.xml"/></mujoco>', /"..\/secret.xml".*outside/],
    ['includes by whole path', '<mujoco><include file="/etc/passwd"/></mujoco>', /"\/etc\/passwd".*outside/],
    ['includes what is not there', '<mujoco><include file="part.xml"/></mujoco>', /no file "part.xml"/],
  ])('%s', async (_, xml, message) => {
    own(xml);
    writeFileSync(at('secret.xml'), GOOD);
    const { code, message: said } = await collect();
    expect(code).toBe('MJCF_INVALID');
    expect(said).toContain(at('own', 'body.xml'));
    expect(said).toMatch(message);
  });

  it('includes what lies outside, through a link', async () => {
    own('<mujoco><include file="part.xml"/></mujoco>');
    symlinkSync(at('secret.xml'), at('own', 'part.xml'));
    expect(await collect()).toMatchObject({
      code: 'MJCF_INVALID',
      message: expect.stringMatching(/"part.xml".*outside/),
    });
  });

  it('is a folder', async () => {
    own();
    mkdirSync(at('own', 'body.xml'));
    expect(await collect()).toMatchObject({ code: 'MJCF_INVALID', message: expect.stringContaining('regular file') });
  });

  it('has a reward that becomes NaN or infinite', async () => {
    own(GOOD);
    const infinite = '{ exp: { constant: 1000 } }';
    for (const of of [infinite, `{ difference: [${infinite}, ${infinite}] }`]) {
      const { code, message } = await collect('--set', `env.reward=[{ name: odd, of: ${of} }]`);
      expect(code).toBe('NON_FINITE_VALUE');
      expect(message).toMatch(/reward.*(NaN|Infinity).*step 0.*"odd"/);
    }
  });

  it('names what the model does not have: the nearest that it has', async () => {
    own(GOOD);
    expect(await collect('--set', 'env.observation=[{ qpos: [jj] }]')).toMatchObject({
      code: 'ENV_SPEC_INVALID',
      message: expect.stringContaining('Did you mean "j"?'),
    });
  });

  it('keeps nothing, so that the same --out can be used once it is right', async () => {
    own(GOOD);
    expect(readdirSync(at('body')).sort()).toEqual(['metrics.jsonl', 'run.json', 'scenario.json']);
    const { code, stderr } = await reverie(
      ['collect', 'own', '--set', 'collect.steps=20', '--out', 'body', '--quiet'],
      folder,
    );
    expect(`${code}${stderr}`).toBe('0');
    expect(await collect()).toMatchObject({ code: 'RUN_EXISTS' });
  });
});

describe('an action outside the space', () => {
  it.each([[[3]], [[Number.NaN]], [[0, 0]]])('is refused: %s', async (action) => {
    const env = await makeEnvironment({ id: 'pendulum' });
    env.reset({ seed: 0 });
    expect(() => env.step(Float32Array.from(action))).toThrow(/outside the action space box \[1\] in -2..2/);
    env.close();
  });
});

describe('a damaged checkpoint', () => {
  const FILES = [
    'checkpoint.json',
    'learner/learner.safetensors',
    'learner/manifest.json',
    'learner/policy.onnx',
    'real/transitions.bin',
    'synthetic/transitions.bin',
    'model/manifest.json',
    'model/member-0.onnx',
    'model/parameters.f32',
  ];
  const DAMAGES: Record<string, (bytes: Buffer) => Buffer> = {
    'cut short': (bytes) => bytes.subarray(0, Math.floor(bytes.length / 2)),
    'with a flipped bit': (bytes) => {
      bytes[Math.floor(bytes.length / 2)] ^= 0x10;
      return bytes;
    },
  };
  const cases = FILES.flatMap((file) => Object.keys(DAMAGES).map((damage) => [file, damage] as const));

  beforeAll(() => {
    cpSync(at('trained'), at('resumed'), { recursive: true });
    const record = JSON.parse(readFileSync(at('resumed', 'run.json'), 'utf8'));
    writeFileSync(at('resumed', 'run.json'), JSON.stringify({ ...record, status: 'interrupted' }));
  });

  it('has all the files there are', () => {
    const there = Object.keys(fileHashes(at('resumed', 'checkpoint'))).filter((file) => !/member-[12]/.test(file));
    expect(there).toEqual([...FILES].sort());
  });

  it.each(cases)('is refused by name: %s, %s', async (file, damage) => {
    const path = at('resumed', 'checkpoint', file);
    const whole = readFileSync(path);
    writeFileSync(path, DAMAGES[damage](Buffer.from(whole)));
    const before = fileHashes(at('resumed', 'checkpoint'));
    const { code, message } = await refused('train', '--resume', 'resumed');
    expect(code).toMatch(/^(CHECKPOINT_CORRUPT|MODEL_FOLDER_INVALID)$/);
    expect(message).toContain(at('resumed', 'checkpoint', file.split('/')[0]));
    expect(fileHashes(at('resumed', 'checkpoint'))).toEqual(before);
    expect(halfWritten(at('resumed'))).toEqual([]);
    writeFileSync(path, whole);
  });

  it.each(FILES)('is refused by name: %s is missing', async (file) => {
    const path = at('resumed', 'checkpoint', file);
    const whole = readFileSync(path);
    rmSync(path);
    const { code, message } = await refused('train', '--resume', 'resumed');
    expect(code).toMatch(/^(CHECKPOINT_CORRUPT|CHECKPOINT_NOT_FOUND|MODEL_FOLDER_INVALID)$/);
    expect(message).toContain(at('resumed', 'checkpoint', file.split('/')[0]));
    writeFileSync(path, whole);
  });

  it('goes on once the files are restored', async () => {
    const { code, stderr } = await reverie(['train', '--resume', 'resumed', '--quiet'], folder);
    expect(`${code}${stderr}`).toBe('0');
    expect(fileHashes(at('resumed', 'checkpoint'))).toEqual(fileHashes(at('trained', 'checkpoint')));
    expect(await refused('train', '--resume', 'resumed')).toMatchObject({
      code: 'RUN_NOT_RESUMABLE',
      message: expect.stringContaining('finished'),
    });
  });
});

describe('ONNX dynamics of one’s own that are wrong', () => {
  const synth = () => refused('synth', 'pendulum', '--data', 'seen', '--model', 'own-model', '--out', 'never');
  const own = (change: Parameters<typeof writeDynamics>[1]) => {
    rmSync(at('own-model'), { recursive: true, force: true });
    mkdirSync(at('own-model'));
    writeDynamics(at('own-model'), change);
  };
  afterAll(() => expect(existsSync(at('never', 'data'))).toBe(false));

  it.each([
    ['above its folder', '../secret.bin', () => {}],
    ['by whole path', '/etc/passwd', () => {}],
    ['behind a hard link', 'weights.bin', () => linkSync(at('secret.bin'), at('own-model', 'weights.bin'))],
    ['behind a symbolic link', 'weights.bin', () => symlinkSync(at('secret.bin'), at('own-model', 'weights.bin'))],
    ['in a file beside it', 'weights.bin', () => writeFileSync(at('own-model', 'weights.bin'), 'four')],
  ])('keep weights %s', async (_, location, link) => {
    writeFileSync(at('secret.bin'), 'secret');
    own({ externalData: location });
    link();
    const { code, message, hint } = await synth();
    expect(code).toBe('MODEL_EXTERNAL_DATA');
    expect(message).toContain(at('own-model', 'dynamics.onnx'));
    expect(hint).toContain('external_data=False');
  });

  it.each([
    ['has no such output', { outputs: { nextObs: 'next' } }, /no output "next"; its outputs are "delta", "reward"/],
    ['has no such input', { inputs: { obs: 'state' } }, /no input "state"/],
    ['declares neither nextObs nor delta', { outputs: { reward: 'reward' } }, /give one of nextObs and delta/],
    ['has a reward from nowhere', { outputs: { delta: 'delta' } }, /no reward output/],
    [
      'has the wrong width',
      { outputs: { delta: 'reward', reward: 'reward' } },
      /"reward" is .* where float32 \[batch, 3\]/,
    ],
    ['has an unknown key', { output: {} }, /output/],
    ['names a file elsewhere', { model: '../dynamics.onnx' }, /not a plain name/],
  ])('come with a manifest that %s', async (_, manifest, message) => {
    own({ manifest });
    expect(await synth()).toMatchObject({ code: 'MODEL_FOLDER_INVALID', message: expect.stringMatching(message) });
  });

  it('are for other spaces', async () => {
    own({ manifest: { observationSpace: { type: 'box', shape: [2], low: [null, null], high: [null, null] } } });
    expect(await synth()).toMatchObject({
      code: 'MODEL_FOLDER_INVALID',
      message: expect.stringMatching(/\[batch, 2\]/),
    });
  });

  it('are no ONNX', async () => {
    own({});
    writeFileSync(at('own-model', 'dynamics.onnx'), 'no model');
    expect(await synth()).toMatchObject({ code: 'MODEL_INVALID' });
  });
});

describe('wrong arguments', () => {
  it('name the nearest key there is', async () => {
    writeFileSync(at('typo.yaml'), 'name: typo\nenv: { id: pendulum }\ntrain: { realStep: 5 }\n');
    expect(await refused('train', 'typo.yaml')).toMatchObject({
      code: 'UNKNOWN_KEY',
      hint: expect.stringContaining('"train.realSteps"'),
    });
    expect(await refused('train', 'pendulum', '--set', 'rl.gama=0.9')).toMatchObject({
      code: 'UNKNOWN_KEY',
      hint: expect.stringContaining('"rl.gamma"'),
    });
  });

  it.each([
    ['rl.gamma=2', 'SCENARIO_INVALID'],
    ['rl.gamma=much', 'SCENARIO_INVALID'],
    ['rl.gamma', 'FLAG_INVALID'],
    ['=0.9', 'FLAG_INVALID'],
    ['rl.gamma=[', 'FLAG_INVALID'],
    ['__proto__.gamma=1', 'UNKNOWN_KEY'],
  ])('refuse --set %s', async (set, code) => {
    const refusal = await refused('train', 'pendulum', '--set', set, '--out', 'never-set');
    expect(refusal.code).toBe(code);
    expect(`${refusal.message}`).toContain(set.split('=')[0]);
    expect(existsSync(at('never-set'))).toBe(false);
  });

  it.each([
    [['train', 'pendulm'], 'SCENARIO_NOT_FOUND'],
    [['train', 'pendulum', '--profile', 'smok'], 'PROFILE_UNKNOWN'],
    [['fit', '--data', 'nowhere'], 'INPUT_NOT_FOUND'],
    [['fit', '--data', 'trained/checkpoint/learner'], 'INPUT_MISSING'],
    [['eval', '--checkpoint', 'trained/checkpoint/model'], 'INPUT_MISSING'],
    [['synth', '--model', 'trained/checkpoint/learner', '--data', 'seen'], 'INPUT_MISSING'],
    [['collect', 'pendulum', '--set', 'collect.policy=checkpoint'], 'INPUT_NEEDED'],
    [['eval', 'reacher', '--checkpoint', 'trained'], 'INPUT_UNFIT'],
    [['collect', 'reacher', '--checkpoint', 'trained'], 'INPUT_UNFIT'],
    [['fit', 'reacher', '--data', 'seen'], 'INPUT_UNFIT'],
    [['synth', 'reacher', '--data', 'seen', '--model', 'trained'], 'INPUT_UNFIT'],
    [['train', '--resume', 'seen'], 'RUN_NOT_RESUMABLE'],
    [['train', '--resume', 'nowhere'], 'RUN_NOT_RESUMABLE'],
  ])('refuse %s', async (args, code) => {
    const out = args.includes('--resume') ? [] : ['--out', `refused-${args[0]}`];
    expect(await refused(...args, ...out)).toMatchObject({ code });
  });

  it.each([
    [['train']],
    [['train', 'pendulum', '--seed', 'x']],
    [['train', 'pendulum', '--workers', '-1']],
    [['train', 'pendulum', '--frobnicate']],
    [['train', 'pendulum', '--resume', 'trained']],
    [['fit']],
    [['nonsense']],
  ])('are wrong usage: %s', async (args) => {
    const { code, stdout, stderr } = await reverie(args, folder);
    expect(code).toBe(2);
    expect(stdout).toBe('');
    expect(stderr).toMatch(/^error: .+\n$/);
  });
});

describe('a folder to write to', () => {
  it('that holds a run is not written over', async () => {
    const before = fileHashes(at('trained'));
    expect(await refused('train', ...SMOKE, '--out', 'trained')).toMatchObject({ code: 'RUN_EXISTS' });
    expect(fileHashes(at('trained'))).toEqual(before);
  });

  it('that holds something else is not written into', async () => {
    mkdirSync(at('papers', 'checkpoint'), { recursive: true });
    writeFileSync(at('papers', 'checkpoint', 'notes.txt'), 'mine');
    expect(await refused('train', ...SMOKE, '--out', 'papers')).toMatchObject({ code: 'OUT_NOT_EMPTY' });
    expect(Object.keys(fileHashes(at('papers')))).toEqual(['checkpoint/notes.txt']);
    expect(await refused('train', ...SMOKE, '--out', '')).toMatchObject({ code: 'FLAG_INVALID' });
  });

  it('that is a file, or below one', async () => {
    for (const out of ['secret.xml', 'secret.xml/run'])
      expect(await refused('train', ...SMOKE, '--out', out)).toMatchObject({ code: 'STORAGE_FAILED' });
  });

  it('that may not be written', async () => {
    mkdirSync(at('locked'), { mode: 0o555 });
    const refusedThere = await refusal(
      ['train', ...SMOKE, '--out', 'locked/run'],
      folder,
      isRoot ? { uid: NOBODY } : {},
    );
    expect(refusedThere).toMatchObject({
      code: 'STORAGE_FAILED',
      message: expect.stringMatching(/locked\/run".*EACCES/),
    });
    expect(readdirSync(at('locked'))).toEqual([]);
  });
});

describe('a full disk', () => {
  const DREAM_GROWS = [...SMOKE, '--set', 'rollout.startsPerRound=600'];
  let reference: Record<string, string>;
  /** KiB: room for every file of the first checkpoint, and not for the last one's dreams. */
  let fileLimit: number;

  beforeAll(async () => {
    const { code } = await reverie(['train', ...DREAM_GROWS, '--out', 'roomy', '--quiet'], folder);
    expect(code).toBe(0);
    reference = fileHashes(at('roomy', 'checkpoint'));
    const bytesOf = (...names: string[]) => statSync(at('roomy', 'checkpoint', ...names)).size;
    const [learner, dreams] = [bytesOf('learner', 'learner.safetensors'), bytesOf('synthetic', 'transitions.bin')];
    fileLimit = Math.floor((learner + dreams) / 2 / 1024);
    expect(learner).toBeLessThan(fileLimit * 1024);
    expect(dreams).toBeGreaterThan(fileLimit * 1024);
  });

  it('ends a training run with its last checkpoint whole, from which it goes on exactly', async () => {
    const { code, message } = await refusal(['train', ...DREAM_GROWS, '--out', 'cramped'], folder, { fileLimit });
    expect(code).toBe('STORAGE_FULL');
    expect(message).toContain(at('cramped', 'checkpoint'));
    expect(halfWritten(at('cramped'))).toEqual([]);
    const { counters } = JSON.parse(readFileSync(at('cramped', 'checkpoint', 'checkpoint.json'), 'utf8'));
    expect(counters.realSteps).toBe(400);
    const { code: resumed } = await reverie(['train', '--resume', 'cramped', '--quiet'], folder);
    expect(resumed).toBe(0);
    expect(fileHashes(at('cramped', 'checkpoint'))).toEqual(reference);
  });

  it.each([
    ['collect', ['collect', 'pendulum']],
    ['fit', ['fit', 'pendulum', '--data', 'seen', '--set', 'model.maxEpochs=1']],
    ['synth', ['synth', 'pendulum', '--model', 'trained', '--data', 'seen']],
  ])('ends %s with nothing half-written', async (name, args) => {
    const out = `full-${name}`;
    expect(await refusal([...args, '--out', out], folder, { fileLimit: 8 })).toMatchObject({ code: 'STORAGE_FULL' });
    expect(halfWritten(at(out))).toEqual([]);
    for (const kept of ['data', 'model']) {
      const there = existsSync(at(out, kept)) ? readdirSync(at(out, kept)) : [];
      expect(there).toEqual([]);
    }
  });

  it('is told where the whole disk is full, too', async ({ skip }) => {
    mkdirSync(at('disk'));
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${fileLimit * 2}k`, 'tmpfs', at('disk')], { stdio: 'pipe' });
    } catch (error) {
      return skip(`no small disk can be mounted here: ${(error as Error).message.split('\n').at(1)}`);
    }
    try {
      const { code } = await refused('train', ...DREAM_GROWS, '--out', 'disk/run');
      expect(code).toBe('STORAGE_FULL');
      expect(halfWritten(at('disk'))).toEqual([]);
    } finally {
      execFileSync('umount', [at('disk')]);
    }
  });
});

describe('kill -9', () => {
  it('twice on resume, and then to the end', async () => {
    const args = ['train', ...SMOKE, '--out', 'killed', '--quiet'];
    for (const attempt of [
      args,
      ['train', '--resume', 'killed', '--quiet'],
      ['train', '--resume', 'killed', '--quiet'],
    ]) {
      const { child, outcome } = startReverie(attempt, folder);
      const rounds = existsSync(at('killed', 'metrics.jsonl')) ? events('killed') : 0;
      const watch = setInterval(() => events('killed') > rounds && child.kill('SIGKILL'), 2);
      await outcome;
      clearInterval(watch);
    }
    const { code } = await reverie(['train', '--resume', 'killed', '--quiet'], folder);
    const last = code === 0 ? '' : (await refused('train', '--resume', 'killed')).message;
    expect(last).toMatch(/^$|finished/);
    expect(fileHashes(at('killed', 'checkpoint'))).toEqual(fileHashes(at('trained', 'checkpoint')));
  });

  function events(run: string): number {
    const file = at(run, 'metrics.jsonl');
    return existsSync(file) ? readFileSync(file, 'utf8').split('\n').length : 0;
  }
});
