// The kernels compiled for GPUs: they compile, and keep their numbers in registers. Needs nvcc, named by
// REVERIE_NVCC (scripts/cuda-compiler.mjs gets one), but no GPU. REVERIE_GPUS=sm_80,sm_90a,sm_100 compiles for all of them.

import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { NATIVE, nvcc } from './native-build.js';

/** A minute of a core a file and generation: all of them are for whoever changes kernels. */
const GENERATIONS = (process.env['REVERIE_GPUS'] ?? 'sm_90a').split(',');
const KERNELS = readdirSync(join(NATIVE, 'kernels')).filter((file) => file.endsWith('.cu'));

if (nvcc !== undefined) console.warn(`gpu-kernels.test.ts compiles for ${GENERATIONS}; REVERIE_GPUS names others.`);
if (nvcc === undefined) console.warn('gpu-kernels.test.ts skips: REVERIE_NVCC names no nvcc.');

describe.skipIf(nvcc === undefined)('kernels for GPUs', () => {
  it.each(KERNELS.flatMap((file) => GENERATIONS.map((gpu) => [file, gpu] as const)))(
    '%s compiles for %s and spills no registers',
    (file, gpu) => {
      const folder = mkdtempSync(join(tmpdir(), 'reverie-kernels-'));
      try {
        const out = join(folder, `${basename(file, '.cu')}.cubin`);
        const args = ['-std=c++17', '-O3', '-Xptxas', '-v', `-arch=${gpu}`, '-cubin', join('kernels', file), '-o', out];
        // The report is on stderr, which execFileSync gives only where it fails.
        const command = ['-c', '"$0" "$@" 2>&1', nvcc!, ...args];
        const report = execFileSync('sh', command, { cwd: NATIVE, encoding: 'utf8' });
        expect(report).toContain('registers');
        expect(report.split('\n').filter((line) => /[1-9]\d* bytes spill/.test(line))).toEqual([]);
      } finally {
        rmSync(folder, { recursive: true });
      }
    },
    600_000,
  );
});
