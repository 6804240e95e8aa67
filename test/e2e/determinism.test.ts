// One worker, four workers and a run that was killed again and again end with the same bytes.

import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Rng } from '../../src/core/rng.js';
import { lacksCompiler, make } from '../native/native-build.js';
import { fileHashes, reverie, startReverie } from './reverie.js';

const hasAddon = !lacksCompiler('determinism.test.ts');
if (hasAddon) make('addon');

const SMOKE = [
  'cartpole-swingup',
  '--profile',
  'smoke',
  '--set',
  'train.checkpointSeconds=0',
  '--seed',
  '3',
  '--quiet',
];

/** At most: each costs a start, and the run that is left alone after them takes whatever they left. */
const KILLS = 3;

describe('a training run', () => {
  let folder: string;
  let reference: Record<string, string>;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'reverie-determinism-'));
    const { code, stderr } = await reverie(['train', ...SMOKE, '--workers', '0', '--out', 'reference'], folder);
    expect(stderr).toBe('');
    expect(code).toBe(0);
    reference = fileHashes(join(folder, 'reference', 'checkpoint'));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  it('keeps synthetic and real transitions, the world model and the learner', () => {
    const files = Object.keys(reference);
    for (const part of ['real/', 'synthetic/', 'model/', 'learner/policy.onnx', 'checkpoint.json']) {
      expect(files.some((file) => file.startsWith(part))).toBe(true);
    }
  });

  it('gives the same bytes with four workers', async () => {
    const { code } = await reverie(['train', ...SMOKE, '--workers', '4', '--out', 'workers-4'], folder);
    expect(code).toBe(0);
    expect(fileHashes(join(folder, 'workers-4', 'checkpoint'))).toEqual(reference);
  });

  it('gives other bytes with another seed', async () => {
    const { code } = await reverie(['train', ...SMOKE, '--seed', '4', '--out', 'seed-4'], folder);
    expect(code).toBe(0);
    const other = fileHashes(join(folder, 'seed-4', 'checkpoint'));
    expect(other['learner/policy.onnx']).not.toBe(reference['learner/policy.onnx']);
  });

  it('gives the same bytes with one worker, killed and resumed, whenever that happens', async () => {
    const rng = Rng.fromSeed(11);
    const out = join(folder, 'killed');
    let kills = 0;
    let args = ['train', ...SMOKE, '--workers', '1', '--out', 'killed'];
    for (let attempt = 0; attempt <= KILLS + 1; attempt++) {
      const { child, outcome } = startReverie(args, folder);
      const timer = setTimeout(() => child.kill('SIGKILL'), attempt < KILLS ? 500 + rng.int(2500) : 120_000);
      const { code, signal, stderr } = await outcome;
      clearTimeout(timer);
      if (code === 0) break;
      expect(`${signal}${stderr}`).toBe('SIGKILL');
      kills++;
      if (existsSync(join(out, 'run.json'))) args = ['train', '--resume', 'killed', '--workers', '1', '--quiet'];
    }
    expect(kills).toBeGreaterThan(0);
    expect(fileHashes(join(out, 'checkpoint'))).toEqual(reference);
  }, 180_000);

  it.skipIf(!hasAddon)('by vector code: the same bytes with workers, and after being killed and resumed', async () => {
    const native = [...SMOKE, '--device', 'simd'];
    const hashes = (out: string) => fileHashes(join(folder, out, 'checkpoint'));
    expect((await reverie(['train', ...native, '--workers', '0', '--out', 'native'], folder)).code).toBe(0);
    const wanted = hashes('native');
    expect(wanted['learner/learner.safetensors']).not.toBe(reference['learner/learner.safetensors']);
    const { child, outcome } = startReverie(['train', ...native, '--workers', '2', '--out', 'native-killed'], folder);
    // A checkpoint is there to go on from.
    const begun = join(folder, 'native-killed', 'checkpoint', 'checkpoint.json');
    const watch = setInterval(() => {
      if (existsSync(begun)) child.kill('SIGKILL');
    }, 20);
    await outcome;
    clearInterval(watch);
    const resumed = await reverie(
      ['train', '--resume', 'native-killed', '--workers', '0', '--json', '--quiet'],
      folder,
    );
    expect([resumed.code, JSON.parse(resumed.stdout).device]).toEqual([0, 'native, fp32']);
    expect(hashes('native-killed')).toEqual(wanted);
  });

  it('stops at Ctrl-C, says how to go on, and goes on to the same bytes', async () => {
    const { child, outcome } = startReverie(['train', ...SMOKE, '--workers', '0', '--out', 'stopped'], folder);
    // Only a run that has begun can be asked to stop.
    const begun = join(folder, 'stopped', 'run.json');
    const watch = setInterval(() => {
      if (!existsSync(begun)) return;
      clearInterval(watch);
      setTimeout(() => child.kill('SIGINT'), 500);
    }, 20);
    const stopped = await outcome;
    clearInterval(watch);
    if (stopped.code !== 0) {
      expect(stopped.code).toBe(130);
      expect(stopped.stderr).toContain('--resume');
      const resumed = await reverie(['train', '--resume', 'stopped', '--workers', '0', '--quiet'], folder);
      expect(resumed.code).toBe(0);
    }
    expect(fileHashes(join(folder, 'stopped', 'checkpoint'))).toEqual(reference);
  });
});
