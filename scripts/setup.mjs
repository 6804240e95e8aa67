// Makes a fresh clone ready: installs the locked packages and compiles, each only when something it reads has changed.
// Run by `npm start`, `npm test` and `npm run bench`, so that nobody needs a third command.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildNative } from './build-native.mjs';
import { PAGE, pageSources, sources, whenChanged } from './stamps.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const vite = (config) => ['node_modules/vite/bin/vite.js', 'build', '-c', config, '--logLevel', 'warn'];
// TypeScript's native compiler: the same output in a third of the time. Version 5 beside it is for its programming interface.
const tsc = 'node_modules/typescript-7/bin/tsc';
const bench = process.argv.includes('--bench');

const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  console.error(`Reverie needs Node 20.19 or newer (24 recommended); this is ${process.version}.`);
  process.exit(1);
}

async function run(label, command, args) {
  console.error(`[setup] ${label}`);
  const child = spawn(command, args, {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
    shell: process.platform === 'win32',
  });
  const [code, signal] = await once(child, 'close');
  if (code !== 0) throw new Error(`${label} failed: ${command} ended with ${code ?? signal}`);
}

// `install`, not `ci`: the lock may lack optional packages of other platforms, which `ci` refuses. Nothing is saved.
await whenChanged(
  'node_modules/.reverie-installed',
  ['package.json', 'package-lock.json'],
  existsSync(join(root, 'node_modules')),
  () => run('installing packages', 'npm', ['install', '--no-save', '--no-audit', '--no-fund', '--loglevel=error']),
);

/** Packs in TypeScript, against the package's declarations, as anybody's plugin is. */
async function compilePacks() {
  const packs = readdirSync(join(root, 'packs')).filter((name) =>
    existsSync(join(root, 'packs', name, 'tsconfig.json')),
  );
  for (const name of packs) {
    const pack = join('packs', name);
    await whenChanged(
      join(pack, 'dist/.built'),
      ['tsconfig.json', join(pack, 'tsconfig.json'), ...sources(join(pack, 'src'))],
      existsSync(join(root, pack, 'dist/index.js')),
      () => run(`compiling ${pack}`, process.execPath, [tsc, '-p', pack]),
    );
  }
}

const builds = [
  whenChanged(
    'dist/.built',
    ['tsconfig.json', 'tsconfig.build.json', ...sources('src')],
    existsSync(join(root, 'dist/cli.js')),
    () => run('compiling', process.execPath, [tsc, '-p', 'tsconfig.build.json']),
  ).then(compilePacks),
  whenChanged(PAGE, pageSources(), existsSync(join(root, 'dist/web/index.html')), () =>
    run('building the page', process.execPath, vite('web/vite.config.ts')),
  ),
];
if (bench) {
  builds.push(
    whenChanged(
      'dist-bench/.built',
      ['tsconfig.bench.json', ...sources('src'), ...sources('benchmarks')],
      existsSync(join(root, 'dist-bench/benchmarks/bench.js')),
      () => run('compiling benchmarks', process.execPath, [tsc, '-p', 'tsconfig.bench.json']),
    ),
  );
}
// Beside the others, which are processes of their own.
buildNative();
for (const { reason } of await Promise.allSettled(builds)) {
  if (reason === undefined) continue;
  console.error(`[setup] ${reason.message}`);
  process.exitCode = 1;
}
