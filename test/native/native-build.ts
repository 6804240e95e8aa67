// Builds of native/cuda for tests: what can be built here, and building it once.

import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, rmSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { nativeWidths } from '../../src/nn/cuda.js';

export const NATIVE = fileURLToPath(new URL('../../native/cuda/', import.meta.url));
export const BUILD = fileURLToPath(new URL('../../native/cuda/build/', import.meta.url));

const runs = (program: string) => spawnSync(program, ['--version'], { stdio: 'ignore' }).status === 0;

/** The C++ compiler that is here; undefined without one, or without make. */
export const compiler = runs('make') ? [process.env['CXX'] ?? 'c++', 'g++', 'clang++'].find(runs) : undefined;

/** nvcc, where REVERIE_NVCC names one that works. */
export const nvcc = [process.env['REVERIE_NVCC'] ?? ''].find((path) => path !== '' && runs(path));

/** Whether a test file that needs a compiler has to be skipped; says so then. */
export function lacksCompiler(file: string): boolean {
  if (compiler === undefined) console.warn(`${file} skips: there is no C++ compiler and make.`);
  return compiler === undefined;
}

const LOCK = fileURLToPath(new URL('../../native/cuda/build/.tests-make', import.meta.url));
/** Older locks are of processes that ended without giving theirs back. */
const LOCK_MS = 600_000;

/** Test files run side by side and share the folder: one makes at a time. */
function alone(work: () => void): void {
  mkdirSync(BUILD, { recursive: true });
  for (;;) {
    try {
      mkdirSync(LOCK);
      break;
    } catch {
      const taken = statSync(LOCK, { throwIfNoEntry: false });
      if (taken !== undefined && Date.now() - taken.mtimeMs > LOCK_MS) rmSync(LOCK, { recursive: true, force: true });
      else Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100);
    }
  }
  try {
    work();
  } finally {
    rmSync(LOCK, { recursive: true, force: true });
  }
}

/** Makes a target of the Makefile in native/cuda; what the compilers said is in the error. */
export function make(target: string): void {
  const words = ['-C', NATIVE, '-j2', target, `CXX=${compiler!}`];
  alone(() => execFileSync('make', words, { stdio: ['ignore', 'ignore', 'pipe'] }));
}

/** What `make` answers with each width of vectors that this processor has. */
export async function inEveryWidth<T>(make: () => Promise<T>): Promise<T[]> {
  const made: T[] = [];
  try {
    for (const width of nativeWidths()) {
      process.env['REVERIE_NATIVE_WIDTH'] = width;
      made.push(await make());
    }
  } finally {
    delete process.env['REVERIE_NATIVE_WIDTH'];
  }
  return made;
}

/** The largest difference, relative to the size of the array's elements. */
export function distance(a: Float32Array, b: Float32Array): number {
  const size = Math.sqrt(b.reduce((sum, x) => sum + x * x, 0) / b.length);
  return a.reduce((most, x, i) => Math.max(most, Math.abs(x - b[i])), 0) / size;
}
