// Compiles native/cuda: the addon that reaches a GPU from Node where there is a C++ compiler, and the kernels where there is
// nvcc. Nothing is downloaded, and nothing is compiled again until a source or a compiler changes. What cannot be compiled is
// said in one line: everything else works without it.
// Usage: node scripts/build-native.mjs    nvcc: NVCC, CUDA_HOME, PATH, or REVERIE_CUDA_WHEELS, a folder with the Python
// packages nvidia-cuda-nvcc and the like (its nvidia/cu13/bin/nvcc is used).

import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { availableParallelism } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { argv, env, platform, stderr } from 'node:process';
import { fileURLToPath } from 'node:url';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..');
const NATIVE = join(ROOT, 'native', 'cuda');
const BUILD = join(NATIVE, 'build');

const say = (line) => stderr.write(`[setup] ${line}\n`);

/** The first of `names` that is a file, or that PATH has. */
function program(names) {
  const folders = (env.PATH ?? '').split(delimiter);
  for (const name of names.filter(Boolean)) {
    if (name.includes('/')) {
      if (existsSync(name)) return name;
    } else {
      const folder = folders.find((one) => one !== '' && existsSync(join(one, name)));
      if (folder !== undefined) return join(folder, name);
    }
  }
  return undefined;
}

export function findCompiler() {
  return platform === 'win32' ? undefined : program([env.CXX, 'c++', 'g++', 'clang++']);
}

export function findNvcc() {
  const homes = [env.CUDA_HOME, env.CUDA_PATH, '/usr/local/cuda']
    .filter(Boolean)
    .map((home) => join(home, 'bin', 'nvcc'));
  const wheels = env.REVERIE_CUDA_WHEELS && join(env.REVERIE_CUDA_WHEELS, 'nvidia', 'cu13', 'bin', 'nvcc');
  return program([env.NVCC, wheels, ...homes.slice(0, -1), 'nvcc', homes.at(-1)]);
}

/** The folders of headers that the addon is compiled with. */
function napiHeaders() {
  const require = createRequire(import.meta.url);
  return [
    dirname(require.resolve('node-addon-api/package.json')),
    join(dirname(require.resolve('node-api-headers/package.json')), 'include'),
  ];
}

function sources() {
  return readdirSync(NATIVE, { recursive: true })
    .map(String)
    .filter(
      (file) =>
        /^(Makefile|(kernels|engine|processor|border)\/.*)$/.test(file) && statSync(join(NATIVE, file)).isFile(),
    )
    .sort();
}

/** Changes with every source and with the compiler. */
function stateOf(compiler) {
  const hash = createHash('sha256').update(`${compiler}`);
  for (const file of sources()) hash.update(file).update(readFileSync(join(NATIVE, file)));
  return hash.digest('hex');
}

export function make(target, settings) {
  const jobs = Math.max(1, Math.min(8, availableParallelism()));
  const args = [
    '-C',
    NATIVE,
    '-j',
    String(jobs),
    target,
    ...Object.entries(settings).map(([key, value]) => `${key}=${value}`),
  ];
  execFileSync('make', args, { stdio: ['ignore', 'ignore', 'pipe'], encoding: 'utf8' });
}

/** Compiles `target` unless that was done, or tried, with these sources and this compiler. Answers whether it is there. */
function build({ target, file, compiler, label, settings, without }) {
  const output = join(BUILD, file);
  const stamp = join(BUILD, `.${target}`);
  const state = stateOf(compiler);
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === state) return existsSync(output);
  mkdirSync(BUILD, { recursive: true });
  rmSync(output, { force: true });
  if (compiler === undefined) say(without);
  else {
    say(`${label} with ${compiler}`);
    try {
      make(target, settings());
    } catch (error) {
      say(`${label} failed, everything else works: ${error.stderr || error.message}`);
    }
  }
  writeFileSync(stamp, state);
  return existsSync(output);
}

/** Compiles what can be; answers which of the two are there. */
export function buildNative() {
  const compiler = program(['make']) && findCompiler();
  const addon = build({
    target: 'addon',
    file: 'reverie_cuda.node',
    compiler,
    label: 'compiling the addon for GPUs',
    settings: () => ({ CXX: compiler, NAPI_HEADERS: `${napiHeaders().join(' ')}` }),
    without: 'no C++ compiler and make: no GPU can be used (docs/cuda.md), everything else works',
  });
  const nvcc = program(['make']) && compiler && findNvcc();
  const kernels = build({
    target: 'fatbin',
    file: 'kernels.fatbin',
    compiler: nvcc,
    label: 'compiling kernels for GPUs',
    settings: () => ({ NVCC: nvcc, CXX: compiler }),
    without: 'no nvcc: kernels are not compiled for GPUs (docs/cuda.md), everything else works',
  });
  return { addon, kernels };
}

if (argv[1] === fileURLToPath(import.meta.url)) {
  const { addon, kernels } = buildNative();
  say(`addon: ${addon ? 'there' : 'not there'}; kernels for GPUs: ${kernels ? 'there' : 'not there'}`);
}
