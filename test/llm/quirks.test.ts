// Each behaviour of a real server that is listed is met with the right answer, or with an error that names what is wrong.

import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { loadQuirks, tryQuirk } from '../llm-server/quirks.js';

const quirks = await loadQuirks(fileURLToPath(new URL('../../benchmarks/trust/quirks.yaml', import.meta.url)));

describe('a server', () => {
  it.each(quirks.map((quirk) => [quirk.does, quirk] as const))('%s', async (_, quirk) => {
    expect(await tryQuirk(quirk)).toBeUndefined();
  });
});
