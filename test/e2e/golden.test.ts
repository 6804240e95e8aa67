// What structured worlds make is the same on every machine, and stays what it was: the snapshot has the hashes, and
// `npm test -- test/e2e/golden.test.ts -u` writes them anew where a change is meant.

import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { temporaryFolder } from '../temporary-folder.js';
import { HELD, Side } from './golden/side.mjs';

describe('what structured worlds make', () => {
  const folder = temporaryFolder('golden');
  let side: Side;

  beforeAll(() => {
    side = new Side({ checkout: fileURLToPath(new URL('../..', import.meta.url)), folder });
  });

  it.each(HELD)('stays what it was: %s', async (name) => {
    await expect(`${JSON.stringify(await side.hashes(name), null, 2)}\n`).toMatchFileSnapshot(`golden/${name}.json`);
  });
});
