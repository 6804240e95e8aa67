// How many modules of ours a command loads in the process that it starts.

import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';

/** The compiled modules (paths below `dist/`) that `reverie ARGS --out FOLDER` loads before it ends, each once. */
export async function loadedModules(root: string, args: readonly string[]): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'reverie-loaded-'));
  try {
    const file = join(folder, 'loaded.txt');
    const preload = pathToFileURL(join(root, 'test/architecture/loaded-modules.mjs')).href;
    await promisify(execFile)(
      process.execPath,
      ['--import', preload, join(root, 'dist/cli.js'), ...args, '--out', join(folder, 'run')],
      { env: { ...process.env, REVERIE_LOADED: file }, maxBuffer: 1 << 26 },
    );
    return [...new Set(readFileSync(file, 'utf8').trim().split('\n'))].sort();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
