// A world of tools with a rule that never comes to an end, and one that counts.

import { cpSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Copies it to a folder of its own, which is a scenario. */
export function spinningWorld(): string {
  const folder = mkdtempSync(join(tmpdir(), 'reverie-spinning-'));
  cpSync(fileURLToPath(new URL('spinning', import.meta.url)), folder, { recursive: true });
  return folder;
}
