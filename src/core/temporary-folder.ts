// Folders that are wanted for as long as a process lives. One that is killed cannot take its own away: the next that wants one does.

import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isLiving, processNameSchema, thisProcess } from './living-process.js';

const PREFIX = 'reverie-';
/** Says whose a folder is. */
const OWNER_FILE = '.owner.json';

export interface TemporaryFolder {
  readonly path: string;
  remove(): void;
}

/** A new folder below the system's temporary one, after those of processes that are gone were taken away. */
export function temporaryFolder(what: string): TemporaryFolder {
  for (const name of readdirSync(tmpdir())) {
    const path = join(tmpdir(), name);
    if (name.startsWith(PREFIX) && isOrphaned(path)) removeFolder(path);
  }
  const path = mkdtempSync(join(tmpdir(), `${PREFIX}${what}-`));
  writeFileSync(join(path, OWNER_FILE), JSON.stringify(thisProcess()));
  return { path, remove: () => removeFolder(path) };
}

/** Whether it was made here, by a process of this machine that is gone. */
function isOrphaned(path: string): boolean {
  try {
    const owner = processNameSchema.safeParse(JSON.parse(readFileSync(join(path, OWNER_FILE), 'utf8'))).data;
    return owner !== undefined && !isLiving(owner);
  } catch {
    return false;
  }
}

/** Another process may be at it, too, or it may be another user's. */
function removeFolder(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true });
  } catch {
    // It stays for the next who looks.
  }
}
