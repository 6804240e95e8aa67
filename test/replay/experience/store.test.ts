// The store keeps what it acknowledged, and keeps real and synthetic apart.

import { existsSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { ExperienceStep } from '../../../src/replay/experience/experience.js';
import { ExperienceStore } from '../../../src/replay/experience/store.js';
import { temporaryFolder } from '../../temporary-folder.js';
import { query, simulated, step } from './steps.js';

const folder = () => temporaryFolder('experience');

const seen = (store: ExperienceStore, changes = {}) =>
  store.retrieve(query(changes), 50).map(({ step: { source, row, observation } }) => `${source} ${row} ${observation}`);

describe('a store in a folder', () => {
  it('is the same after it was closed and opened again', async () => {
    const options = { folder: folder(), enrich: 'always' } as const;
    const store = await ExperienceStore.open(options);
    await store.add([step({ observation: 'a' }), step({ observation: 'b', stateHash: 'h1' })]);
    await store.add([simulated(3, { observation: 'c' }), simulated(1, { observation: 'd', modelVersion: 'model-b' })]);
    const before = [seen(store), store.size];
    await store.close();
    const again = await ExperienceStore.open(options);
    expect([seen(again), again.size]).toEqual(before);
    expect(seen(again)).toEqual(['real -1 a', 'real -1 b', 'synthetic 1 d', 'synthetic 3 c']);
    expect(again.exact(query({ stateHash: 'h1' }))).toEqual(step({ observation: 'b', stateHash: 'h1' }));
    expect(await again.add([step({ observation: 'a' })])).toBe(0);
    await again.close();
  });

  it('has every batch that was acknowledged before a cut, at whatever byte, and goes on', async () => {
    const path = folder();
    const file = join(path, 'real.steps');
    const store = await ExperienceStore.open({ folder: path });
    const ends: number[] = [];
    for (let n = 0; n < 4; n++) {
      await store.add([step({ observation: `${n}a` }), step({ observation: `${n}b` })]);
      ends.push(statSync(file).size);
    }
    await store.close();
    const whole = readFileSync(file);
    for (const at of [0, 1, 5, ends[0] - 1, ends[0], ends[1] + 3, ends[2] + 40, ends[3] - 1, ends[3]]) {
      writeFileSync(file, whole.subarray(0, at));
      const cut = await ExperienceStore.open({ folder: path });
      const kept = ends.filter((end) => end <= at).length;
      expect(cut.size).toBe(2 * kept);
      await cut.add([step({ observation: 'new' })]);
      await cut.close();
      const again = await ExperienceStore.open({ folder: path });
      expect(again.size).toBe(2 * kept + 1);
      await again.close();
    }
  });

  it.each([
    ['a byte flipped amid acknowledged records', 'real.steps', (bytes: Buffer) => bytes.writeUInt8(bytes[20] ^ 1, 20)],
    ['another file', 'real.steps', (bytes: Buffer) => bytes.write('PK')],
  ])('refuses %s, and leaves the file as it is', async (_, name, damage) => {
    const path = folder();
    const store = await ExperienceStore.open({ folder: path });
    for (let n = 0; n < 3; n++) await store.add([step({ observation: `${n}` })]);
    await store.close();
    const bytes = readFileSync(join(path, name));
    damage(bytes);
    writeFileSync(join(path, name), bytes);
    await expect(ExperienceStore.open({ folder: path })).rejects.toMatchObject({ code: 'FILE_INVALID' });
    expect(readFileSync(join(path, name))).toEqual(bytes);
  });
});

describe('enrichment', () => {
  const steps = [
    step(),
    simulated(0, { verified: true, observation: 'x' }),
    simulated(1, { verified: false, observation: 'y' }),
  ];
  it.each([
    ['never', ['real -1 ok']],
    ['verified', ['real -1 ok', 'synthetic 0 x']],
    ['always', ['real -1 ok', 'synthetic 0 x', 'synthetic 1 y']],
  ] as const)('%s', async (enrich, kept) => {
    const store = await ExperienceStore.open({ enrich });
    expect(await store.add(steps)).toBe(kept.length);
    expect(seen(store)).toEqual(kept);
    expect(seen(store, { sources: 'real' })).toEqual(['real -1 ok']);
  });
});

it('an exact match is a real step of the same call in the same state, of another task', async () => {
  const store = await ExperienceStore.open({ enrich: 'always' });
  const call = { name: 'get_ticket', arguments: { b: 1, a: { d: 2, c: 3 } } };
  const same = { name: 'get_ticket', arguments: { a: { c: 3, d: 2 }, b: 1 } };
  await store.add([
    simulated(0, { call, stateHash: 's', observation: 'simulated' }),
    step({ call, stateHash: 's', task: 'one', observation: 'first' }),
    step({ call, stateHash: 's', task: 'two', observation: 'second' }),
  ]);
  const find = (changes: object) => store.exact(query({ call: same, stateHash: 's', ...changes }))?.observation;
  expect(find({})).toBe('first');
  expect(find({ exceptTask: 'one' })).toBe('second');
  expect(find({ stateHash: 'other' })).toBeUndefined();
  expect(find({ stateHash: undefined })).toBeUndefined();
});

describe('what cannot be kept', () => {
  const bad: [string, Partial<ExperienceStep>, string][] = [
    ['a dream without a model', { source: 'synthetic', backend: 'llm', row: 1 }, 'DATA_MISMATCH'],
    ['a record with a row', { row: 4 }, 'DATA_MISMATCH'],
    ['arguments that are a list', { call: { name: 'a', arguments: [] as never } }, 'SETTING_INVALID'],
    ['too long a history', { history: Array(9).fill('a()') }, 'SETTING_INVALID'],
    ['a huge observation', { observation: 'x'.repeat(2_000_000) }, 'SETTING_INVALID'],
  ];
  it.each(bad)('%s is refused', async (_, changes, code) => {
    const store = await ExperienceStore.open();
    expect(() => store.add([step(), step(changes)])).toThrow(expect.objectContaining({ code }));
    expect(store.size).toBe(0);
  });

  it('arguments thousands of levels deep are refused, not crashed on', async () => {
    let deep: Record<string, unknown> = {};
    for (let i = 0; i < 20_000; i++) deep = { deep };
    const store = await ExperienceStore.open();
    expect(() => store.add([step({ call: { name: 'a', arguments: deep as never } })])).toThrow(
      'nested deeper than 100',
    );
  });

  it('steps beyond the limit in bytes are refused together, and nothing is lost', async () => {
    const store = await ExperienceStore.open({ enrich: 'always', maxBytes: 2000 });
    await store.add([step()]);
    const large = simulated(1, { observation: 'x'.repeat(3000) });
    await expect(store.add([step({ observation: 'new' }), large])).rejects.toMatchObject({ code: 'EXPERIENCE_FULL' });
    expect(seen(store)).toEqual(['real -1 ok']);
    expect(await store.add([step({ observation: 'new' })])).toBe(1);
  });
});

describe.skipIf(!existsSync('/dev/full'))('a full disk (skipped where there is no /dev/full)', () => {
  it('is an error, and nothing that was not written can be found', async () => {
    const path = folder();
    symlinkSync('/dev/full', join(path, 'synthetic.steps'));
    const store = await ExperienceStore.open({ folder: path, enrich: 'always' });
    await store.add([step()]);
    for (let n = 0; n < 2; n++) await expect(store.add([simulated(1)])).rejects.toMatchObject({ code: 'STORAGE_FULL' });
    expect(seen(store)).toEqual(['real -1 ok']);
    await store.close();
  });
});
