// What synth.kills holds journals against: it must see rows that are lost or changed, and must not mend what it looks at.

import { appendFileSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { requireGrowth, rowsOnDisk } from '../../benchmarks/synth-kills-checks.js';
import { RowJournal } from '../../src/synth/episodes/produce-rows.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'reverie-kills-test-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function journalOf(...rows: readonly number[]): Promise<void> {
  const journal = await RowJournal.open<object>(folder, { format: 'a test', seed: 1 });
  for (const row of rows) await journal.put(row, { row, said: 'hello' });
  await journal.close();
}

it('reads rows of a journal whose last record is torn, and leaves it torn', async () => {
  expect((await rowsOnDisk(folder)).rows.size).toBe(0);
  await journalOf(0, 2);
  appendFileSync(join(folder, 'rollouts.journal'), 'RVJ1 torn');
  const size = statSync(join(folder, 'rollouts.journal')).size;
  const { rows, isTorn } = await rowsOnDisk(folder);
  expect([...rows.keys()]).toEqual([0, 2]);
  expect(isTorn).toBe(true);
  expect(statSync(join(folder, 'rollouts.journal')).size).toBe(size);
});

it('sees rows that are lost or changed', () => {
  const before = new Map([[1, 'a']]);
  expect(() => requireGrowth(before, new Map(before).set(2, 'b'), 'here')).not.toThrow();
  expect(() => requireGrowth(before, new Map([[2, 'b']]), 'here')).toThrow('row 1 is lost');
  expect(() => requireGrowth(before, new Map([[1, 'c']]), 'here')).toThrow('row 1 is not what it was');
});
