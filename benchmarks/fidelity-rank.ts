// Do policies rank in the dream as they do for real? Full reports on learned ensembles of bodies, and on worlds of tools by a
// language model whose error is known, each with a ladder of policies lived in both. The pages are kept beside the figures.
//
// REVERIE_BENCH_SEEDS=3 judges one body and all worlds of tools with as many seeds. What is judged is kept case by case, and a
// benchmark that was stopped goes on with the next.

import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { reverieError } from '../src/core/errors.js';
import type { Json } from '../src/core/json.js';
import { type Estimate, type FidelityReport, readFidelityReport, type SectionId } from '../src/fidelity/index.js';
import type { BenchmarkContext, Measurement } from './benchmark.js';
import { startControlledServer } from './controlled-server.js';
import { BODIES, type Body, TOOLS, type ToolsWorld, TRANSITION_ERROR, toolsSettings } from './fidelity-cases.js';
import { runJob } from './fidelity-runs.js';
import { type KeptCases, keptCases, NOTHING_KEPT } from './kept-cases.js';
import { keepFidelityReport } from './pages.js';

const RANK = ['spearman', 'kendall', 'pearson', 'mmrv', 'mmrv-share', 'regret-at-1', 'spearman-ceiling', 'return-gap'];
const HORIZON = ['trusted-steps', 'step-error', 'return-bound', 'return-bound-ratio', 'success-bound'];
const FIRST_SEED = 11;

interface Judged {
  readonly scenario: string;
  readonly seed: number;
  readonly subject: string;
  /** By `section.metric`. */
  readonly metrics: Readonly<Record<string, Estimate | undefined>>;
  readonly ladder: readonly (readonly string[])[];
}

interface Place {
  readonly root: string;
  readonly folder: string;
  readonly quick: boolean;
  readonly seed: number;
}

/** One model or several of one scenario, by one seed. */
interface Case {
  readonly scenario: string;
  readonly settings: Json;
  readonly isRepeated: boolean;
  /** Answers the folder of the report. */
  readonly measure: (place: Place) => Promise<string>;
}

