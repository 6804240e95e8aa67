// The kernels and engines: everything that native/cuda checks on the host, in the emulator.

import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { BUILD, lacksCompiler, make } from './native-build.js';

/** Of native/cuda/test/main.cc. */
const PARTS = ['numbers', 'device', 'rows', 'rollouts', 'native'];

describe.skipIf(lacksCompiler('kernels.test.ts'))('kernels and engines on the host', () => {
  beforeAll(() => make('build/check'), 480_000);

  it.each(PARTS)('%s: is as it should be', { timeout: 240_000 }, (part) => {
    const { status, stdout } = spawnSync(join(BUILD, 'check'), [part], { encoding: 'utf8' });
    expect({ status, failed: stdout.split('\n').filter((line) => line.startsWith('FAILED')) }).toEqual({
      status: 0,
      failed: [],
    });
    expect(stdout).toMatch(/[1-9]\d* checks, 0 failed/);
  });
});
