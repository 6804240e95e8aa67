// The addon as a GPU's machine has it: by the driver's functions, from libuv's threads. A libcuda over the emulator stands
// where the loader looks first, so that kernels, engine, driver's side and border work together without a GPU.

import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { temporaryFolder } from '../temporary-folder.js';
import { BUILD, lacksCompiler, make } from './native-build.js';

const CHILD = fileURLToPath(new URL('./border-child.mjs', import.meta.url));

interface Stepped {
  readonly device: string;
  readonly numbers: readonly number[];
  readonly lived: readonly number[];
}
interface Failed {
  readonly kind: string;
  readonly driverCode: number;
  readonly message: string;
}
interface Told<T> {
  readonly probe: { readonly missing: string; readonly devices: readonly { readonly name: string }[] };
  readonly steps: Readonly<Record<'fp32' | 'tf32', T>>;
  readonly emulated: Stepped;
}

/** What a process tells whose driver shows `fault`, if it has one; it must end by itself and well. */
function told<T>(fault: string, kernelsOf: () => Uint8Array = fatbin): Told<T> {
  const kernels = join(temporaryFolder('border'), 'kernels.fatbin');
  writeFileSync(kernels, kernelsOf());
  const libraries = fault === 'no-library' ? '' : join(BUILD, 'double');
  const env = { ...process.env, REVERIE_DOUBLE: fault, LD_LIBRARY_PATH: libraries };
  const args = [CHILD, join(BUILD, 'reverie_cuda.node'), kernels];
  return JSON.parse(execFileSync(process.execPath, args, { env, encoding: 'utf8' }));
}

/** A fat binary with nothing in it. */
function fatbin(): Uint8Array {
  const bytes = Buffer.alloc(24);
  bytes.writeUInt32LE(0xba55ed50, 0);
  bytes.writeUInt16LE(1, 4);
  bytes.writeUInt16LE(16, 6);
  bytes.writeBigUInt64LE(8n, 8);
  return bytes;
}

describe.skipIf(lacksCompiler('border.test.ts'))('the addon', () => {
  beforeAll(() => {
    make('addon');
    make('driver');
  }, 600_000);

  it('steps ensembles and rolls them out by the driver as by the emulation, from several threads', () => {
    const { probe, steps, emulated } = told<Stepped>('');
    expect(probe).toMatchObject({ missing: '', devices: [{ name: 'A GPU in tests' }] });
    expect(emulated.device).toBe('host emulation');
    for (const { device, numbers } of Object.values(steps)) {
      expect(device).toBe('A GPU in tests');
      expect(numbers.every((value, i) => Math.abs(value - emulated.numbers[i]) < 0.02)).toBe(true);
    }
    expect(steps.tf32).toMatchObject({ numbers: emulated.numbers, lived: emulated.lived });
  });

  it.each([
    ['no-library', 'unavailable', 0, 'there is no CUDA driver'],
    ['no-gpu', 'unavailable', 0, 'finds no GPU'],
    ['empty', 'unavailable', 0, 'finds no GPU'],
    ['mismatch', 'unavailable', 0, 'CUDA_ERROR_SYSTEM_DRIVER_MISMATCH'],
    ['old-gpu', 'unavailable', 0, 'compute capability 7.0'],
    ['old-driver', 'unavailable', 0, 'update the driver'],
    ['out-of-memory', 'out-of-memory', 2, 'out of device memory'],
    ['launch-fails', 'failed', 700, 'CUDA_ERROR_ILLEGAL_ADDRESS'],
  ])('rejects where the driver shows "%s", and lives on', (fault, kind, driverCode, part) => {
    const { steps, emulated } = told<Failed>(fault);
    for (const failed of Object.values(steps)) {
      expect(failed).toMatchObject({ kind, driverCode, message: expect.stringContaining(part) });
    }
    expect(emulated.device).toBe('host emulation');
  });

  it('refuses files that hold no kernels', () => {
    const { steps } = told<Failed>('', () => Buffer.alloc(24, 1));
    expect(steps.fp32).toMatchObject({ kind: 'unavailable', message: expect.stringContaining('no compiled kernels') });
  });
});