export async function run({ quick, root, log }: BenchmarkContext): Promise<Measurement> {
  const folder = await mkdtemp(join(tmpdir(), 'reverie-rank-'));
  const kept = quick ? NOTHING_KEPT : keptCases(root, 'fidelity.rank', log);
  const seeds = seedsOf(process.env['REVERIE_BENCH_SEEDS']);
  const judged: Judged[] = [];
  try {
    const cases = casesOf(quick, log);
    for (const seed of seeds) {
      const place = { root, folder: join(folder, String(seed)), quick, seed };
      await mkdir(place.folder);
      for (const one of cases) {
        if (seed !== FIRST_SEED && !one.isRepeated) continue;
        const found = await judgedCase(one, place, kept);
        for (const each of found) log(`${each.scenario}, seed ${seed}, ${each.subject}: ${rankText(each)}`);
        judged.push(...found);
      }
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  return measurementOf(judged, seeds);
}

/** @throws BENCHMARK_USAGE where it is no number of seeds */
function seedsOf(asked = '1'): number[] {
  const count = Number(asked);
  if (!Number.isInteger(count) || count < 1)
    throw reverieError('BENCHMARK_USAGE', { arguments: `REVERIE_BENCH_SEEDS=${asked}` });
  return Array.from({ length: count }, (_, i) => FIRST_SEED + i);
}

function measurementOf(judged: readonly Judged[], seeds: readonly number[]): Measurement {
  // The first model of each scenario is the one that users would take.
  const isFirst = (one: Judged, i: number) =>
    judged.findIndex(({ scenario, seed }) => scenario === one.scenario && seed === one.seed) === i;
  const firsts = judged.filter(isFirst);
  const worst = firsts.reduce((a, b) => (rho(b) < rho(a) ? b : a)).metrics['rank.spearman'];
  return {
    value: worst?.value ?? 0,
    low: worst?.low ?? -1,
    high: worst?.high ?? 1,
    n: firsts.length,
    raw: { judged, transitionErrorOfTools: TRANSITION_ERROR, seeds },
  };
}

function casesOf(quick: boolean, log: (line: string) => void): Case[] {
  const bodies = (quick ? BODIES.slice(0, 1) : BODIES).map(
    (body): Case => ({
      ...{ scenario: body.scenario, settings: [...body.train], isRepeated: body.isRepeated === true },
      measure: (place) => judgeBody(body, place),
    }),
  );
  const worlds = toolsWorlds(quick, log).map(
    (world): Case => ({
      ...{ scenario: world.scenario, settings: { ...world }, isRepeated: true },
      measure: (place) => judgeTools(world, place),
    }),
  );
  return [...bodies, ...worlds];
}

function judgedCase({ scenario, settings, measure }: Case, place: Place, kept: KeptCases): Promise<Judged[]> {
  const { root, quick, seed } = place;
  return kept.of(`${scenario}-${seed}`, [settings, seed], async () => {
    const out = await measure(place);
    if (!quick && seed === FIRST_SEED) await keepFidelityReport(root, out, scenario);
    return judgedOf(await readFidelityReport(join(out, 'fidelity.json')), seed);
  });
}

async function judgeBody({ scenario, train }: Body, { folder, quick, seed }: Place): Promise<string> {
  const lived = join(folder, `${scenario}-train`);
  const shrunk = ['train.realSteps=600', 'train.initialRandomSteps=400', 'train.evalEpisodes=1'];
  await runJob({ job: 'train', scenario, set: [...train, ...(quick ? shrunk : [])], seed, out: lived });
  const made = join(folder, `${scenario}-model`);
  const model = train.includes('train.mode=real')
    ? await runJob({ job: 'fit', scenario, seed, inputs: { data: lived }, out: made })
    : lived;
  const out = join(folder, `${scenario}-judged`);
  const set = quick ? ['fidelity.transitions=500', 'fidelity.rank.episodes=2'] : [];
  return runJob({ job: 'fidelity', scenario, set, seed, inputs: { model, checkpoint: lived }, out });
}

/** Those whose data are here: τ-bench's are given by path. */
function toolsWorlds(quick: boolean, log: (line: string) => void): readonly ToolsWorld[] {
  const shared = process.env['REVERIE_SHARED_DATA'];
  if (shared === undefined) log('tau-airline is left out: REVERIE_SHARED_DATA names no folder of its data');
  const here = TOOLS.filter(({ data }) => data === undefined || shared !== undefined);
  return quick ? here.slice(0, 1) : here;
}

async function judgeTools(world: ToolsWorld, { root, folder, quick, seed }: Place): Promise<string> {
  const data = world.data && join(process.env['REVERIE_SHARED_DATA']!, world.data);
  const server = await startControlledServer(world.scenario, data ?? join(root, 'packs', world.scenario));
  try {
    const out = join(folder, `${world.scenario}-judged`);
    const set = toolsSettings(world, { url: server.url, seed, data, quick });
    return await runJob({ job: 'fidelity', scenario: world.scenario, set, seed, out });
  } finally {
    server.close();
  }
}

function judgedOf({ scenario, subjects }: FidelityReport, seed: number): Judged[] {
  return subjects.map(({ name, sections }) => {
    const section = (id: SectionId) => sections.find((one) => one.id === id);
    const estimates = (id: SectionId, keys: readonly string[]) =>
      keys.map((key) => [`${id}.${key}`, section(id)?.metrics.find((metric) => metric.key === key)?.estimate] as const);
    const metrics = Object.fromEntries([...estimates('rank', RANK), ...estimates('horizon', HORIZON)]);
    const ladder = section('rank')?.tables.flatMap(({ columns, rows }) => [columns, ...rows]) ?? [];
    return { scenario, seed, subject: name, metrics, ladder };
  });
}

function rho({ metrics }: Judged): number {
  return metrics['rank.spearman']?.value ?? -1;
}

function rankText({ metrics }: Judged): string {
  const text = (key: string) => {
    const { value = null, low = null, high = null } = metrics[key] ?? {};
    return value === null ? 'not counted' : `${value.toFixed(3)} [${low?.toFixed(3)}, ${high?.toFixed(3)}]`;
  };
  return `Spearman ${text('rank.spearman')}, MMRV ${text('rank.mmrv-share')} of the range`;
}
