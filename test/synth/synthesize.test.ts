// Journalled jobs: resumed wherever they stopped, torn tails cut, foreign and damaged journals refused. A job that is killed: test/e2e/jobs.test.ts.

import { appendFileSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Rng } from '../../src/core/rng.js';
import { RolloutPool } from '../../src/synth/rollout/pool.js';
import { type SynthesisControls, type SynthesisRequest, synthesize } from '../../src/synth/synthesize.js';
import { temporaryFolder } from '../temporary-folder.js';
import { digest, frozenModel, frozenPolicy, MODEL_LOADER, OBS_DIM, requestOf } from './fixtures.js';

let folder: string;
let pool: RolloutPool;

beforeEach(() => {
  folder = temporaryFolder('journal');
  pool = new RolloutPool({ workers: 0, modelLoader: MODEL_LOADER });
});

afterEach(() => pool.close());

const journalOf = (name: string) => join(folder, name, 'rollouts.journal');
const jobOf = (name: string, overrides: Partial<SynthesisRequest> = {}): SynthesisRequest => ({
  ...requestOf(640, { chunkSize: 16 }),
  pool,
  journal: join(folder, name),
  ...overrides,
});

async function found(job: SynthesisRequest, controls: SynthesisControls = {}) {
  let left: { chunks: number; cutBytes: number } | undefined;
  const result = await synthesize(job, { ...controls, onResume: (at) => (left = at) });
  return { ...left!, digest: digest(result) };
}

describe('a job that stopped', () => {
  it('gives what the pool gives without a journal, and the same again from a finished one', async () => {
    const job = jobOf('a', { disagreementLimit: 0.8 });
    const truth = digest(await pool.branchedRollouts(job));
    expect(await found(job)).toEqual({ chunks: 0, cutBytes: 0, digest: truth });
    const idle = new RolloutPool({ workers: 0, modelLoader: 'file:///nowhere.mjs' });
    expect(await found({ ...job, pool: idle })).toEqual({ chunks: 40, cutBytes: 0, digest: truth });
  });

  it('goes on after an abort', async () => {
    const truth = digest(await pool.branchedRollouts(jobOf('b')));
    const control = new AbortController();
    const onProgress = ({ chunksDone }: { chunksDone: number }) =>
      chunksDone === 5 && control.abort(new Error('later'));
    await expect(synthesize(jobOf('b'), { signal: control.signal, onProgress })).rejects.toThrow('later');
    const resumed = await found(jobOf('b'));
    expect(resumed.chunks).toBeGreaterThanOrEqual(5);
    expect(resumed.chunks).toBeLessThan(40);
    expect(resumed.digest).toBe(truth);
  });
});

describe('a torn tail', () => {
  it('is cut at whichever byte it ends, and lived again', async () => {
    const truth = await found(jobOf('t'));
    const whole = readFileSync(journalOf('t'));
    const lastRecord = whole.lastIndexOf('RVJ1');
    for (const size of [lastRecord + 1, lastRecord + 9, lastRecord + 16, lastRecord + 100, whole.length - 1]) {
      truncateSync(journalOf('t'), size);
      expect(await found(jobOf('t'))).toEqual({ chunks: 39, cutBytes: size - lastRecord, digest: truth.digest });
      expect(readFileSync(journalOf('t')).equals(whole)).toBe(true);
    }
  });

  it('is cut when its bytes are wrong, as a lost write leaves them', async () => {
    const truth = await found(jobOf('z'));
    const whole = readFileSync(journalOf('z'));
    const zeroed = Buffer.from(whole).fill(0, whole.length - 300);
    writeFileSync(journalOf('z'), zeroed);
    expect((await found(jobOf('z'))).chunks).toBe(39);
    appendFileSync(journalOf('z'), Buffer.alloc(5000));
    expect(await found(jobOf('z'))).toEqual({ chunks: 40, cutBytes: 5000, digest: truth.digest });
  });
});

describe('refusals', () => {
  it('refuses the journal of another job, says what differs, and leaves it', async () => {
    await synthesize(jobOf('j'));
    const size = statSync(journalOf('j')).size;
    const others: [Partial<SynthesisRequest>, string][] = [
      [{ horizon: 7 }, 'horizon'],
      [{ rng: Rng.fromSeed(99) }, 'rng, seed'],
      [{ policy: frozenPolicy({ gain: 0.1 }), model: frozenModel({ noise: 0 }) }, 'modelVersion, policyVersion'],
      [{ starts: requestOf(640).starts.map((value) => value + 1) }, 'starts'],
    ];
    for (const [overrides, differences] of others) {
      await expect(synthesize(jobOf('j', overrides))).rejects.toMatchObject({
        code: 'STATE_MISMATCH',
        message: expect.stringContaining(`another job: ${differences} differ`),
      });
    }
    expect(statSync(journalOf('j')).size).toBe(size);
  });

  it('refuses damage among acknowledged records rather than cutting them off', async () => {
    await synthesize(jobOf('d'));
    const whole = readFileSync(journalOf('d'));
    const tenth = nthRecord(whole, 10);
    for (const at of [tenth + 2, tenth + 5, tenth + 9, tenth + 500]) {
      const damaged = Buffer.from(whole);
      damaged[at] ^= 0x40;
      writeFileSync(journalOf('d'), damaged);
      await expect(synthesize(jobOf('d'))).rejects.toMatchObject({
        code: 'FILE_INVALID',
        message: expect.stringContaining(`byte ${tenth}: record 10`),
      });
      expect(readFileSync(journalOf('d')).equals(damaged)).toBe(true);
    }
  });

  it('keeps what was acknowledged when the model fails later', async () => {
    const sound = { ...frozenModel({ terminateAbove: 50 }), modelVersion: 'v' };
    const { batch, provenance } = await pool.branchedRollouts(jobOf('f', { model: sound }));
    let nanAfter = 0;
    for (let row = 0; provenance.episode[row] < 100; row++) nanAfter = Math.max(nanAfter, batch.nextObs[row * OBS_DIM]);
    const model = { ...frozenModel({ nanAfter, terminateAbove: 50 }), modelVersion: 'v' };
    // Another pool: this one has the sound model of that version.
    const failing = new RolloutPool({ workers: 0, modelLoader: MODEL_LOADER });
    await expect(synthesize(jobOf('f', { model, pool: failing }))).rejects.toMatchObject({ code: 'NON_FINITE_VALUE' });
    const mended = await found(jobOf('f', { model: sound }));
    expect(mended.chunks).toBeGreaterThanOrEqual(6);
  });
});

function nthRecord(bytes: Buffer, n: number): number {
  let at = 0;
  for (let number = 0; number < n; number++) at += 16 + bytes.readUInt32LE(at + 8);
  return at;
}
