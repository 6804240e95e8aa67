// The kernels, engines and their references: everything that native/cuda checks on the host, in the emulator.

import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { BUILD, lacksCompiler, make } from './native-build.js';

describe.skipIf(lacksCompiler('kernels.test.ts'))('kernels and engines on the host', () => {
  it('keep to their references', () => {
    make('build/check');
    const { status, stdout, stderr } = spawnSync(join(BUILD, 'check'), [], { encoding: 'utf8' });
    expect(status, `${stdout}\n${stderr}`).toBe(0);
  }, 900_000);
});
