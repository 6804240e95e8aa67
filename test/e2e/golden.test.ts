// What structured worlds make is the same on every machine, and stays what it was: golden.json has the hashes, and
// `node scripts/compare-with.mjs --write-golden` writes them anew where a change is meant.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { GOLDEN_FILE, GOLDEN_JOBS, goldenParts } from '../../scripts/compare/golden.mjs';
import { Side } from '../../scripts/compare/side.mjs';

const golden: Record<string, Record<string, string>> = JSON.parse(readFileSync(GOLDEN_FILE, 'utf8'));

describe('what structured worlds make', () => {
  let folder: string;
  let side: Side;

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'reverie-golden-'));
    side = new Side({ checkout: fileURLToPath(new URL('../..', import.meta.url)), folder });
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it.each(GOLDEN_JOBS)('stays what it was: %s', async (name) => {
    expect(await goldenParts(side, name)).toEqual(golden[name]);
  });
});
