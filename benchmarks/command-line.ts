// The built command line as a user runs it.

import { spawn } from 'node:child_process';
import { join } from 'node:path';

/**
 * Runs `reverie` with these arguments in `folder`.
 * @param root of the repository
 */
export function runCommand(
  root: string,
  args: readonly string[],
  folder: string,
): Promise<{ readonly code: number | null; readonly stderr: string }> {
  const child = spawn(process.execPath, [join(root, 'dist', 'cli.js'), ...args], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let stderr = '';
  child.stderr.on('data', (data) => (stderr += data));
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, stderr }));
  });
}
