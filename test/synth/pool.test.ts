// The pool: the same bytes for any number of workers, through deaths, and errors, limits and ends that leave nothing behind.
// Runs the compiled workers.

import { afterEach, describe, expect, it } from 'vitest';
import { RolloutPool, type RolloutPoolOptions } from '../../src/synth/rollout/pool.js';
import {
  branchedRollouts,
  digest,
  faultyPolicy,
  frozenModel,
  frozenPolicy,
  MODEL_LOADER,
  requestOf,
  revive,
} from './fixtures.js';

const open: RolloutPool[] = [];

function poolOf(workers: number, options: Partial<RolloutPoolOptions> = {}): RolloutPool {
  const pool = new RolloutPool({ workers, modelLoader: MODEL_LOADER, ...options });
  open.push(pool);
  return pool;
}

afterEach(async () => {
  await Promise.all(open.splice(0).map((pool) => pool.close()));
});

describe('determinism', () => {
  it('gives the same bytes with 0 and 3 workers as in one thread', async () => {
    const request = requestOf(300, { disagreementLimit: 0.8 });
    const truth = digest(await branchedRollouts(await revive(request)));
    for (const workers of [0, 3]) expect(digest(await poolOf(workers).branchedRollouts(request))).toBe(truth);
  });

  it('lets jobs with different policies share the workers', async () => {
    const pool = poolOf(2);
    const requests = [0.1, 0.2, 0.3].map((gain) => requestOf(100, { policy: frozenPolicy({ gain }) }));
    const results = await Promise.all(requests.map((request) => pool.branchedRollouts(request)));
    for (const [i, request] of requests.entries()) {
      expect(digest(results[i])).toBe(digest(await branchedRollouts(await revive(request))));
    }
  });
});

describe('worker death', () => {
  it('is survived when threads are killed again and again, also while they start', async () => {
    const request = requestOf(400, { model: frozenModel({ busyMs: 1 }), chunkSize: 16 });
    const pool = poolOf(2, { attempts: 1000 });
    let kills = 0;
    const killer = setInterval(() => {
      const { threads } = pool['pool']['threads']!;
      for (const thread of threads.slice(0, 1 + (kills % 2))) void thread.terminate();
      if (++kills >= 12) clearInterval(killer);
    }, 15);
    const result = await pool.branchedRollouts(request);
    clearInterval(killer);
    expect(kills).toBeGreaterThan(3);
    expect(digest(result)).toBe(digest(await branchedRollouts(await revive(request))));
  });

  it('keeps a chunk that eats all memory from taking the process with it', async () => {
    const pool = poolOf(1, { attempts: 1, resourceLimits: { maxOldGenerationSizeMb: 32 } });
    const request = requestOf(8, { policy: faultyPolicy('memory', 1) });
    await expect(pool.branchedRollouts(request)).rejects.toMatchObject({
      code: 'WORKER_LOST',
      message: expect.stringContaining('memory'),
    });
  });
});

describe('errors', () => {
  it.each([0, 2])('brings a catalogue error across with its code (%i workers)', async (workers) => {
    const model = frozenModel({ nanAfter: 0.5, terminateAbove: 5 });
    await expect(poolOf(workers).branchedRollouts(requestOf(200, { model }))).rejects.toMatchObject({
      name: 'ReverieError',
      code: 'NON_FINITE_VALUE',
      status: 422,
      message: expect.stringMatching(/episode \d+, step \d+/),
      hint: expect.stringContaining('horizon'),
    });
  });

  it.each([0, 1])('tells what a loader said (%i workers), and tries it anew next time', async (workers) => {
    const pool = poolOf(workers);
    const request = requestOf(10, { policy: frozenPolicy({ fault: { kind: 'load' } }) });
    for (let time = 0; time < 2; time++) {
      await expect(pool.branchedRollouts(request)).rejects.toThrow('this policy does not load');
    }
  });

  it('refuses a snapshot that cannot be sent, at once', async () => {
    const policy = frozenPolicy({ callback: () => 1 });
    await expect(poolOf(1).branchedRollouts(requestOf(10, { policy }))).rejects.toMatchObject({
      code: 'NOT_PORTABLE',
      message: expect.stringContaining('could not be cloned'),
    });
  });
});

it('control lives only a few chunks ahead of a slow reader', async () => {
  const pool = poolOf(1);
  const counter = new Int32Array(new SharedArrayBuffer(4)).fill(1_000_000);
  const policy = frozenPolicy({ fault: { kind: 'none', counter } });
  const request = requestOf(64, { policy, chunkSize: 1, horizon: 1 });
  const seen: number[] = [];
  for await (const chunk of pool.chunks(request)) {
    seen.push(chunk.index);
    await new Promise((resolve) => setTimeout(resolve, 5));
    const lived = 1_000_000 - counter[0];
    expect(lived).toBeLessThanOrEqual(chunk.index + 1 + 2);
    if (chunk.index === 20) break;
  }
  expect(seen).toEqual(Array.from({ length: 21 }, (_, index) => index));
  expect((await pool.branchedRollouts(requestOf(10))).counts.episodes).toBe(10);
});
