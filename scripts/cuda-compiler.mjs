// Makes nvcc available to the tests, so that kernels are compiled for GPUs where there is none: from the Python packages that
// carry it. Prints the path of nvcc; ends with 1 where the packages cannot be had.
// Usage: export REVERIE_NVCC=$(node scripts/cuda-compiler.mjs)

import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..');
const CACHE = join(ROOT, 'test', '.cache', 'cuda-compiler');
const NVCC = join(CACHE, 'nvidia', 'cu13', 'bin', 'nvcc');
const PACKAGES = [
  'nvidia-cuda-nvcc==13.5.37',
  'nvidia-cuda-runtime==13.5.37',
  'nvidia-cuda-cccl==13.3.5.0.6',
  'nvidia-cuda-crt==13.5.37',
  'nvidia-nvvm==13.5.37',
];
const MINUTES = 6;

try {
  if (!existsSync(NVCC)) {
    rmSync(CACHE, { recursive: true, force: true });
    mkdirSync(CACHE, { recursive: true });
    const options = ['--quiet', '--disable-pip-version-check', '--no-deps', '--only-binary=:all:', '--target', CACHE];
    execFileSync('python3', ['-m', 'pip', 'install', ...options, ...PACKAGES], {
      stdio: ['ignore', 2, 2],
      timeout: MINUTES * 60_000,
    });
  }
  execFileSync(NVCC, ['--version'], { stdio: ['ignore', 'ignore', 2] });
  console.log(NVCC);
} catch (error) {
  console.error(`No nvcc: ${error.message}`);
  process.exitCode = 1;
}
