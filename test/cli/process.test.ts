// The command as a process: signals, pipes and exit codes. Runs the compiled program.

import { type SpawnOptions, spawn, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../temporary-folder.js';

const CLI = join(dirname(fileURLToPath(import.meta.url)), '..', '..', 'dist', 'cli.js');
const folder = temporaryFolder('process');

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the command; `interruptAt` is what stderr must hold for each SIGINT in turn to be sent. */
function reverie(
  args: readonly string[],
  interruptAt: readonly string[] = [],
  options: SpawnOptions = {},
): Promise<Ended> {
  const child = spawn(process.execPath, [CLI, ...args], { stdio: ['ignore', 'pipe', 'pipe'], ...options });
  const said = { stdout: '', stderr: '' };
  const awaited = [...interruptAt];
  child.stdout?.on('data', (chunk) => {
    said.stdout += chunk;
  });
  child.stderr?.on('data', (chunk) => {
    said.stderr += chunk;
    if (awaited.length > 0 && said.stderr.includes(awaited[0])) {
      awaited.shift();
      child.kill('SIGINT');
    }
  });
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, ...said })));
}

const TRAIN = ['train', 'pendulum', '--profile', 'smoke'];

it('stops on Ctrl-C, says how to go on, and goes on to the end', async () => {
  const out = join(folder, 'stopped');
  const stopped = await reverie([...TRAIN, '--out', out], ['fit model']);
  expect(stopped.stderr).toContain(`Go on with: reverie train --resume ${out}`);
  expect(stopped.code).toBe(130);
  const resumed = await reverie(['train', '--resume', out, '--json', '--quiet']);
  expect(resumed.code).toBe(0);
  expect(resumed.stderr).toBe('');
  expect(JSON.parse(resumed.stdout)).toMatchObject({ job: 'train', realSteps: 600 });
  expect(JSON.parse(readFileSync(join(out, 'run.json'), 'utf8')).status).toBe('finished');
}, 120_000);

it('ends at once on the second Ctrl-C', async () => {
  const long = [...TRAIN, '--set', 'train.updatesPerRound=1000000', '--out', join(folder, 'killed')];
  const killed = await reverie(long, ['fit model', 'Stopping at the next safe point']);
  expect(killed.code).toBe(130);
}, 120_000);

it('shows help without loading native code', () => {
  const told = 'process.on("exit", () => process._rawDebug(JSON.stringify(process.report.getReport().sharedObjects)))';
  const options = ['--import', `data:text/javascript,${encodeURIComponent(told)}`];
  const { stdout, stderr } = spawnSync(process.execPath, [...options, CLI, '--help'], { encoding: 'utf8' });
  expect(stdout).toContain('Usage: reverie');
  const loaded: string[] = JSON.parse(stderr);
  expect(loaded.length).toBeGreaterThan(0);
  expect(loaded.filter((file) => file.endsWith('.node') || file.includes('onnxruntime'))).toEqual([]);
});
