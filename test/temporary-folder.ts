// Temporary folders of tests, removed after each file (environment-variables.ts).

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const made: string[] = [];

/** A new folder; `name` identifies its owner. */
export function temporaryFolder(name: string): string {
  made.push(mkdtempSync(join(tmpdir(), `reverie-${name}-`)));
  return made.at(-1)!;
}

export function removeTemporaryFolders(): void {
  for (const folder of made.splice(0)) rmSync(folder, { recursive: true, force: true });
}
