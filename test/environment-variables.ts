// Files of tests share a process: what one sets in the environment, or leaves in the folder of temporary files, the next one
// must not meet.

import { afterAll } from 'vitest';
import { removeTemporaryFolders } from './temporary-folder.js';

const before = { ...process.env };

afterAll(() => {
  for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name];
  Object.assign(process.env, before);
  removeTemporaryFolders();
});
