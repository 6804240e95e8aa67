import { chmodSync, cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { testData } from '../data.js';
import { temporaryFolder } from '../temporary-folder.js';
import { fileHashes, refusal, reverie, set } from './reverie.js';

const SMOKE = ['pendulum', '--profile', 'smoke', ...set('train.checkpointSeconds=0')];
const isRoot = process.getuid?.() === 0;
const NOBODY = 65_534;

const folder = temporaryFolder('bad-input');
const at = (...names: string[]) => join(folder, ...names);
const refused = (...args: string[]) => refusal(args, folder);

beforeAll(async () => {
  chmodSync(folder, 0o755);
  cpSync('scenarios/bring-your-own-onnx/dynamics', at('onnx'), { recursive: true });
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
  const own = (xml: string) => {
    mkdirSync(at('own'), { recursive: true });
    writeFileSync(at('own', 'scenario.yaml'), SCENARIO);
    writeFileSync(at('own', 'body.xml'), xml);
  };
  const COLLECT = ['collect', 'own', ...set('collect.steps=20'), '--out', 'body'];
  const collect = () => refused(...COLLECT);

  it('is told by the name of its file', async () => {
    own('hello');
    const { code, message } = await collect();
    expect(code).toBe('ENV_UNUSABLE');
    expect(message).toContain(at('own', 'body.xml'));
  });

  it('keeps nothing, so that the same --out can be used once it is right', async () => {
    own(GOOD);
    expect(readdirSync(at('body')).sort()).toEqual(['metrics.jsonl', 'run.json', 'scenario.json']);
    const { code, stderr } = await reverie([...COLLECT, '--quiet'], folder);
    expect(`${code}${stderr}`).toBe('0');
    expect(await collect()).toMatchObject({ code: 'OUTPUT_EXISTS' });
  });
});

it.each(testData<[string[], string][]>('e2e/wrong-arguments.yaml'))('wrong arguments refuse %s', async (args, code) => {
  const out = args.includes('--resume') ? [] : ['--out', `refused-${args[0]}`];
  expect(await refused(...args, ...out)).toMatchObject({ code });
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
    writeFileSync(at('file'), '');
    for (const out of ['file', 'file/run'])
      expect(await refused('train', ...SMOKE, '--out', out)).toMatchObject({ code: 'STORAGE_FAILED' });
  });

  it('that may not be written', async () => {
    mkdirSync(at('locked'), { mode: 0o555 });
    const who = isRoot ? { uid: NOBODY } : {};
    expect(await refusal(['train', ...SMOKE, '--out', 'locked/run'], folder, who)).toMatchObject({
      code: 'STORAGE_DENIED',
      message: expect.stringMatching(/locked\/run".*permissions/),
    });
    expect(readdirSync(at('locked'))).toEqual([]);
  });
});
