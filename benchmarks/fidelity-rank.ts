// Do policies rank in the dream as they do for real? Full reports on learned ensembles of bodies, and on worlds of tools by a
// language model whose error is known, each with a ladder of policies lived in both. The pages are kept beside the figures.

import { copyFile, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Estimate, FidelityReport, SectionId } from '../src/fidelity/index.js';
import type { BenchmarkContext, Measurement } from './benchmark.js';
import { startControlledServer } from './controlled-server.js';
import { BODIES, type Body, TOOLS, type ToolsWorld, TRANSITION_ERROR, toolsSettings } from './fidelity-cases.js';
import { judge, runJob } from './fidelity-runs.js';

const RANK = ['spearman', 'kendall', 'pearson', 'mmrv', 'mmrv-share', 'regret-at-1', 'spearman-ceiling', 'return-gap'];
const HORIZON = ['trusted-steps', 'step-error', 'return-bound', 'return-bound-ratio', 'success-bound'];
const SEED = 11;

interface Judged {
  readonly scenario: string;
  readonly subject: string;
  /** By `section.metric`. */
  readonly metrics: Readonly<Record<string, Estimate | undefined>>;
  readonly ladder: readonly (readonly string[])[];
}

interface Place {
  readonly root: string;
  readonly folder: string;
  readonly quick: boolean;
}

export async function run({ quick, root, log }: BenchmarkContext): Promise<Measurement> {
  const folder = await mkdtemp(join(tmpdir(), 'reverie-rank-'));
  const judged: Judged[] = [];
  const keep = async (report: FidelityReport, out: string) => {
    judged.push(...judgedOf(report));
    for (const one of judgedOf(report)) log(`${one.scenario}, ${one.subject}: ${rankText(one)}`);
    if (!quick) await keepPage(root, out, report.scenario);
  };
  try {
    for (const body of quick ? BODIES.slice(0, 1) : BODIES) await judgeBody(body, { root, folder, quick }, keep);
    for (const world of await toolsWorlds(quick, log)) await judgeTools(world, { root, folder, quick }, keep);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  // The first model of each scenario is the one that users would take.
  const firsts = judged.filter(({ scenario }, i) => judged.findIndex((one) => one.scenario === scenario) === i);
  const worst = firsts.reduce((a, b) => (rho(b) < rho(a) ? b : a)).metrics['rank.spearman'];
  return {
    value: worst?.value ?? 0,
    low: worst?.low ?? -1,
    high: worst?.high ?? 1,
    n: firsts.length,
    raw: { judged, transitionErrorOfTools: TRANSITION_ERROR, seed: SEED },
  };
}

type Keep = (report: FidelityReport, out: string) => Promise<void>;

async function judgeBody({ scenario, train }: Body, { folder, quick }: Place, keep: Keep): Promise<void> {
  const lived = join(folder, `${scenario}-train`);
  const shrunk = ['train.realSteps=600', 'train.initialRandomSteps=400', 'train.evalEpisodes=1'];
  await runJob({ job: 'train', scenario, set: [...train, ...(quick ? shrunk : [])], seed: SEED, out: lived });
  const model = train.includes('train.mode=real')
    ? await runJob({
        job: 'fit',
        scenario,
        seed: SEED,
        inputs: { data: lived },
        out: join(folder, `${scenario}-model`),
      })
    : lived;
  const out = join(folder, `${scenario}-judged`);
  const set = quick ? ['fidelity.transitions=500', 'fidelity.rank.episodes=2'] : [];
  await keep(await judge({ scenario, set, seed: SEED, inputs: { model, checkpoint: lived }, out }), out);
}

/** Those whose data are here: τ-bench's are given by path. */
async function toolsWorlds(quick: boolean, log: (line: string) => void): Promise<readonly ToolsWorld[]> {
  const shared = process.env['REVERIE_SHARED_DATA'];
  if (shared === undefined) log('tau-airline is left out: REVERIE_SHARED_DATA names no folder of its data');
  const here = TOOLS.filter(({ data }) => data === undefined || shared !== undefined);
  return quick ? here.slice(0, 1) : here;
}

async function judgeTools(world: ToolsWorld, { root, folder, quick }: Place, keep: Keep): Promise<void> {
  const data = world.data && join(process.env['REVERIE_SHARED_DATA']!, world.data);
  const server = await startControlledServer(world.scenario, data ?? join(root, 'scenarios', world.scenario));
  try {
    const out = join(folder, `${world.scenario}-judged`);
    const set = toolsSettings(world, { url: server.url, seed: SEED, data, quick });
    await keep(await judge({ scenario: world.scenario, set, seed: SEED, out }), out);
  } finally {
    server.close();
  }
}

function judgedOf({ scenario, subjects }: FidelityReport): Judged[] {
  return subjects.map(({ name, sections }) => {
    const section = (id: SectionId) => sections.find((one) => one.id === id);
    const estimates = (id: SectionId, keys: readonly string[]) =>
      keys.map((key) => [`${id}.${key}`, section(id)?.metrics.find((metric) => metric.key === key)?.estimate] as const);
    const metrics = Object.fromEntries([...estimates('rank', RANK), ...estimates('horizon', HORIZON)]);
    const ladder = section('rank')?.tables.flatMap(({ columns, rows }) => [columns, ...rows]) ?? [];
    return { scenario, subject: name, metrics, ladder };
  });
}

async function keepPage(root: string, out: string, scenario: string): Promise<void> {
  const folder = join(root, 'benchmarks', 'results', 'fidelity');
  await mkdir(folder, { recursive: true });
  await copyFile(join(out, 'fidelity.html'), join(folder, `${scenario}.html`));
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
