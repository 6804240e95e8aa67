// What `run.sh train` needs on a machine that has neither Node nor a network, as one archive: Node itself, the built product, and of
// its dependencies what Linux x64 runs. Makes it here, where the product is built.
//
//   node benchmarks/gpu/pack.mjs [--out FILE] [--limit MIB]     default: benchmarks/gpu/carry/product.tar.xz, 64 MiB
//   node benchmarks/gpu/pack.mjs --list                         the files alone

import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const OWN = ['package.json', 'LICENSE', 'dist', 'scenarios', 'packs'];
/** Sources, types, maps and manuals are read by nobody who runs it; nor is code for other machines. */
const UNREAD = /\.(map|md|markdown|[cm]?ts|flow)$/;
const FOREIGN = /onnxruntime-node\/bin\/napi-v\d+\/(?!linux\/x64)|\/(darwin|win32|linux-arm64|linux-arm)[-/]|\.musl\.node$/;

/** Folders of all packages that are needed to run, nested ones too. */
function packages() {
  const found = new Set();
  const walk = (folder) => {
    const { dependencies, optionalDependencies } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
      const path = resolved(name, folder);
      if (path === undefined || found.has(path)) continue;
      found.add(path);
      walk(path);
    }
  };
  walk(ROOT);
  return [...found];
}

/** As Node looks for it; undefined for what is optional and not installed. */
function resolved(name, from) {
  for (let folder = from; ; folder = dirname(folder)) {
    const path = join(folder, 'node_modules', name);
    if (existsSync(join(path, 'package.json'))) return path;
    if (folder === ROOT || folder === dirname(folder)) return undefined;
  }
}

/** Files under `path`; those of packages within it are counted with these. @param isCode whether folders may be tests or sources */
function files(path, isCode) {
  const stat = lstatSync(path);
  if (stat.isFile()) return UNREAD.test(path) || FOREIGN.test(path) ? [] : [path];
  if (!stat.isDirectory()) return [];
  const names = readdirSync(path).filter((name) => name !== 'node_modules' && !(isCode && name === '.built'));
  return names.flatMap((name) => files(join(path, name), isCode));
}

function listed() {
  const own = OWN.map((name) => join(ROOT, name)).filter((path) => existsSync(path));
  const product = own.flatMap((path) => files(path, true)).filter((path) => !/packs\/[^/]+\/src\//.test(path));
  const needed = packages().flatMap((path) => files(path, false));
  return [...product, ...needed].map((path) => relative(ROOT, path));
}

function pack(out) {
  const staging = mkdtempSync(join(tmpdir(), 'reverie-pack-'));
  try {
    copyFileSync(process.execPath, join(staging, 'node'));
    mkdirSync(dirname(out), { recursive: true });
    const env = { XZ_OPT: '-T0', ...process.env };
    const words = ['--owner=0', '--group=0', '-cJf', out, '-C', staging, 'node', '-C', ROOT, '-T', '-'];
    execFileSync('tar', words, { input: listed().join('\n'), stdio: ['pipe', 'inherit', 'inherit'], env });
  } finally {
    rmSync(staging, { recursive: true, force: true });
  }
}

/** Packs, and says how large that is. */
function packed(out, limit) {
  pack(out);
  const mib = statSync(out).size / 2 ** 20;
  console.log(`${relative(process.cwd(), out)}: ${mib.toFixed(1)} MiB`);
  if (mib <= limit) return;
  console.error(`more than the ${limit} MiB that may be carried`);
  process.exitCode = 1;
}

const { values } = parseArgs({
  options: { out: { type: 'string' }, limit: { type: 'string', default: '64' }, list: { type: 'boolean', default: false } },
});
if (!existsSync(join(ROOT, 'dist', 'cli.js'))) throw new Error('not built: npm run build');
if (values.list) process.stdout.write(`${listed().join('\n')}\n`);
else packed(resolve(values.out ?? join(ROOT, 'benchmarks', 'gpu', 'carry', 'product.tar.xz')), Number(values.limit));
