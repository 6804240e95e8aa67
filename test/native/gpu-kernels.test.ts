// The kernels compiled for GPUs: they compile, and keep their numbers in registers. For one generation and the widest of those that differ by width, which is most of what can go wrong in a tenth of the time;
// with REVERIE_GPU_GENERATIONS=all for every one, as a package has them. Kept in test/.cache, where make sees what has changed.
// Needs nvcc, named by REVERIE_NVCC (scripts/cuda-compiler.mjs gets one), but no GPU.

import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { NATIVE, nvcc } from './native-build.js';

/** Milliseconds that one file may take. */
const PATIENCE = 600_000;
const isWhole = process.env['REVERIE_GPU_GENERATIONS'] === 'all';
const GENERATIONS = isWhole ? ['sm_80', 'sm_90a', 'sm_100'] : ['sm_80'];
/** As in the Makefile, machine code and PTX, but for the generations that are left out. */
const SETTINGS = isWhole ? [] : ['GPUS=-gencode arch=compute_80,code=[sm_80,compute_80] -DREVERIE_WIDEST_ALONE'];
/** Rollouts by tensor cores take as long as all others; their step is compiled here, too. */
const KERNELS = readdirSync(join(NATIVE, 'kernels')).filter(
  (file) => file.endsWith('.cu') && (isWhole || file !== 'ensemble-rollout-tf32.cu'),
);

if (nvcc === undefined) console.warn('gpu-kernels.test.ts skips: REVERIE_NVCC names no nvcc.');

describe.skipIf(nvcc === undefined)('kernels for GPUs', () => {
  const cache = fileURLToPath(new URL('../.cache/gpu-kernels', import.meta.url));
  const folder = join(cache, isWhole ? 'all' : 'widest');
  mkdirSync(folder, { recursive: true });
  const make = (target: string) =>
    execFileSync('make', ['-C', NATIVE, target, `BUILD=${folder}`, `NVCC=${nvcc}`, ...SETTINGS], {
      encoding: 'utf8',
      stdio: 'pipe',
    });

  it.each(KERNELS)(
    '%s compiles and spills no more than two registers',
    (file) => {
      const name = basename(file, '.cu');
      make(join(folder, 'gpu', `${name}.fatbin`));
      const report = readFileSync(join(folder, 'gpu', `${name}.txt`), 'utf8');
      for (const gpu of GENERATIONS) expect(report).toMatch(new RegExp(`Compiling entry function .* for '${gpu}'`));
      // Two words that a kernel for two blocks a multiprocessor puts aside on Ampere cost nothing; a spilled fragment would.
      for (const [line, bytes] of report.matchAll(/.* (\d+) bytes spill stores.*/g)) {
        expect(Number(bytes), line).toBeLessThanOrEqual(8);
      }
    },
    PATIENCE,
  );

  if (!isWhole) return;

  it(
    'make one file, with a report of what each kernel takes',
    () => {
      const report = make('resources');
      expect(report.match(/Used \d+ registers/g)!.length).toBeGreaterThanOrEqual(GENERATIONS.length * KERNELS.length);
      expect(existsSync(join(folder, 'kernels.fatbin'))).toBe(true);
    },
    PATIENCE,
  );
});
