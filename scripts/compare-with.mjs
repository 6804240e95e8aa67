// Says whether the working tree still makes what another checkout makes: runs the same small jobs with both, on this
// machine, and compares hashes of their results. `node scripts/compare-with.mjs --help` tells how.

import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { GOLDEN_FILE, GOLDEN_JOBS, goldenParts } from './compare/golden.mjs';
import { JOBS } from './compare/jobs.mjs';
import { sha256 } from './compare/normal-form.mjs';
import { Side } from './compare/side.mjs';

const HERE = dirname(fileURLToPath(import.meta.url));
const ROOT = join(HERE, '..');
const INTENDED = join(HERE, 'intended-differences.json');

const HELP = `Usage: node scripts/compare-with.mjs --base DIR [options]

Runs a fixed set of small jobs with the code of another checkout and with that of this one, both as they were built
(node scripts/setup.mjs), and compares SHA-256 hashes of what they made. Ends with 1 where something differs and is not
listed in scripts/intended-differences.json: {"job", "part", "reason"}, where * stands for anything.

  --base DIR       a built clone of the code to compare with; what it made is kept for the next time, by commit
  --only JOB,...   these jobs alone, * for anything; those they need are run, too
  --workers N      worker threads of this side's jobs on numbers (default 0), which never change results
  --jobs N         jobs at a time (default 1)
  --keep           leave what this side made where it is, and say how to look at what differs
  --list           the names of the jobs
  --write-golden   write what is the same on every machine to test/e2e/golden.json; no base is needed`;

const { values: options } = parseArgs({
  options: {
    base: { type: 'string' },
    only: { type: 'string', default: '*' },
    workers: { type: 'string', default: '0' },
    jobs: { type: 'string', default: '1' },
    keep: { type: 'boolean', default: false },
    list: { type: 'boolean', default: false },
    'write-golden': { type: 'boolean', default: false },
    help: { type: 'boolean', short: 'h', default: false },
  },
});

const matches = (pattern, text) => new RegExp(`^${pattern.split('*').map(escaped).join('.*')}$`).test(text);

function escaped(text) {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}

/** The commit of a checkout whose code has no changes; undefined where what it makes cannot be known by that. */
function commitOf(checkout) {
  const git = (...args) => execFileSync('git', ['-C', checkout, ...args], { encoding: 'utf8', stdio: 'pipe' }).trim();
  try {
    return git('status', '--porcelain', '--', 'src', 'scenarios', 'packs', 'package.json') === ''
      ? git('rev-parse', 'HEAD')
      : undefined;
  } catch {
    return undefined;
  }
}

function baseSide(checkout) {
  const folder = temporary();
  const commit = commitOf(checkout);
  if (commit === undefined) return new Side({ checkout, folder });
  const asked = readdirSync(join(HERE, 'compare')).map((file) => readFileSync(join(HERE, 'compare', file), 'utf8'));
  const key = `${commit.slice(0, 12)}-${process.version}-${sha256(asked.join()).slice(0, 8)}`;
  return new Side({ checkout, folder, kept: join(tmpdir(), 'reverie-compare', key) });
}

const temporaries = [];
function temporary() {
  const folder = mkdtempSync(join(tmpdir(), 'reverie-compare-'));
  temporaries.push(folder);
  return folder;
}

/** Calls `work` for each name, so many at a time, in order. */
async function forEach(names, work) {
  const waiting = [...names];
  const lane = async () => {
    for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) await work(name);
  };
  await Promise.all(Array.from({ length: Math.max(1, Number(options.jobs)) }, lane));
}

/** Rows of the table: part, verdict, and why where it is intended. */
function comparison(job, before, after, intended) {
  const parts = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
  return parts.map((part) => {
    if (before[part] === after[part]) return { job, part, verdict: 'equal' };
    const verdict = after[part] === undefined ? 'missing' : before[part] === undefined ? 'new' : 'different';
    const written = intended.find((one) => matches(one.job, job) && matches(one.part, part));
    return { job, part, verdict, written, reason: written?.reason };
  });
}

