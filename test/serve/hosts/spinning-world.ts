// A world of tools with a rule that never comes to an end, and one that counts.

import { cpSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { temporaryFolder } from '../../temporary-folder.js';

/** Copies it to a folder of its own, which is a scenario. */
export function spinningWorld(): string {
  const folder = temporaryFolder('spinning');
  cpSync(fileURLToPath(new URL('spinning', import.meta.url)), folder, { recursive: true });
  return folder;
}
