// The kernels compiled for GPUs of every generation, as a package has them: they compile, and keep their numbers in registers.
// Needs nvcc, named by REVERIE_NVCC (scripts/cuda-compiler.mjs gets one), but no GPU.

import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { NATIVE, nvcc } from './native-build.js';

/** Milliseconds that one file may take. */
const PATIENCE = 600_000;
const GENERATIONS = ['sm_80', 'sm_90a', 'sm_100'];
const KERNELS = readdirSync(join(NATIVE, 'kernels')).filter((file) => file.endsWith('.cu'));

if (nvcc === undefined) console.warn('gpu-kernels.test.ts skips: REVERIE_NVCC names no nvcc.');

describe.skipIf(nvcc === undefined)('kernels for GPUs', () => {
  const folder = mkdtempSync(join(tmpdir(), 'reverie-kernels-'));
  const make = (target: string) =>
    execFileSync('make', ['-C', NATIVE, target, `BUILD=${folder}`, `NVCC=${nvcc}`], {
      encoding: 'utf8',
      stdio: 'pipe',
    });
  afterAll(() => rmSync(folder, { recursive: true }));

  it.each(KERNELS)(
    '%s compiles for every generation and spills no registers',
    (file) => {
      const name = basename(file, '.cu');
      make(join(folder, 'gpu', `${name}.fatbin`));
      const report = readFileSync(join(folder, 'gpu', `${name}.txt`), 'utf8');
      for (const gpu of GENERATIONS) expect(report).toMatch(new RegExp(`Compiling entry function .* for '${gpu}'`));
      expect(report.split('\n').filter((line) => /[1-9]\d* bytes spill/.test(line))).toEqual([]);
    },
    PATIENCE,
  );

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
