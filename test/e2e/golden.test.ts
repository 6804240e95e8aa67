// What structured worlds make is the same on every machine, and stays what it was: the snapshot has the hashes, and
// `npm test -- test/e2e/golden.test.ts -u` writes them anew where a change is meant.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { HELD, Side } from './golden/side.mjs';

describe('what structured worlds make', () => {
  let folder: string;
  let side: Side;

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'reverie-golden-'));
    side = new Side({ checkout: fileURLToPath(new URL('../..', import.meta.url)), folder });
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it.each(HELD)('stays what it was: %s', async (name) => {
    await expect(`${JSON.stringify(await side.hashes(name), null, 2)}\n`).toMatchFileSnapshot(`golden/${name}.json`);
  });
});
