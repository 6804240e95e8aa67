// Journalled jobs: resumed after kill -9, torn tails cut, nothing acknowledged lost, foreign and damaged journals refused.

import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { appendFileSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Rng } from '../../src/core/rng.js';
import { RolloutPool } from '../../src/synth/rollout/pool.js';
import { type SynthesisControls, type SynthesisRequest, synthesize } from '../../src/synth/synthesize.js';
import { temporaryFolder } from '../temporary-folder.js';
import { digest, frozenModel, frozenPolicy, MODEL_LOADER, OBS_DIM, requestOf } from './fixtures.js';

const CHILD = fileURLToPath(new URL('./doubles/synthesize-child.mjs', import.meta.url));

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

interface ChildEnd {
  found: number;
  acked: number;
  bytes?: string;
}

/** When to kill a child: some time after it reported so many chunks. */
interface Kill {
  acks: number;
  ms: number;
}

function runChild(journal: string, workers: number, kill?: Kill): Promise<ChildEnd> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [CHILD, journal, String(workers)], { stdio: ['ignore', 'pipe', 'inherit'] });
    let text = '';
    const all = (word: string) => [...text.matchAll(new RegExp(`^${word} (\\w+)$`, 'gm'))].map((match) => match[1]);
    child.stdout.setEncoding('utf8').on('data', (part: string) => {
      text += part;
      if (kill && all('ack').length >= kill.acks) setTimeout(() => child.kill('SIGKILL'), kill.ms);
    });
    child.on('error', reject);
    child.on('close', (code, signal) => {
      const begun = Number(all('found')[0] ?? -1);
      if (code === 0 || signal === 'SIGKILL') {
        resolve({ found: begun, acked: Number(all('ack').at(-1) ?? begun), bytes: all('bytes')[0] });
      } else reject(new Error(`child ended with ${code}: ${text}`));
    });
  });
}

describe('a killed job', () => {
  it('goes on after SIGKILL at random moments, loses no acknowledged chunk, and ends with the same bytes', async () => {
    const truth = await runChild(join(folder, 'undisturbed'), 1);
    const rng = Rng.fromSeed(5);
    const killed = join(folder, 'killed');
    let acked = 0;
    let last: ChildEnd = { found: 0, acked: 0 };
    for (let run = 0; run < 3; run++) {
      last = await runChild(killed, run % 2 ? 2 : 1, { acks: rng.int(12), ms: rng.int(20) });
      expect(last.found).toBeGreaterThanOrEqual(acked);
      acked = last.acked;
      if (last.bytes) break;
    }
    expect(acked).toBeGreaterThan(0);
    if (!last.bytes) last = await runChild(killed, 2);
    expect(last.bytes).toBe(truth.bytes);
    const hash = (name: string) =>
      createHash('sha256')
        .update(readFileSync(journalOf(name)))
        .digest('hex');
    expect(hash('killed')).toBe(hash('undisturbed'));
  });

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

describe.skipIf(process.platform === 'win32')('a full disk', () => {
  // Stands in for it: a limit on file size, which fails writes in the same places.
  it('ends the job with STORAGE_FULL, loses nothing, and the job goes on once there is room', async () => {
    const truth = await runChild(join(folder, 'roomy'), 0);
    const full = join(folder, 'full');
    const limited = spawnSync('bash', ['-c', 'ulimit -f 40; exec "$0" "$1" "$2" 0', process.execPath, CHILD, full]);
    expect(limited.stderr.toString()).toContain("code: 'STORAGE_FULL'");
    const acked = [...limited.stdout.toString().matchAll(/^ack (\d+)$/gm)].length;
    expect(acked).toBeGreaterThan(0);
    const resumed = await runChild(full, 0);
    expect(resumed.found).toBeGreaterThanOrEqual(acked);
    expect(resumed.bytes).toBe(truth.bytes);
    expect(readFileSync(journalOf('full')).equals(readFileSync(journalOf('roomy')))).toBe(true);
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
