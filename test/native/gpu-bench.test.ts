// benchmarks/gpu/run.sh without a GPU: the kernels on the host at tiny sizes, through the same harness, protocol and report.

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { temporaryFolder } from '../temporary-folder.js';
import { lacksCompiler, make, NATIVE } from './native-build.js';

const SCRIPT = join(NATIVE, '..', '..', 'benchmarks', 'gpu', 'run.sh');
const python = spawnSync('python3', ['--version'], { stdio: 'ignore' }).status === 0;

function run(folder: string, ...words: string[]) {
  return spawnSync('bash', [SCRIPT, '--emulated', '--out', folder, ...words], { encoding: 'utf8' });
}

describe.skipIf(lacksCompiler('gpu-bench.test.ts') || !python)('measuring on a GPU, dry', () => {
  const folder = temporaryFolder('gpu-bench');
  beforeAll(() => {
    make('bench');
  }, 600_000);

  it('prints a table and leaves a result in the shape of the others', () => {
    const { status, stdout, stderr } = run(folder, 'time', '--only', 'ts1.tf32.1M');
    expect({ status, stderr }).toMatchObject({ status: 0 });
    expect(stdout).toMatch(/ts1\.tf32\.1M +ours/);
    const result = JSON.parse(readFileSync(join(folder, 'gpu.ensemble.json'), 'utf8'));
    expect(result).toMatchObject({ id: 'gpu.ensemble', unit: 'transitions/s', n: 3, baseline: 'none' });
    expect(result.low).toBeLessThanOrEqual(result.value);
    expect(result.high).toBeGreaterThanOrEqual(result.value);
    expect(result.raw.limits.isEmulated).toBe(true);
    expect(result.raw.rows[0].milliseconds.spanMs).toHaveLength(3);
  });

  it('refuses what it does not know', () => {
    const { status, stderr } = run(folder, 'guess');
    expect(status).toBe(2);
    expect(stderr).toContain('unknown: guess');
    expect(run(folder, '--call', '4')).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('--call 1 or 2?'),
    });
  });
});
