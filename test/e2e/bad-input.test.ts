import {
  chmodSync,
  cpSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { testData } from '../data.js';
import { temporaryFolder } from '../temporary-folder.js';
import { writeDynamics } from './own-dynamics.js';
import { fileHashes, refusal, reverie } from './reverie.js';

const SMOKE = ['pendulum', '--profile', 'smoke', '--set', 'train.checkpointSeconds=0'];
const isRoot = process.getuid?.() === 0;
const NOBODY = 65_534;

const folder = temporaryFolder('bad-input');
const at = (...names: string[]) => join(folder, ...names);
const refused = (...args: string[]) => refusal(args, folder);

beforeAll(async () => {
  chmodSync(folder, 0o755);
  const trained = await reverie(['train', ...SMOKE, '--out', 'trained', '--quiet'], folder);
  expect(trained.stderr).toBe('');
  const seen = await reverie(['collect', 'pendulum', '--set', 'collect.steps=400', '--out', 'seen', '--quiet'], folder);
  expect(seen.code).toBe(0);
});

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
    ['is not there', undefined, /no file "body.xml"/],
    ['includes what lies outside', '<mujoco><include file="../secret.xml"/></mujoco>', /"..\/secret.xml".*outside/],
  ])('%s', async (_, xml, message) => {
    own(xml);
    writeFileSync(at('secret.xml'), GOOD);
    const { code, message: said } = await collect();
    expect(code).toBe('ENV_UNUSABLE');
    expect(said).toContain(at('own', 'body.xml'));
    expect(said).toMatch(message);
  });

  it('includes what lies outside, through a link', async () => {
    own('<mujoco><include file="part.xml"/></mujoco>');
    symlinkSync(at('secret.xml'), at('own', 'part.xml'));
    expect(await collect()).toMatchObject({
      code: 'ENV_UNUSABLE',
      message: expect.stringMatching(/"part.xml".*outside/),
    });
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

  it('keeps nothing, so that the same --out can be used once it is right', async () => {
    own(GOOD);
    expect(readdirSync(at('body')).sort()).toEqual(['metrics.jsonl', 'run.json', 'scenario.json']);
    const { code, stderr } = await reverie(
      ['collect', 'own', '--set', 'collect.steps=20', '--out', 'body', '--quiet'],
      folder,
    );
    expect(`${code}${stderr}`).toBe('0');
    expect(await collect()).toMatchObject({ code: 'OUTPUT_EXISTS' });
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
    ['behind a hard link', 'weights.bin', () => linkSync(at('secret.bin'), at('own-model', 'weights.bin'))],
  ])('keep weights %s', async (_, location, link) => {
    writeFileSync(at('secret.bin'), 'secret');
    own({ externalData: location });
    link();
    const { code, message, hint } = await synth();
    expect(code).toBe('MODEL_FILE_INVALID');
    expect(message).toContain(at('own-model', 'dynamics.onnx'));
    expect(hint).toContain('external_data=False');
  });

  it('are for other spaces', async () => {
    own({ manifest: { observationSpace: { type: 'box', shape: [2], low: [null, null], high: [null, null] } } });
    expect(await synth()).toMatchObject({
      code: 'MODEL_FILE_INVALID',
      message: expect.stringMatching(/\[batch, 2\]/),
    });
  });
});

describe('wrong arguments', () => {
  it.each(testData<[string[], string][]>('e2e/wrong-arguments.yaml'))('refuse %s', async (args, code) => {
    const out = args.includes('--resume') ? [] : ['--out', `refused-${args[0]}`];
    expect(await refused(...args, ...out)).toMatchObject({ code });
  });
});

describe('a folder to write to', () => {
  const other = isRoot ? NOBODY : undefined;

  it('that holds the run of another user is not gone on with', async () => {
    cpSync(at('seen'), at('theirs'), { recursive: true });
    const record = JSON.parse(readFileSync(at('theirs', 'run.json'), 'utf8'));
    writeFileSync(at('theirs', 'run.json'), JSON.stringify({ ...record, status: 'interrupted' }));
    const resumed = () => refusal(['collect', '--resume', 'theirs'], folder, { uid: other });
    for (const [file, mode] of [
      ['metrics.jsonl', 0o444],
      ['run.json', 0o200],
      ['', 0o555],
    ] as const) {
      chmodSync(at('theirs'), 0o777);
      chmodSync(at('theirs', file), mode);
      expect(await resumed()).toMatchObject({ code: 'STORAGE_DENIED', hint: expect.stringContaining('--out') });
      chmodSync(at('theirs', file), 0o777);
    }
  });

  it('that holds a run is not written over', async () => {
    const before = fileHashes(at('trained'));
    expect(await refused('train', ...SMOKE, '--out', 'trained')).toMatchObject({ code: 'OUTPUT_EXISTS' });
    expect(fileHashes(at('trained'))).toEqual(before);
  });

  it('that holds something else is not written into', async () => {
    mkdirSync(at('papers', 'checkpoint'), { recursive: true });
    writeFileSync(at('papers', 'checkpoint', 'notes.txt'), 'mine');
    expect(await refused('train', ...SMOKE, '--out', 'papers')).toMatchObject({ code: 'OUTPUT_EXISTS' });
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
      code: 'STORAGE_DENIED',
      message: expect.stringMatching(/locked\/run".*permissions/),
    });
    expect(readdirSync(at('locked'))).toEqual([]);
  });
});
