import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { Rng } from '../../src/core/rng.js';
import { ReplayBuffer } from '../../src/replay/buffer.js';
import { describeBuffer } from '../../src/replay/describe.js';
import { faultyFiles } from '../faulty-files.js';
import { temporaryFolder } from '../temporary-folder.js';
import { fill, makeBuffer, makeProvenance, makeRows } from './rows.js';

const FILE = 'transitions.bin';
let folder: string;
beforeEach(async () => {
  folder = temporaryFolder('replay');
});

describe('save and load', () => {
  it.each([
    ['partly filled', 30],
    ['wrapped', 150],
  ])('gives back an equal buffer that goes on alike: %s', async (_, rows) => {
    const buffer = makeBuffer(64, 'synthetic');
    fill(buffer, rows, 7);
    await buffer.save(folder);
    const loaded = await ReplayBuffer.load(folder);
    expect(loaded.hash()).toBe(buffer.hash());
    expect(loaded.columns()).toEqual(buffer.columns());
    for (const either of [buffer, loaded]) fill(either, 41, 3, { policyVersion: 'later' });
    expect(loaded.hash()).toBe(buffer.hash());
    expect(loaded.provenanceAt(5)).toEqual(buffer.provenanceAt(5));
  });

  it.each([
    ['empty', 0, 300],
    ['wrapped', 150, 300],
    ['wrapped, into a smaller ring', 150, 20],
  ])('can be loaded into another ring: %s', async (_, rows, capacity) => {
    const buffer = makeBuffer(64);
    for (let done = 0; done < rows; done += 10) fill(buffer, 10, 10, { policyVersion: `p${done}` });
    await buffer.save(folder);
    const loaded = await ReplayBuffer.load(folder, { capacity });
    const kept = Math.min(buffer.size, capacity);
    expect(loaded).toMatchObject({ capacity, size: kept, inserted: kept });
    for (let row = 0; row < kept; row++) {
      const id = rows - kept + row;
      const { rowId: _id, ...provenance } = buffer.provenanceAt(id % 64);
      expect(loaded.provenanceAt(row)).toEqual({ ...provenance, rowId: row });
      expect(loaded.gather(Uint32Array.of(row))).toEqual(makeRows(id, 1));
    }
    loaded.append(makeRows(rows, 30), makeProvenance('real', rows, 30));
    const all = Math.min(capacity, kept + 30);
    expect(loaded.size).toBe(all);
    expect([...loaded.columns().reward].sort((a, b) => a - b)).toEqual(
      Array.from({ length: all }, (_, row) => rows + 30 - all + row),
    );
  });

  it('saves the content at the time of the call though rows are appended meanwhile', async () => {
    const buffer = makeBuffer(20_000);
    fill(buffer, 20_000);
    const hash = buffer.hash();
    const saving = buffer.save(folder);
    fill(buffer, 1000);
    await saving;
    expect((await ReplayBuffer.load(folder)).hash()).toBe(hash);
    expect(buffer.hash()).not.toBe(hash);
  });

  it('changes its hash with any value, order or provenance', () => {
    const variants = [
      (buffer: ReplayBuffer) => fill(buffer, 10),
      (buffer: ReplayBuffer) => fill(buffer, 11),
      (buffer: ReplayBuffer) => fill(buffer, 10, 10, { policyVersion: 'other' }),
      (buffer: ReplayBuffer) => fill(buffer, 10, 10, { seed: 8 }),
      (buffer: ReplayBuffer) => fill(buffer, 10, 10, { confidence: new Float32Array(10).fill(0.5) }),
      (buffer: ReplayBuffer) => buffer.append(makeRows(1, 10), makeProvenance('real', 0, 10)),
    ];
    const hashes = variants.map((variant) => {
      const buffer = makeBuffer(64);
      variant(buffer);
      return buffer.hash();
    });
    expect(new Set(hashes).size).toBe(variants.length);
    const twice = makeBuffer(64);
    fill(twice, 10, 3);
    expect(twice.hash()).toBe(hashes[0]);
  });
});

