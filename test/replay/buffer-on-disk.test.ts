// A buffer whose rows lie on disk answers what one in memory answers, and each can be loaded as the other.

import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Rng } from '../../src/core/rng.js';
import { ReplayBuffer } from '../../src/replay/buffer.js';
import { describeBuffer } from '../../src/replay/describe.js';
import { MixtureSampler } from '../../src/replay/mixture.js';
import { PrioritizedSelector } from '../../src/replay/prioritized.js';
import { UniformSelector } from '../../src/replay/uniform.js';
import { ACTION_DIM, fill, makeBuffer, makeProvenance, makeRows, OBS_DIM } from './rows.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'reverie-buffer-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const onDisk = (capacity: number, source: 'real' | 'synthetic' = 'real', name = `${source}-${capacity}`) =>
  new ReplayBuffer({ capacity, source, obsDim: OBS_DIM, actionDim: ACTION_DIM, folder: join(folder, name) });

function expectSame(a: ReplayBuffer, b: ReplayBuffer): void {
  expect(a.hash()).toBe(b.hash());
  expect(a.columns()).toEqual(b.columns());
  expect(a.originList()).toEqual(b.originList());
  for (let row = 0; row < a.size; row++) expect(a.provenanceAt(row)).toEqual(b.provenanceAt(row));
}

describe('a buffer on disk', () => {
  it.each([
    ['in part', 200, 90],
    ['several times around', 64, 230],
  ])('holds what one in memory holds: filled %s', (_, capacity, rows) => {
    const [memory, disk] = [makeBuffer(capacity, 'synthetic'), onDisk(capacity, 'synthetic')];
    for (let done = 0; done < rows; done += 23) {
      for (const buffer of [memory, disk]) fill(buffer, 23, 9, { policyVersion: `p${done}` });
      expect(disk.lived(3, 11)).toEqual(memory.lived(3, 11));
    }
    expectSame(disk, memory);
    expect(disk.isOnDisk && !memory.isOnDisk).toBe(true);
    disk.close();
  });

  it('gives a learner the same batches, with priorities, real and dreamt', () => {
    const batches = [false, true].map((isOnDisk) => {
      const make = (source: 'real' | 'synthetic') => (isOnDisk ? onDisk(64, source) : makeBuffer(64, source));
      const [real, synthetic] = [make('real'), make('synthetic')];
      const sampler = new MixtureSampler({
        real: { buffer: real, selector: new PrioritizedSelector(real) },
        synthetic: { buffer: synthetic, selector: new UniformSelector(synthetic) },
        realRatio: 0.25,
      });
      const rng = Rng.fromSeed(8);
      const drawn: unknown[] = [];
      for (let round = 0; round < 6; round++) {
        fill(real, 20);
        fill(synthetic, 30);
        drawn.push(structuredClone(sampler.sampleSteps(3, 16, rng)), [...sampler.lastDraw().weights]);
        sampler.updatePriorities(Float32Array.from({ length: 48 }, (_, i) => (i * round) % 7));
      }
      real.close();
      synthetic.close();
      return drawn;
    });
    expect(batches[1]).toEqual(batches[0]);
  });

  it.each([
    ['memory', 'memory', undefined],
    ['memory', 'disk', undefined],
    ['disk', 'memory', undefined],
    ['disk', 'disk', undefined],
    ['memory', 'disk', 300],
    ['disk', 'disk', 300],
    ['disk', 'disk', 20],
    ['disk', 'memory', 20],
  ] as const)('saved from %s, loaded to %s, in a ring of %s', async (from, to, capacity) => {
    const reference = makeBuffer(64);
    const buffer = from === 'disk' ? onDisk(64) : makeBuffer(64);
    for (const either of [reference, buffer]) fill(either, 150, 7);
    await buffer.save(join(folder, 'saved'));
    await reference.save(join(folder, 'reference'));
    const loaded = await ReplayBuffer.load(join(folder, 'saved'), {
      capacity,
      onDisk: to === 'disk' ? join(folder, 'loaded') : undefined,
    });
    const want = await ReplayBuffer.load(join(folder, 'reference'), { capacity });
    expect(loaded.isOnDisk).toBe(to === 'disk');
    expectSame(loaded, want);
    for (const either of [loaded, want])
      either.append(makeRows(150, 30), makeProvenance('real', 150, 30, { policyVersion: 'later' }));
    expectSame(loaded, want);
    for (const each of [buffer, loaded]) each.close();
  });

  it('is saved over an older one whole, shares its full chunks, and is described without being loaded', async () => {
    const buffer = onDisk(5000);
    fill(buffer, 3000, 100);
    await buffer.save(join(folder, 'saved'));
    const before = await ReplayBuffer.load(join(folder, 'saved'));
    fill(buffer, 10);
    await buffer.save(join(folder, 'saved'));
    const after = await ReplayBuffer.load(join(folder, 'saved'));
    expect([before.inserted, after.inserted]).toEqual([3000, 3010]);
    expect(readdirSync(join(folder, 'saved')).sort()).toEqual(['rows-00000000.bin', 'store.json']);
    const described = await describeBuffer(join(folder, 'saved'));
    const memory = makeBuffer(5000);
    fill(memory, 3000, 100);
    fill(memory, 10);
    await memory.save(join(folder, 'memory'));
    const { path: _, ...want } = await describeBuffer(join(folder, 'memory'));
    expect(described).toMatchObject(want);
    expect(existsSync(join(folder, 'saved.new'))).toBe(false);
    buffer.close();
  });

  it('lets go of older rows, and of their files', () => {
    const [memory, disk] = [makeBuffer(64), onDisk(64)];
    for (const buffer of [memory, disk]) fill(buffer, 100, 7);
    let [left, leftOnDisk] = [memory.newest(30), disk.newest(30)];
    expectSame(leftOnDisk, left);
    for (const buffer of [left, leftOnDisk]) buffer.append(makeRows(100, 50), makeProvenance('real', 100, 50));
    [left, leftOnDisk] = [left.newest(9), leftOnDisk.newest(9)];
    expectSame(leftOnDisk, left);
    expect(readdirSync(folder)).toEqual(['real-64']);
    leftOnDisk.close();
  });

  it('refuses a store of other rows', async () => {
    const { DiskRows } = await import('../../src/replay/disk-rows.js');
    const { scalar } = await import('../../src/replay/schema.js');
    DiskRows.create({ folder: join(folder, 'other'), schema: { a: scalar('bool') }, capacity: 4 }).close();
    await expect(ReplayBuffer.load(join(folder, 'other'))).rejects.toMatchObject({ code: 'CHECKPOINT_CORRUPT' });
    await expect(ReplayBuffer.load(join(folder, 'none'))).rejects.toMatchObject({ code: 'FILE_INVALID' });
  });
});
