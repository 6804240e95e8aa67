// Do policies rank in the dream as they do for real? Full reports on learned ensembles of bodies, and on worlds of tools by a
// language model whose error is known, each with a ladder of policies lived in both. The pages are kept beside the figures.
//
// Thirty policies a ladder, five seeds a scenario. A scenario's figure is the mean of its first model's over seeds. Kept case by
// case (study-cases.ts): REVERIE_BENCH_BODIES and REVERIE_BENCH_SEEDS (comma-separated) choose what this sitting measures, REVERIE_BENCH_DEVICE what
// bodies are trained on.

import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Json } from '../src/core/canonical-json.js';
import { canonicalJson, sha256 } from '../src/core/canonical-json.js';
import type { FidelityReport, SectionId } from '../src/fidelity/report.js';
import type { Estimate } from '../src/fidelity/statistics.js';
import { loadAnyScenario } from '../src/run/scenario.js';
import type { BenchmarkContext, Measurement } from './benchmark.js';
import { startControlledServer } from './controlled-server.js';
import {
  BODIES,
  type Body,
  ladderSettings,
  TOOLS,
  type ToolsWorld,
  TRANSITION_ERROR,
  toolsSettings,
} from './fidelity-cases.js';
import { reportIn, runJob } from './fidelity-runs.js';
import { bootstrap, type Interval, mean } from './measure.js';
import { keepFidelityReport } from './pages.js';
import { askedDevice, type CaseName, chosen, type Study, studyOf } from './study-cases.js';

const RANK = ['spearman', 'pearson', 'mmrv', 'mmrv-share', 'regret-at-1', 'spearman-ceiling', 'return-gap'];
const HORIZON = ['trusted-steps', 'step-error'];
const SEEDS = ['11', '12', '13', '14', '15'];

interface Judged {
  readonly scenario: string;
  readonly seed: number;
  readonly subject: string;
  /** By `section.metric`. */
  readonly metrics: Readonly<Record<string, Estimate | undefined>>;
  readonly ladder: readonly (readonly string[])[];
}

/** A line of the study: one scenario, one seed. */
interface JudgedCase extends CaseName {
  /** The models, that which users would take first. */
  readonly judged: readonly Judged[];
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
  /** What it is trained on, where anything is. */
  readonly device: ReturnType<typeof askedDevice>;
  /** Answers the folder of the report. */
  readonly measure: (place: Place) => Promise<string>;
}

export async function run({ quick, root, log }: BenchmarkContext): Promise<Measurement> {
  const folder = await mkdtemp(join(tmpdir(), 'reverie-rank-'));
  const study = await studyOf<JudgedCase>(root, 'fidelity.rank', quick);
  const seeds = (quick ? SEEDS.slice(0, 1) : chosen(SEEDS, 'REVERIE_BENCH_SEEDS')).map(Number);
  const judged: Judged[] = [];
  try {
    const cases = chosenCases(casesOf(quick, log));
    for (const seed of seeds) {
      const place = { root, folder: join(folder, String(seed)), quick, seed };
      await mkdir(place.folder);
      for (const one of cases) {
        const found = await judgedCase(one, place, study);
        for (const each of found) log(`${each.scenario}, seed ${seed}, ${each.subject}: ${rankText(each)}`);
        judged.push(...found);
      }
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  return measurementOf(judged, seeds);
}

function chosenCases(cases: readonly Case[]): Case[] {
  const names = chosen(
    cases.map(({ scenario }) => scenario),
    'REVERIE_BENCH_BODIES',
  );
  return cases.filter(({ scenario }) => names.includes(scenario));
}

function measurementOf(judged: readonly Judged[], seeds: readonly number[]): Measurement {
  const scenarios = [...new Set(judged.map(({ scenario }) => scenario))].map((scenario) => ({
    scenario,
    ...firstOf(judged.filter((one) => one.scenario === scenario)),
  }));
  const { value, low, high } = scenarios.reduce((a, b) => (b.value < a.value ? b : a));
  return {
    value,
    low,
    high,
    n: seeds.length,
    // Ladders are in the study's file.
    raw: {
      scenarios,
      judged: judged.map(({ ladder: _, ...one }) => one),
      transitionErrorOfTools: TRANSITION_ERROR,
      seeds,
    },
  };
}

/** Spearman's correlation of a scenario's first model, that which users would take: mean over seeds, or the only one's own interval. */
function firstOf(judged: readonly Judged[]): Interval {
  const firsts = judged.filter(({ seed }, i) => judged.findIndex((one) => one.seed === seed) === i);
  if (firsts.length > 1) return bootstrap(firsts.map(rho), mean);
  const { low, high } = firsts[0].metrics['rank.spearman'] ?? {};
  return { value: rho(firsts[0]), low: low ?? -1, high: high ?? 1 };
}

function casesOf(quick: boolean, log: (line: string) => void): Case[] {
  const bodies = (quick ? BODIES.slice(0, 1) : BODIES).map(
    (body): Case => ({
      ...{ scenario: body.scenario, settings: [...body.train], device: askedDevice() },
      measure: (place) => judgeBody(body, place),
    }),
  );
  const worlds = toolsWorlds(quick, log).map(
    (world): Case => ({
      ...{ scenario: world.scenario, settings: { ...world }, device: {} },
      measure: (place) => judgeTools(world, place),
    }),
  );
  return [...bodies, ...worlds];
}

/** The case as it is kept, or judged now and kept. */
async function judgedCase(
  { scenario, settings, measure, device }: Case,
  place: Place,
  study: Study<JudgedCase>,
): Promise<readonly Judged[]> {
  const { root, quick, seed } = place;
  const own = (await loadAnyScenario(scenario)).hash;
  const hash = sha256(canonicalJson([own, settings, ladderSettings(quick)]));
  const name = { body: scenario, arm: 'ladder', seed, hash, ...device };
  const kept = study.find(name);
  if (kept) return kept.judged;
  const out = await measure(place);
  if (!quick && String(seed) === SEEDS[0]) await keepFidelityReport(root, out, scenario);
  const judged = judgedOf(await reportIn(out), seed);
  await study.keep({ ...name, judged });
  return judged;
}

async function judgeBody({ scenario, train }: Body, { folder, quick, seed }: Place): Promise<string> {
  const lived = join(folder, `${scenario}-train`);
  const shrunk = ['train.realSteps=600', 'train.initialRandomSteps=400', 'train.evalEpisodes=1'];
  await runJob({
    job: 'train',
    scenario,
    set: [...train, ...(quick ? shrunk : [])],
    seed,
    out: lived,
    ...askedDevice(),
  });
  const made = join(folder, `${scenario}-model`);
  const model = train.includes('train.mode=real')
    ? await runJob({ job: 'fit', scenario, seed, inputs: { data: lived }, out: made, ...askedDevice() })
    : lived;
  const out = join(folder, `${scenario}-judged`);
  const set = [...ladderSettings(quick), ...(quick ? ['fidelity.transitions=500', 'fidelity.rank.episodes=2'] : [])];
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
    const set = [...toolsSettings(world, { url: server.url, seed, data, quick }), ...ladderSettings(quick)];
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
