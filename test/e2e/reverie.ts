// Runs the command line as a user does, in a process of its own where that is what matters, and looks at the folders it leaves.

import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runCommandLine } from '../../src/cli/command-line.js';
import { recordingStream } from '../run/streams.js';

const CLI = fileURLToPath(new URL('../../dist/cli.js', import.meta.url));

export interface Outcome {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** `--set` before each. */
export function set(...overrides: string[]): string[] {
  return overrides.flatMap((one) => ['--set', one]);
}

export interface StartOptions {
  /** User to run as; only root may choose. */
  readonly uid?: number;
  /** The largest file it may write, KiB (`ulimit -f`). */
  readonly fileLimit?: number;
}

/** The built command in a process of its own: to be killed, limited or interrupted, or to be seen as a user sees it. */
export function startReverie(
  args: readonly string[],
  cwd: string,
  { uid, fileLimit }: StartOptions = {},
): { child: ChildProcess; outcome: Promise<Outcome> } {
  const command = [process.execPath, CLI, ...args];
  const limited = ['bash', '-c', `ulimit -f ${fileLimit}; exec "$@"`, 'bash', ...command];
  const [file, ...rest] = fileLimit === undefined ? command : limited;
  const child = spawn(file, rest, { cwd, uid, stdio: ['ignore', 'pipe', 'pipe'] });
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

let before: Promise<unknown> = Promise.resolve();

/** Runs a command to its end within this process, which is where processes' start-up would cost a second each. */
export function reverie(args: readonly string[], cwd: string): Promise<Outcome> {
  // One after another: the working folder is the process's.
  const outcome = before.then(() => outcomeHere(args, cwd));
  before = outcome.catch(() => undefined);
  return outcome;
}

async function outcomeHere(args: readonly string[], cwd: string): Promise<Outcome> {
  const home = process.cwd();
  process.chdir(cwd);
  return commandHere(args, process.env).finally(() => process.chdir(home));
}

/** Runs a command where this process stands, by default with nothing in its environment. */
export async function commandHere(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Outcome> {
  const [stdout, stderr] = [recordingStream(), recordingStream()];
  const code = await runCommandLine(args, { stdout, stderr, env });
  return { code, signal: null, stdout: stdout.text(), stderr: stderr.text() };
}

/** What a command answers as JSON. @throws where it fails */
export async function answerHere(...args: string[]) {
  const { code, stdout, stderr } = await commandHere([...args, '--json']);
  if (code !== 0) throw new Error(stderr);
  return JSON.parse(stdout);
}

/** Runs a command that has to fail as every failure does: one line with the code, one with the way out, exit code 1. */
export async function refusal(args: readonly string[], cwd: string, options?: StartOptions): Promise<Refusal> {
  const quietly = [...args, '--quiet'];
  const outcome = options === undefined ? reverie(quietly, cwd) : startReverie(quietly, cwd, options).outcome;
  return cleanFailure(args, await outcome);
}

/** @throws where it is not one line with the code, one with the way out, and exit code 1 */
function cleanFailure(
  args: readonly string[],
  { code, stdout, stderr }: Pick<Outcome, 'code' | 'stdout' | 'stderr'>,
): Refusal {
  const lines = stderr.trimEnd().split('\n');
  const [, errorCode, message] = /^error\[([A-Z_]+)\]: (.+)$/.exec(lines[0]) ?? [];
  const hint = /^hint: (.+)$/.exec(lines[1] ?? '')?.[1];
  if (code !== 1 || stdout !== '' || lines.length !== 2 || errorCode === undefined || hint === undefined)
    throw new Error(`Not one clean failure: reverie ${args.join(' ')} ended with ${code}\n${stdout}\n${stderr}`);
  return { code: errorCode, message, hint };
}

export interface Refusal {
  readonly code: string;
  readonly message: string;
  readonly hint: string;
}

/** Files and folders below `folder` that a writer leaves only while it writes. */
export function halfWritten(folder: string): string[] {
  if (!existsSync(folder)) return [];
  const entries = readdirSync(folder, { recursive: true }).map(String);
  return entries.filter((entry) => /\.(tmp|new|old)$/.test(entry));
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
