// Runs the built command line as a user does, and looks at the folders it leaves.

import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const CLI = fileURLToPath(new URL('../../dist/cli.js', import.meta.url));

export interface Outcome {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export function startReverie(args: readonly string[], cwd: string): { child: ChildProcess; outcome: Promise<Outcome> } {
  const child = spawn(process.execPath, [CLI, ...args], { cwd, stdio: ['ignore', 'pipe', 'pipe'] });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (data) => (stdout += data));
  child.stderr.on('data', (data) => (stderr += data));
  const outcome = new Promise<Outcome>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => resolve({ code, signal, stdout, stderr }));
  });
  return { child, outcome };
}

export function reverie(args: readonly string[], cwd: string): Promise<Outcome> {
  return startReverie(args, cwd).outcome;
}

/** Relative path to SHA-256 of every file below `folder`. */
export function fileHashes(folder: string): Record<string, string> {
  const files = readdirSync(folder, { recursive: true }).map(String).sort();
  const whole = files.filter((file) => statSync(join(folder, file)).isFile());
  return Object.fromEntries(whole.map((file) => [file, hashOf(join(folder, file))]));
}

function hashOf(file: string): string {
  return createHash('sha256').update(readFileSync(file)).digest('hex');
}
