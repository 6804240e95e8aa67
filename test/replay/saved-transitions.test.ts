// Buffers on disk: read by ranges, oldest first, and written by ranges to the very file that a buffer in memory saves.

import { readFileSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { ReplayBuffer } from '../../src/replay/buffer.js';
import {
  beginSnapshot,
  SavedTransitions,
  SNAPSHOT_FILE,
  sealSnapshot,
  writeSnapshotRows,
} from '../../src/replay/snapshot.js';
import { temporaryFolder } from '../temporary-folder.js';
import { fill, makeBuffer } from './rows.js';

let folder: string;

beforeEach(() => {
  folder = temporaryFolder('saved');
});

describe('saved transitions', () => {
  it.each([
    ['a buffer that has room', 100, 60],
    ['a ring that went round', 40, 90],
  ])('are read by ranges, oldest first: %s', async (_, capacity, rows) => {
    const buffer = makeBuffer(capacity);
    fill(buffer, rows, 7, { stateHash: undefined });
    await buffer.save(folder);
    const saved = await SavedTransitions.open(folder);
    expect([saved.rows, saved.firstRowId, saved.source]).toEqual([buffer.size, rows - buffer.size, 'real']);
    for (const [from, count] of [
      [0, saved.rows],
      [3, 11],
      [saved.rows - 5, 5],
      [8, 0],
    ]) {
      expect(await saved.read(from, count)).toEqual(buffer.slice(from, count));
    }
    const { reward, ...rest } = await saved.read(2, 3, ['reward']);
    expect(rest).toEqual({});
    expect([...reward]).toEqual([0, 1, 2].map((i) => saved.firstRowId + 2 + i));
    await saved.close();
  });

  it('of a file that is short are refused', async () => {
    const buffer = makeBuffer(10);
    fill(buffer, 5);
    await buffer.save(folder);
    truncateSync(join(folder, SNAPSHOT_FILE), 300);
    await expect(SavedTransitions.open(folder)).rejects.toMatchObject({ code: 'CHECKPOINT_CORRUPT' });
    await expect(SavedTransitions.open(join(folder, 'nowhere'))).rejects.toMatchObject({
      code: 'FILE_INVALID',
    });
  });

  it('may be written by ranges in any order: the same file', async () => {
    const buffer = makeBuffer(50, 'synthetic');
    fill(buffer, 50, 13);
    await buffer.save(join(folder, 'whole'));
    const { capacity, obsDim, actionDim, source, inserted } = buffer;
    const header = { source, capacity, obsDim, actionDim, inserted, origins: [...buffer.originList()] };
    const draft = { path: join(folder, 'parts', SNAPSHOT_FILE), header };
    await beginSnapshot(draft);
    for (const [first, rows] of [
      [30, 20],
      [0, 10],
      [10, 20],
    ]) {
      await writeSnapshotRows(draft, first, buffer.slice(first, rows));
    }
    await sealSnapshot(draft);
    const bytes = (name: string) => readFileSync(join(folder, name, SNAPSHOT_FILE));
    expect(bytes('parts').equals(bytes('whole'))).toBe(true);
    expect((await ReplayBuffer.load(join(folder, 'parts'))).hash()).toBe(buffer.hash());
  });
});
