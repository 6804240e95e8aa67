// Windows over stored rows: within episodes, in order, nothing twice without need.

import { describe, expect, it } from 'vitest';
import { Rng } from '../../src/core/rng.js';
import { MemoryRows } from '../../src/replay/memory-rows.js';
import { allocate, scalar, tensor } from '../../src/replay/schema.js';
import { gatherWindows, WindowSampler, windowsOf } from '../../src/replay/windows.js';

/** Episodes of these lengths, one after the other. */
function columnsOf(...lengths: number[]) {
  return {
    episode: lengths.flatMap((length, episode) => new Array<number>(length).fill(episode)),
    step: lengths.flatMap((length) => Array.from({ length }, (_, step) => step)),
  };
}

function pairs({ start, length }: ReturnType<typeof windowsOf>): number[][] {
  return Array.from(start, (at, w) => [at, length[w]]);
}

describe('windows', () => {
  it('stay within an episode, the last of each as long as what is left', () => {
    expect(pairs(windowsOf(columnsOf(5, 2), 7, 3))).toEqual([
      [0, 3],
      [3, 2],
      [5, 2],
    ]);
  });

  it('overlap by the stride, and none shows only what the one before it has shown', () => {
    expect(pairs(windowsOf(columnsOf(6), 6, 4, { stride: 2 }))).toEqual([
      [0, 4],
      [2, 4],
    ]);
    expect(pairs(windowsOf(columnsOf(7), 7, 4, { stride: 2 }))).toEqual([
      [0, 4],
      [2, 4],
      [4, 3],
    ]);
  });

  it('leave out what is too short', () => {
    expect(pairs(windowsOf(columnsOf(1, 4), 5, 4, { shortest: 2 }))).toEqual([[1, 4]]);
  });

  it('end where a row of the episode is missing', () => {
    const columns = { episode: [3, 3, 3, 3], step: [0, 1, 5, 6] };
    expect(pairs(windowsOf(columns, 4, 10))).toEqual([
      [0, 2],
      [2, 2],
    ]);
  });

  it('of no rows are none', () => {
    expect(pairs(windowsOf(columnsOf(), 0, 4))).toEqual([]);
  });
});

const SCHEMA = { episode: scalar('float64'), step: scalar('uint32'), obs: tensor('uint8', 2), hash: scalar('uint64') };

/** Episodes of these lengths; `obs` of row r is [r, r], its hash r + 1. */
function stored(capacity: number, ...lengths: number[]): MemoryRows {
  const storage = new MemoryRows(SCHEMA, capacity);
  const { episode, step } = columnsOf(...lengths);
  const rows = episode.length;
  storage.append(
    {
      episode: Float64Array.from(episode),
      step: Uint32Array.from(step),
      obs: Uint8Array.from({ length: rows * 2 }, (_, i) => Math.floor(i / 2)),
      hash: BigUint64Array.from({ length: rows }, (_, i) => BigInt(i + 1)),
    },
    rows,
  );
  return storage;
}

describe('windows of stored rows', () => {
  it('are gathered one after another or one time after another, zeros after their end', () => {
    const storage = stored(20, 5, 2);
    const windows = windowsOf(columnsOf(5, 2), 7, 3);
    const into = () => allocate({ obs: SCHEMA.obs, hash: SCHEMA.hash }, 6);
    const rows = into();
    gatherWindows(storage, windows, [2, 0], 3, rows);
    expect([...rows.obs]).toEqual([5, 5, 6, 6, 0, 0, 0, 0, 1, 1, 2, 2]);
    expect([...rows.hash]).toEqual([6n, 7n, 0n, 1n, 2n, 3n]);
    const times = into();
    gatherWindows(storage, windows, [2, 0], 3, times, { layout: 'time-major' });
    expect([...times.obs]).toEqual([5, 5, 0, 0, 6, 6, 1, 1, 0, 0, 2, 2]);
  });

  it('are drawn with masks, go on over the seam of a ring, and follow what is appended', () => {
    // Rows 3 .. 12 are held: the end of an episode of 6, then one of 7 whose rows 10, 11 and 12 lie at 0, 1 and 2.
    const storage = stored(10, 6, 7);
    const sampler = new WindowSampler(storage, { length: 4, stride: 2, burnIn: 2 });
    const { start, length } = sampler.windows();
    expect(Array.from(start, (at, w) => [at, length[w]])).toEqual([
      [3, 3],
      [6, 4],
      [8, 4],
      [0, 3],
    ]);
    const { columns, mask, learned, isFirst } = sampler.take([2, 1, 3], ['obs', 'step']);
    expect([...(columns.step as Uint32Array)]).toEqual([2, 3, 4, 5, 0, 1, 2, 3, 4, 5, 6, 0]);
    expect([...isFirst]).toEqual([0, 1, 0]);
    expect([...mask]).toEqual([1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0]);
    expect([...learned]).toEqual([0, 0, 1, 1, 1, 1, 1, 1, 0, 0, 1, 0]);
    const [first, again] = [1, 1].map((seed) => sampler.sample(50, Rng.fromSeed(seed)));
    expect(first).toEqual(again);
    storage.append(storage.slice(0, 3), 3);
    expect([...sampler.windows().start]).not.toEqual([3, 6, 8, 0]);
  });

  it('refuse options that make no windows, and rows without episodes', () => {
    const storage = stored(5, 2);
    expect(() => new WindowSampler(storage, { length: 0 })).toThrow(/length = 0/);
    expect(() => new WindowSampler(storage, { length: 4, burnIn: 4 })).toThrow(/burnIn = 4/);
    expect(() => new WindowSampler(new MemoryRows({ a: scalar('bool') }, 3), { length: 2 })).toThrow(/"episode"/);
    expect(() => new WindowSampler(storage, { length: 4, shortest: 3 }).sample(1, Rng.fromSeed(0))).toThrow(/empty/);
  });
});
