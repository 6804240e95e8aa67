// The side of the CUDA driver, without a GPU: a libcuda over the emulator stands where the loader looks first, with the
// driver's rules (a current context on every thread, permission for shared memory) and its failures.

import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { BUILD, lacksCompiler, make } from './native-build.js';

const CASES: readonly (readonly [what: string, name: string, library: string])[] = [
  ['runs kernels from several threads, cooperative ones too, and gives memory back', 'works', 'double'],
  ['says that there is no driver', 'no-library', ''],
  ['names the function that an old driver lacks', 'old-library', 'old-double'],
  ['says that the driver finds no GPU', 'no-gpu', 'double'],
  ['says that no GPU is visible', 'empty', 'double'],
  ['tells an error of initialisation in the words of the driver', 'mismatch', 'double'],
  ['refuses a GPU that is too old', 'old-gpu', 'double'],
  ['says that the driver is too old for the kernels', 'old-driver', 'double'],
  ['names the kernel and the launch that failed', 'launch-fails', 'double'],
  ['refuses files that hold no kernels', 'bad-files', 'double'],
];

describe.skipIf(lacksCompiler('driver.test.ts'))('the CUDA driver', () => {
  beforeAll(() => make('driver'), 240_000);

  it.each(CASES)('%s', (_, name, library) => {
    const folder = mkdtempSync(join(tmpdir(), 'reverie-driver-'));
    try {
      const env = { ...process.env, REVERIE_DOUBLE: name, LD_LIBRARY_PATH: library === '' ? '' : join(BUILD, library) };
      const { status, stdout, stderr } = spawnSync(join(BUILD, 'driver-check'), [name, folder], {
        env,
        encoding: 'utf8',
      });
      expect({ status, stderr, stdout }).toEqual({ status: 0, stderr: '', stdout: `${name}: as it should be\n` });
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
