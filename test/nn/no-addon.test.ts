// Where nothing could be compiled: one error names what is missing and the way out, and nothing else is in the way.

import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';

type Door = typeof import('../../src/nn/cuda.js');

describe('without the addon', () => {
  let door: Door;
  beforeAll(async () => {
    vi.resetModules();
    vi.doMock('node:fs', async (importOriginal) => {
      const fs = await importOriginal<typeof import('node:fs')>();
      const existsSync: typeof fs.existsSync = (path) =>
        !String(path).includes('reverie_cuda.node') && fs.existsSync(path);
      return { ...fs, existsSync };
    });
    door = await import('../../src/nn/cuda.js');
  });
  afterAll(() => {
    vi.doUnmock('node:fs');
    vi.resetModules();
  });

  it('a device is one clear error', async () => {
    const hint = expect.stringContaining('node scripts/build-native.mjs');
    await expect(door.requireDevice({ kind: 'native', precision: 'fp32' })).rejects.toMatchObject({
      ...{ code: 'DEVICE_UNAVAILABLE', hint },
      message: 'The device simd cannot be used: the addon is not compiled.',
    });
    await expect(door.requireDevice({ kind: 'cuda', precision: 'tf32' })).rejects.toMatchObject({
      ...{ code: 'CUDA_UNAVAILABLE', hint },
    });
  });

  it('what there is can still be asked', async () => {
    const { addon, missing } = await door.cudaStatus();
    expect([addon.problem, missing?.problem]).toEqual(['the addon is not compiled', 'the addon is not compiled']);
  });
});
