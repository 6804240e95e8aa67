// A phase of benchmarks/gpu/run.sh as a benchmark: its result file is the measurement. Kernels are checked first, so that no figure of
// wrong results is kept.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { reverieError } from '../src/core/errors.js';
import type { BenchmarkContext, BenchmarkModule, Measurement } from './benchmark.js';

/** What benchmarks/gpu/report.py writes. */
interface GpuResult extends Omit<Measurement, 'value' | 'versions'> {
  /** Null where the row that the id stands for could not be measured. */
  readonly value: number | null;
  readonly machine: unknown;
  readonly versions: Readonly<Record<string, string>>;
}

/** A phase as a benchmark. Throws ENV_UNUSABLE where there is no GPU, no compiler, or no peer to compare with. */
export function onGpu(phase: 'time' | 'peers', id: string): BenchmarkModule {
  return { run: (context) => measureOnGpu(phase, id, context) };
}

async function measureOnGpu(
  phase: 'time' | 'peers',
  id: string,
  { quick, root, log }: BenchmarkContext,
): Promise<Measurement> {
  const out = await mkdtemp(join(tmpdir(), 'reverie-gpu-'));
  try {
    const words = ['check', phase, '--out', out, ...(quick ? ['--quick'] : [])];
    const status = await runScript(join(root, 'benchmarks', 'gpu', 'run.sh'), words, log);
    const path = join(out, `${id}.json`);
    if (status !== 0 || !existsSync(path)) throw failed(`run.sh ended with ${status}`);
    const { value, low, high, n, raw, machine, versions } = JSON.parse(await readFile(path, 'utf8')) as GpuResult;
    if (value === null) throw failed(`the row of ${id} was left out`);
    return { value, low, high, n, versions, raw: { ...raw, machine } };
  } finally {
    await rm(out, { recursive: true, force: true });
  }
}

async function runScript(script: string, words: readonly string[], log: (line: string) => void): Promise<number> {
  const child = spawn('bash', [script, ...words], { stdio: ['ignore', 'pipe', 'pipe'] });
  for (const stream of [child.stdout, child.stderr]) createInterface(stream).on('line', log);
  try {
    const [code] = await once(child, 'close');
    return code ?? 1;
  } catch (error) {
    throw failed((error as Error).message);
  }
}

function failed(problem: string): Error {
  return reverieError('ENV_UNUSABLE', {
    problem: `The measurement on a GPU gave no figure: ${problem}.`,
    hint: 'It needs an NVIDIA GPU, nvcc 12.8 or newer, g++, make and python3, with PyTorch for comparisons: see benchmarks/gpu/README.md.',
  });
}
