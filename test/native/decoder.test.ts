// Decoding of small language models by the kernels of native/cuda, run on the host: logits against doubles, draws against a
// sorted softmax, bytes in any order of threads, and what becomes of sequences that go wrong.

import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { BUILD, lacksCompiler, make } from './native-build.js';

describe.skipIf(lacksCompiler('decoder.test.ts'))('decoding on a device', () => {
  beforeAll(() => make('build/check'), 480_000);

  it('holds to its references', { timeout: 240_000 }, () => {
    const { status, stdout } = spawnSync(join(BUILD, 'check'), ['decoder'], { encoding: 'utf8' });
    expect({ status, failed: stdout.split('\n').filter((line) => line.startsWith('FAILED')) }).toEqual({
      status: 0,
      failed: [],
    });
    expect(stdout.match(/[1-9]\d* checks, 0 failed/g)).toHaveLength(3);
  });
});
