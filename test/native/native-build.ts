// Builds of native/cuda for tests: what can be built here, and building it once.

import { execFileSync, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

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

/** Makes a target of native/cuda/Makefile; what the compilers said is in the error. */
export function make(target: string, settings: Readonly<Record<string, string>> = {}): void {
  const given = Object.entries({ CXX: compiler!, ...settings }).map(([key, value]) => `${key}=${value}`);
  execFileSync('make', ['-C', NATIVE, '-j2', target, ...given], { stdio: ['ignore', 'ignore', 'pipe'] });
}