/** Equal parts in a line; each other part in a line of its own. */
function printed(name, rows, before, after) {
  console.log(
    `\n${name}: ${before.seconds.toFixed(1)} s${before.isKept ? ' (kept)' : ''} → ${after.seconds.toFixed(1)} s`,
  );
  const equal = rows.filter(({ verdict }) => verdict === 'equal').map(({ part }) => part);
  if (equal.length > 0) console.log(`  equal      ${equal.join(', ')}`);
  for (const { part, verdict, reason } of rows.filter((row) => row.verdict !== 'equal')) {
    if (reason === undefined) console.log(`  ${verdict.toUpperCase().padEnd(10)} ${part}`);
    else console.log(`  intended   ${part} (${verdict}): ${reason}`);
  }
}

function showing(rows, base, here) {
  for (const { job, part, verdict } of rows) {
    if (verdict === 'different') console.log(`  diff ${base.contentFile(job, part)} ${here.contentFile(job, part)}`);
  }
}

async function compare(names) {
  if (options.base === undefined) throw new Error('Give --base DIR, a built clone to compare with.');
  const base = baseSide(resolve(options.base));
  const here = new Side({ checkout: ROOT, folder: temporary(), workers: options.workers });
  for (const { checkout } of [base, here]) needsBuilt(checkout);
  const intended = JSON.parse(readFileSync(INTENDED, 'utf8'));
  const all = [];
  await forEach(names, async (name) => {
    const before = await base.outcome(name);
    const after = await failing(name, here.outcome(name));
    const rows = comparison(name, before.parts, after.parts, intended);
    printed(name, rows, before, after);
    if (options.keep) showing(rows, base, here);
    all.push(...rows);
  });
  const different = all.filter(({ verdict }) => verdict !== 'equal');
  const open = different.filter(({ written }) => written === undefined);
  const used = new Set(different.map(({ written }) => written));
  const stale = options.only === '*' ? intended.filter((one) => !used.has(one)) : [];
  for (const { job, part } of stale)
    console.log(`\nNo longer different: ${job}, ${part} (scripts/intended-differences.json)`);
  console.log(
    `\n${all.length} parts: ${all.length - different.length} equal, ${different.length - open.length} intended, ${open.length} different`,
  );
  return open.length === 0 ? 0 : 1;
}

/** A job that fails here and not there is a difference, and the others are still compared. */
async function failing(name, outcome) {
  try {
    return await outcome;
  } catch (error) {
    console.error(`\n${name} failed: ${error.message}`);
    return { parts: {}, seconds: 0 };
  }
}

function needsBuilt(checkout) {
  if (!existsSync(join(checkout, 'dist', 'cli.js')))
    throw new Error(`${checkout} is not built: run node scripts/setup.mjs there.`);
}

async function writeGolden() {
  needsBuilt(ROOT);
  const side = new Side({ checkout: ROOT, folder: temporary() });
  const golden = {};
  for (const name of GOLDEN_JOBS) {
    golden[name] = await goldenParts(side, name);
    console.log(`${name}: ${Object.keys(golden[name]).length} parts`);
  }
  writeFileSync(GOLDEN_FILE, `${JSON.stringify(golden, null, 2)}\n`);
  return 0;
}

async function main() {
  const patterns = options.only.split(',');
  const names = JOBS.map(({ name }) => name).filter((name) => patterns.some((pattern) => matches(pattern, name)));
  if (options.help) console.log(HELP);
  else if (options.list) console.log(names.join('\n'));
  else if (options['write-golden']) return await writeGolden();
  else if (names.length === 0) throw new Error(`No job is called "${options.only}"; --list names them.`);
  else return await compare(names);
  return 0;
}

try {
  process.exitCode = await main();
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
} finally {
  for (const folder of temporaries) {
    if (options.keep) console.error(`Kept: ${folder}`);
    else rmSync(folder, { recursive: true, force: true });
  }
}
