import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { inspectFolder } from '../../src/run/inspect.js';
import { temporaryFolder } from '../temporary-folder.js';

// Its output for runs, records and models: test/e2e/jobs.test.ts.
it('inspecting refuses a folder with nothing of ours, and names a damaged file', async () => {
  const folder = temporaryFolder('inspect');
  await expect(inspectFolder(folder)).rejects.toMatchObject({ code: 'INPUT_NEEDED' });
  writeFileSync(join(folder, 'manifest.json'), '{"format": "reverie-');
  await expect(inspectFolder(folder)).rejects.toMatchObject({ code: 'CHECKPOINT_CORRUPT' });
});
