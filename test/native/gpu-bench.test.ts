// benchmarks/gpu/run.sh without a GPU: the kernels on the host at tiny sizes, through the same harness, protocol and report.

import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { lacksCompiler, make, NATIVE } from './native-build.js';

const SCRIPT = join(NATIVE, '..', '..', 'benchmarks', 'gpu', 'run.sh');
const python = spawnSync('python3', ['--version'], { stdio: 'ignore' }).status === 0;

function run(folder: string, ...words: string[]) {
  return spawnSync('bash', [SCRIPT, '--emulated', '--out', folder, ...words], { encoding: 'utf8' });
}

describe.skipIf(lacksCompiler('gpu-bench.test.ts') || !python)('measuring on a GPU, dry', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'reverie-gpu-bench-'));
    make('bench');
  }, 600_000);
  afterAll(() => rmSync(folder, { recursive: true }));

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
      stderr: expect.stringContaining('--call 1, 2 or 3?'),
    });
  });
});

describe('what is carried to a machine without Node', () => {
  it.skipIf(!existsSync(join(NATIVE, '..', '..', 'dist', 'cli.js')))(
    'is the product, and what Linux x64 runs of it',
    () => {
      const script = join(SCRIPT, '..', 'pack.mjs');
      const files = spawnSync(process.execPath, [script, '--list'], { encoding: 'utf8' }).stdout.trim().split('\n');
      const needed = [
        'package.json',
        'dist/cli.js',
        'node_modules/zod/package.json',
        'node_modules/node-addon-api/napi.h',
      ];
      expect(files).toEqual(expect.arrayContaining(needed));
      expect(files.filter((file) => /win32|darwin|\.map$|\.d\.ts$|^node_modules\/typescript\//.test(file))).toEqual([]);
      expect(files.some((file) => /onnxruntime-node\/bin\/[^/]+\/linux\/x64\/libonnxruntime/.test(file))).toBe(true);
    },
  );
});

describe.skipIf(!python)('the result of a training on two devices', () => {
  it('is the wall time of the one over that of the other, seed by seed', () => {
    const folder = mkdtempSync(join(tmpdir(), 'reverie-gpu-train-'));
    const rows = [1, 2, 3].map((seed) => ({ seed }));
    const comparisons = [{ device: 'cuda', speedups: [2, 4, 8], isSame: true }];
    const versions = { reverie: '0.1.0', 'onnxruntime-node': '1.30.0', node: '20.0.0' };
    const measured = { machine: { node: '20.0.0' }, versions, comparisons, rows };
    writeFileSync(join(folder, 'gpu.end-to-end.train.json'), JSON.stringify(measured));
    const script = join(SCRIPT, '..', 'train_result.py');
    const { stderr } = spawnSync('python3', ['-B', script, folder, 'run.sh train', ''], { encoding: 'utf8' });
    expect(stderr).toBe('');
    const result = JSON.parse(readFileSync(join(folder, 'gpu.train.json'), 'utf8'));
    expect(result).toMatchObject({
      id: 'gpu.train',
      value: 0.25,
      low: 0.125,
      high: 0.5,
      n: 3,
      command: 'run.sh train',
      versions,
    });
    rmSync(folder, { recursive: true });
  });
});