describe('damaged files', () => {
  async function saved(): Promise<Buffer> {
    const buffer = makeBuffer(64);
    fill(buffer, 30, 7);
    await buffer.save(folder);
    return readFile(join(folder, FILE));
  }

  async function expectCorrupt(bytes: Uint8Array): Promise<void> {
    await writeFile(join(folder, FILE), bytes);
    await expect(ReplayBuffer.load(folder)).rejects.toMatchObject({
      code: 'CHECKPOINT_CORRUPT',
      message: expect.stringContaining(join(folder, FILE)),
    });
    expect(await readFile(join(folder, FILE))).toEqual(Buffer.from(bytes));
  }

  it('truncated anywhere', async () => {
    const whole = await saved();
    const lengths = [0, 1, 8, 11, 12, 40, 200, 1000, whole.length - 33, whole.length - 32, whole.length - 1];
    for (const length of lengths) await expectCorrupt(whole.subarray(0, length));
    await expectCorrupt(Buffer.concat([whole, Buffer.of(0)]));
  });

  it('with any bit flipped', async () => {
    const whole = await saved();
    const rng = Rng.fromSeed(4);
    const places = [...Array(30).keys(), ...Array.from({ length: 30 }, () => rng.int(whole.length))];
    for (const place of places) {
      const damaged = Buffer.from(whole);
      damaged[place] ^= 1 << rng.int(8);
      await expectCorrupt(damaged);
    }
  });

  it('random bytes, and headers that claim the impossible', async () => {
    const rng = Rng.fromSeed(5);
    for (let round = 0; round < 12; round++) {
      await expectCorrupt(Uint8Array.from({ length: rng.int(300) }, () => rng.int(256)));
    }
    const whole = await saved();
    const n = whole.readUInt32LE(8);
    const header = JSON.parse(whole.toString('utf8', 12, 12 + n));
    for (const change of [{ obsDim: 2 ** 50 }, { inserted: 2 ** 40 }, { capacity: 0 }, { extra: 1 }, { source: 'x' }]) {
      const json = Buffer.from(JSON.stringify({ ...header, ...change }));
      const prefix = Buffer.from(whole.subarray(0, 12));
      prefix.writeUInt32LE(json.length, 8);
      await expectCorrupt(Buffer.concat([prefix, json, whole.subarray(12 + n)]));
    }
  });
});

describe('failing storage', () => {
  it.each([
    ['error', 'ENOSPC', 'STORAGE_FULL'],
    ['crash', 'EIO', 'STORAGE_FAILED'],
  ] as const)('%s (%s) in any call leaves the old or the new snapshot', async (kind, code, expected) => {
    const buffer = makeBuffer(64);
    fill(buffer, 30);
    const seen = new Set<number>();
    for (let at = 1; ; at++) {
      const before = buffer.inserted;
      await buffer.save(folder);
      fill(buffer, 1);
      const { files, calls } = faultyFiles({ at, kind, code });
      const error = await buffer.save(folder, files).catch((reason) => reason);
      const { inserted } = await ReplayBuffer.load(folder);
      seen.add(inserted - before);
      expect([before, before + 1]).toContain(inserted);
      if (calls() < at) break;
      if (error !== undefined) expect(error.code).toBe(expected);
    }
    expect(seen).toEqual(new Set([0, 1]));
  });
});

it('describeBuffer says rows, rewards and episodes', async () => {
  const buffer = makeBuffer(100, 'synthetic');
  fill(buffer, 20, 20, { modelVersion: 'm1' });
  fill(buffer, 10, 10, { modelVersion: 'm2', policyVersion: 'p2' });
  await buffer.save(folder);
  const before = await stat(join(folder, FILE));
  expect(await describeBuffer(folder)).toEqual({
    source: 'synthetic',
    rows: 30,
    capacity: 100,
    inserted: 30,
    obsDim: 3,
    actionDim: 2,
    reward: 14.5,
    episodes: 3,
    terminated: 3,
    truncated: 3,
    hash: buffer.hash(),
  });
  expect((await stat(join(folder, FILE))).mtimeMs).toBe(before.mtimeMs);
});
