// Does work survive being killed? The real command line lives episodes with language models behind a slow server and is
// killed (SIGKILL) at random moments, again and again, going on each time; no row may be lost or doubled, and what comes
// out must be, byte for byte, what an undisturbed run makes. Last, the run is made again from its cache, server gone.

import { existsSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Rng } from '../src/core/rng.js';
import { loadToolsScenario } from '../src/run/scenario.js';
import { startControlledModel } from '../test/controlled/controlled-model.js';
import { nativeDomain } from '../test/controlled/native-domain.js';
import { fileHashes, halfWritten } from '../test/e2e/reverie.js';
import type { BenchmarkContext, Measurement } from './benchmark.js';
import { runCommand } from './command-line.js';
import { type RowHashes, requireGrowth, requireWhole, rowsOnDisk, runStatus } from './synth-kills-checks.js';

const EPISODES = 120;
const WORKERS = 8;
const SLOW_MS = 40;
/**
 * Milliseconds after a start within which it is killed, at first. Where a start got no further the next has longer, where
 * it did, shorter: so about half of the kills hit live work, whatever else the machine does.
 */
const FIRST_REACH = 3_000;
const LEAST_REACH = 500;
const LONGER = 1.2;
const SHORTER = 0.9;
/** Progress is told after so many kills. */
const TOLD = 20;

interface Job {
  readonly root: string;
  readonly folder: string;
  readonly episodes: number;
  readonly log: (line: string) => void;
}

/** Where a kill hit. */
type Moment = 'before anything was kept' | 'while episodes were lived' | 'while datasets were written';

interface Kill {
  readonly run: number;
  readonly afterMilliseconds: number;
  readonly moment: Moment;
  /** Rows that were durable then. */
  readonly rows: number;
  /** Whether the journal's last record was torn. */
  readonly isTorn: boolean;
}

export async function run({ quick, root, log }: BenchmarkContext): Promise<Measurement> {
  const wanted = quick ? 5 : 200;
  const folder = mkdtempSync(join(tmpdir(), 'reverie-kills-'));
  const job: Job = { root, folder, episodes: quick ? 30 : EPISODES, log };
  const server = await startControlledModel({
    domain: await nativeDomain('helpdesk', (await loadToolsScenario('helpdesk')).folder),
    seed: 3,
    transitionError: 0.1,
    agentError: 0.1,
    malformedJson: 0.02,
    slowMs: SLOW_MS,
    server: { keepRequests: false },
  });
  try {
    const started = performance.now();
    await finish(job, [...begin(job, server.url, 'whole')]);
    const wholeSeconds = (performance.now() - started) / 1000;
    log(`undisturbed: ${wholeSeconds.toFixed(1)} s`);
    const expected = made(job, 'whole');
    const kills: Kill[] = [];
    let runs = 0;
    while (kills.length < wanted) {
      await killedRun(job, server.url, { run: runs++, wanted, kills });
      requireSame(job, `killed-${runs - 1}`, expected);
      log(`${kills.length} kills; run ${runs} came out the same`);
    }
    await server.close();
    await replayed(job, expected);
    rmSync(folder, { recursive: true, force: true });
    return result(kills, { runs, wholeSeconds, files: Object.keys(expected).length, episodes: job.episodes });
  } catch (error) {
    // What is left is all there is to find out by.
    throw new Error(`${(error as Error).message}; the runs are kept in ${folder}: ${left(folder)}`, { cause: error });
  } finally {
    await server.close().catch(() => {});
  }
}

/** What lies in a folder and in its journals, with sizes. */
function left(folder: string): string {
  if (!existsSync(folder)) return 'it is gone';
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) => /journal|run\./.test(file));
  return files.map((file) => `${file} ${statSync(join(folder, file)).size} B`).join(', ');
}

