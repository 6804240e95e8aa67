// Nothing is lost: a damaged file is refused by name, and a full disk leaves the last checkpoint whole, from which a run goes on as if
// nothing had happened.

import { cpSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { loadLearner } from '../../src/rl/checkpoint.js';
import { readRunManifest } from '../../src/run/pipeline/checkpoint.js';
import { loadWorldModel } from '../../src/worldmodel/kinds.js';
import { temporaryFolder } from '../temporary-folder.js';
import { fileHashes, halfWritten, refusal, reverie } from './reverie.js';

const SMOKE = ['pendulum', '--profile', 'smoke', '--set', 'train.checkpointSeconds=0'];

const folder = temporaryFolder('nothing-lost');
const at = (...names: string[]) => join(folder, ...names);
const refused = (...args: string[]) => refusal(args, folder);

beforeAll(async () => {
  const trained = await reverie(['train', ...SMOKE, '--out', 'trained', '--quiet'], folder);
  expect(trained.stderr).toBe('');
  const seen = await reverie(['collect', 'pendulum', '--set', 'collect.steps=400', '--out', 'seen', '--quiet'], folder);
  expect(seen.code).toBe(0);
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
  const cases = FILES.map((file, i) => [file, Object.keys(DAMAGES)[i % 2]] as const);

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
    expect(code).toMatch(/^(CHECKPOINT_CORRUPT|MODEL_FILE_INVALID)$/);
    expect(message).toContain(at('resumed', 'checkpoint', file.split('/')[0]));
    expect(fileHashes(at('resumed', 'checkpoint'))).toEqual(before);
    expect(halfWritten(at('resumed'))).toEqual([]);
    writeFileSync(path, whole);
  });

  it.each([
    ['checkpoint.json', () => readRunManifest(at('resumed', 'checkpoint'))],
    ['learner/manifest.json', () => loadLearner(at('resumed', 'checkpoint', 'learner'))],
    ['model/manifest.json', () => loadWorldModel(at('resumed', 'checkpoint', 'model'))],
  ])('is refused wherever a byte is changed: %s', async (file, load) => {
    const path = at('resumed', 'checkpoint', file);
    const whole = readFileSync(path);
    for (let position = 0; position < whole.length; position += 53) {
      const bytes = Buffer.from(whole);
      bytes[position] ^= 1 << (position % 7);
      writeFileSync(path, bytes);
      const error = await load().catch((reason) => reason);
      expect(error.code, `byte ${position}`).toMatch(/^(CHECKPOINT_CORRUPT|MODEL_FILE_INVALID)$/);
      expect(error.message).not.toContain('\n');
    }
    writeFileSync(path, whole);
  });

  it.each(['model/member-0.onnx'])('is refused by name: %s is missing', async (file) => {
    const path = at('resumed', 'checkpoint', file);
    const whole = readFileSync(path);
    rmSync(path);
    const { code, message } = await refused('train', '--resume', 'resumed');
    expect(code).toMatch(/^(CHECKPOINT_CORRUPT|FILE_INVALID|MODEL_FILE_INVALID)$/);
    expect(message).toContain(at('resumed', 'checkpoint', file.split('/')[0]));
    writeFileSync(path, whole);
  });

  it('goes on once the files are restored', async () => {
    const { code, stderr } = await reverie(['train', '--resume', 'resumed', '--quiet'], folder);
    expect(`${code}${stderr}`).toBe('0');
    expect(fileHashes(at('resumed', 'checkpoint'))).toEqual(fileHashes(at('trained', 'checkpoint')));
    expect(await refused('train', '--resume', 'resumed')).toMatchObject({
      code: 'STATE_MISMATCH',
      message: expect.stringContaining('finished'),
    });
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
});
