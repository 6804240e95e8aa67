// One worker, four workers and a run that was killed again and again end with the same bytes.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { Rng } from '../../src/core/rng.js';
import { readRunRecord } from '../../src/run/run-folder.js';
import { temporaryFolder } from '../temporary-folder.js';
import { fileHashes, reverie, set, startReverie } from './reverie.js';

const SMOKE = ['cartpole-swingup', '--profile', 'smoke', ...set('train.checkpointSeconds=0'), '--seed', '3', '--quiet'];

/** At most: each costs a start, and the run that is left alone after them takes whatever they left. */
const KILLS = 2;

describe('a training run', () => {
  const folder = temporaryFolder('determinism');
  let reference: Record<string, string>;

  beforeAll(async () => {
    const { code, stderr } = await reverie(['train', ...SMOKE, '--workers', '0', '--out', 'reference'], folder);
    expect(stderr).toBe('');
    expect(code).toBe(0);
    reference = fileHashes(join(folder, 'reference', 'checkpoint'));
  });

  it('keeps synthetic and real transitions, the world model and the learner', () => {
    const files = Object.keys(reference);
    for (const part of ['real/', 'synthetic/', 'model/', 'learner/policy.onnx', 'checkpoint.json']) {
      expect(files.some((file) => file.startsWith(part))).toBe(true);
    }
  });

  it('gives the same bytes with four workers, killed and resumed with one, whenever that happens', async () => {
    const rng = Rng.fromSeed(11);
    const out = join(folder, 'killed');
    let kills = 0;
    let args = ['train', ...SMOKE, '--workers', '4', '--out', 'killed'];
    for (let attempt = 0; attempt <= KILLS + 1; attempt++) {
      const { child, outcome } = startReverie(args, folder);
      const timer = setInterval(() => {
        if (attempt === KILLS || !existsSync(join(out, 'checkpoint', 'checkpoint.json'))) return;
        clearInterval(timer);
        setTimeout(() => child.kill('SIGKILL'), rng.int(600));
      }, 20);
      const { code, signal, stderr } = await outcome;
      clearInterval(timer);
      if (code === 0) break;
      expect(`${signal}${stderr}`).toBe('SIGKILL');
      kills++;
      const record = readRunRecord(out);
      // Killed after its last word.
      if (record?.status === 'finished') break;
      if (record) args = ['train', '--resume', 'killed', '--workers', '1', '--quiet'];
    }
    expect(kills).toBeGreaterThan(0);
    expect(fileHashes(join(out, 'checkpoint'))).toEqual(reference);
  }, 180_000);
});