/** One run, killed until it gets to its end, or until there were enough kills. */
async function killedRun(
  job: Job,
  url: string,
  { run: index, wanted, kills }: { readonly run: number; readonly wanted: number; readonly kills: Kill[] },
): Promise<void> {
  const name = `killed-${index}`;
  const at = join(job.folder, name);
  const rng = Rng.fromSeed(17).split('kills', index);
  let before: RowHashes = new Map();
  let [reach, kept] = [FIRST_REACH, 0];
  for (let attempt = 0; runStatus(at) !== 'finished'; attempt++) {
    const args = existsSync(join(at, 'run.json')) ? ['synth', '--resume', name, '--quiet'] : begin(job, url, name);
    if (kills.length >= wanted) {
      await finish(job, args);
      continue;
    }
    const afterMilliseconds = rng.int(Math.round(reach));
    const { signal, code, stderr } = await runCommand(job.root, args, job.folder, afterMilliseconds);
    const { rows, isTorn } = await rowsOnDisk(join(at, 'journal'));
    requireGrowth(before, rows, `${name}, attempt ${attempt}`);
    if (signal === 'SIGKILL') {
      kills.push({ run: index, afterMilliseconds, moment: momentOf(at, before, rows), rows: rows.size, isTorn });
      if (kills.length % TOLD === 0) job.log(`${kills.length} kills; ${name} has ${rows.size} of ${job.episodes} rows`);
    } else if (code !== 0) throw new Error(`${name} ended with ${code} after it was killed: ${stderr}`);
    const keptNow = rows.size + bytesOf(join(at, 'cache', 'data.mdb'));
    reach = Math.max(LEAST_REACH, reach * (keptNow > kept ? SHORTER : LONGER));
    [before, kept] = [rows, keptNow];
  }
  await requireWhole(at, job.episodes);
}

function bytesOf(file: string): number {
  return existsSync(file) ? statSync(file).size : 0;
}

function momentOf(at: string, before: RowHashes, rows: RowHashes): Moment {
  if (existsSync(join(at, 'data'))) return 'while datasets were written';
  const isBegun = rows.size > 0 || before.size > 0 || existsSync(join(at, 'cache'));
  return isBegun ? 'while episodes were lived' : 'before anything was kept';
}

async function finish({ root, folder }: Job, args: readonly string[]): Promise<void> {
  const { code, stderr } = await runCommand(root, args, folder);
  if (code !== 0 || stderr !== '') throw new Error(`reverie ${args[0]} ended with ${code}: ${stderr}`);
}

/** Models for world, agent and user; exact code for nobody. */
function begin({ episodes }: Job, url: string, out: string, ...more: readonly string[]): string[] {
  const set = [
    'llm.provider=openai-compatible',
    `llm.url=${url}`,
    'llm.model=controlled',
    'model.backends=[llm]',
    'model.llm.retrieval.k=4',
    'agent.kind=llm',
    'user.kind=llm',
    'reward.mustFail.enabled=false',
    `synth.episodes=${episodes}`,
    'synth.export=[openai, sharegpt, parquet]',
    ...more,
  ];
  const flags = set.flatMap((one) => ['--set', one]);
  return ['synth', 'helpdesk', ...flags, '--quiet', '--workers', String(WORKERS), '--out', out];
}

/** The cache of a run that was killed many times answers all of it. */
async function replayed(job: Job, expected: Readonly<Record<string, string>>): Promise<void> {
  const cache = `cache=${join(job.folder, 'killed-0', 'cache')}`;
  const gone = 'http://127.0.0.1:9/v1';
  await finish(job, begin(job, gone, 'replayed', cache, 'llm.cache.mode=replay'));
  requireSame(job, 'replayed', expected);
  job.log('made again from the cache with the server gone');
}

/** What a run made for its user: nothing of when or how long. */
function made({ folder }: Job, run: string): Record<string, string> {
  const of = (part: string) =>
    Object.entries(fileHashes(join(folder, run, part))).map(([file, hash]) => [`${part}/${file}`, hash]);
  return Object.fromEntries([...of('data'), ...of('datasets')]);
}

function requireSame(job: Job, run: string, expected: Readonly<Record<string, string>>): void {
  const found = made(job, run);
  const files = [...new Set([...Object.keys(expected), ...Object.keys(found)])];
  const different = files.filter((file) => found[file] !== expected[file]);
  if (different.length > 0) throw new Error(`${run} differs from the undisturbed run in ${different.join(', ')}`);
  const left = halfWritten(join(job.folder, run));
  if (left.length > 0) throw new Error(`${run} left half-written files: ${left.join(', ')}`);
}

function result(kills: readonly Kill[], facts: Readonly<Record<string, number>>): Measurement {
  const moments: Partial<Record<Moment, number>> = {};
  for (const { moment } of kills) moments[moment] = (moments[moment] ?? 0) + 1;
  const torn = kills.filter(({ isTorn }) => isTorn).length;
  const value = kills.length;
  return { value, low: value, high: value, n: value, raw: { ...facts, moments, tornJournals: torn, kills } };
}
