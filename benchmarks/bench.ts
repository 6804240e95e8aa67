// Entry of `npm run bench -- ID [--quick]` and `--list`. Progress goes to stderr; the last line on stdout is the result
// as one JSON object, which is also kept in benchmarks/results/ unless the run was quick.

import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { nearest, ReverieError, reverieError } from '../src/core/errors.js';
import { type EvaluationSet, evaluationSetOf } from '../src/core/evaluation-set.js';
import { writeFileAtomic } from '../src/core/files.js';
import { versions } from '../src/run/versions.js';
import type { BenchmarkEntry, Measurement } from './benchmark.js';
import { describeMachine } from './machine.js';
import { BENCHMARKS } from './registry.js';

async function main(): Promise<void> {
  const { id, quick, list } = readArguments(process.argv.slice(2));
  if (list) return printList();
  const entry = Object.hasOwn(BENCHMARKS, id) ? BENCHMARKS[id] : undefined;
  if (!entry)
    throw reverieError('SETTING_INVALID', {
      problem: `No benchmark is called "${id}".`,
      hint: `Did you mean "${nearest(id, Object.keys(BENCHMARKS))}"? \`npm run bench -- --list\` names all.`,
    });
  const root = repositoryRoot();
  const log = (line: string): void => console.error(`[${id}] ${line}`);
  const { run } = await entry.load();
  const measurement = await run({ quick, root, log });
  const evaluationSet = evaluationSetFor(id, entry, measurement);
  const result = { ...summarise(id, entry, measurement), evaluationSet: evaluationSet.hash };
  if (!quick) {
    tellDifferences(root, id, evaluationSet, log);
    await keep(root, result, measurement, evaluationSet);
  }
  console.log(JSON.stringify(result));
}

function readArguments(words: string[]): { id: string; quick: boolean; list: boolean } {
  const options = { quick: { type: 'boolean', default: false }, list: { type: 'boolean', default: false } } as const;
  try {
    const { values, positionals } = parseArgs({ args: words, options, allowPositionals: true });
    if (positionals.length === (values.list ? 0 : 1)) return { id: positionals[0] ?? '', ...values };
  } catch {
    // Unknown flags and wrong counts alike end in the usage below.
  }
  throw reverieError('SETTING_INVALID', {
    problem: `Cannot run benchmarks with: ${words.join(' ') || 'no arguments'}`,
    hint: 'Usage: npm run bench -- ID [--quick], or npm run bench -- --list.',
  });
}

function printList(): void {
  const width = Math.max(...Object.keys(BENCHMARKS).map((id) => id.length));
  for (const [id, { title }] of Object.entries(BENCHMARKS)) console.log(`${id.padEnd(width)}  ${title}`);
}

function summarise(id: string, { unit, baseline }: BenchmarkEntry, { value, low, high, n }: Measurement) {
  return { id, value, low, high, unit, n, baseline, machine: describeMachine() };
}

/** Whoever is compared with, and the packages that can move a figure, belong to it; our own commit is what is measured. */
function evaluationSetFor(
  id: string,
  { unit, baseline }: BenchmarkEntry,
  { evaluationSet = {}, raw, versions: peers }: Measurement,
) {
  const { reverie: _, node: __, ...packages } = versions();
  const { environment = {}, tasks = [], seeds = seedsIn(raw), policies = {}, settings = {} } = evaluationSet;
  return evaluationSetOf({
    environment: { benchmark: id, unit, ...packages, ...(environment as object) },
    tasks,
    seeds,
    policies: { baseline, ...peers, ...policies },
    settings,
  });
}

function seedsIn({ seeds }: Measurement['raw']): readonly number[] {
  const isList = Array.isArray(seeds) && seeds.every((seed) => typeof seed === 'number');
  return isList ? (seeds as number[]) : [];
}

/** The result that is kept is of another evaluation set: its figure and this one say nothing of each other. */
function tellDifferences(root: string, id: string, evaluationSet: EvaluationSet, log: (line: string) => void): void {
  const file = join(root, 'benchmarks', 'results', `${id}.json`);
  const kept = existsSync(file)
    ? (JSON.parse(readFileSync(file, 'utf8')).evaluationSet as EvaluationSet | undefined)
    : undefined;
  if (kept === undefined || kept.hash === evaluationSet.hash) return;
  log(
    `the result kept before is of evaluation set ${kept.hash}, this one of ${evaluationSet.hash}: compare the files' "evaluationSet"`,
  );
}

async function keep(
  root: string,
  result: object & { id: string },
  measurement: Measurement,
  evaluationSet: EvaluationSet,
) {
  const folder = join(root, 'benchmarks', 'results');
  mkdirSync(folder, { recursive: true });
  const kept = {
    ...result,
    evaluationSet,
    command: `npm run bench -- ${result.id}`,
    date: new Date().toISOString(),
    versions: { reverie: versions().reverie, commit: commit(root), ...measurement.versions },
    raw: measurement.raw,
  };
  await writeFileAtomic(join(folder, `${result.id}.json`), `${JSON.stringify(kept, null, 2)}\n`);
}

function commit(root: string): string {
  try {
    return execFileSync('git', ['rev-parse', '--short', 'HEAD'], { cwd: root, encoding: 'utf8' }).trim();
  } catch {
    return 'unknown';
  }
}

/** The folder of package.json at or above this file, which runs from dist-bench. */
function repositoryRoot(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, 'package.json'))) folder = dirname(folder);
  return folder;
}

main().catch((error: unknown) => {
  const text = error instanceof ReverieError ? `${error.code}: ${error.message}\n${error.hint}` : error;
  console.error(text);
  process.exitCode = 1;
});
