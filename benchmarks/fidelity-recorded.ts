// How far are worlds of tools from what a real environment answered, once upon a time? τ-bench's airline, held against
// recorded conversations of GPT-4o with it, answered by the router, with each tier off, and by a language model whose error
// is known in three ways alone. The page is kept beside the figures.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FidelityReport, SubjectReport } from '../src/fidelity/report.js';
import type { BenchmarkContext, Measurement } from './benchmark.js';
import { startControlledServer } from './controlled-server.js';
import { ROUTER, TOOLS, type ToolsWorld, TRANSITION_ERROR, toolsSettings } from './fidelity-cases.js';
import { judge } from './fidelity-runs.js';
import { keepFidelityReport } from './pages.js';

const WORLD: ToolsWorld = { ...TOOLS.find(({ scenario }) => scenario === 'tau-airline')!, backends: ROUTER };
const RECORDED = 'trajectories-gpt-4o.jsonl';
const SEED = 11;
const QUESTIONS = 300;
const EPISODES = 40;

export async function run({ quick, root, log }: BenchmarkContext): Promise<Measurement> {
  const shared = process.env['REVERIE_SHARED_DATA'];
  if (shared === undefined) throw new Error('REVERIE_SHARED_DATA names no folder of the data of τ-bench');
  const data = join(shared, WORLD.data!);
  const folder = await mkdtemp(join(tmpdir(), 'reverie-recorded-'));
  const server = await startControlledServer(WORLD.scenario, data);
  try {
    const out = join(folder, 'judged');
    const report = await judge({
      scenario: WORLD.scenario,
      set: [...toolsSettings(WORLD, { url: server.url, seed: SEED, data, quick }), ...recordedSettings(data, quick)],
      seed: SEED,
      out,
    });
    for (const subject of report.subjects) log(`${subject.name}: ${JSON.stringify(valuesOf(subject))}`);
    if (!quick) await keepFidelityReport(root, out, `${WORLD.scenario}-recorded`);
    return measurementOf(report);
  } finally {
    server.close();
    await rm(folder, { recursive: true, force: true });
  }
}

/** Records of the task at hand are shown to nobody who is asked about it. */
function recordedSettings(data: string, quick: boolean): string[] {
  return [
    `experience.logs=[${JSON.stringify(join(data, RECORDED))}]`,
    'fidelity.truth=recorded',
    `fidelity.questions=${quick ? 10 : QUESTIONS}`,
    `fidelity.episodes=${quick ? 3 : EPISODES}`,
    'fidelity.sections=[one-step, k-steps, calibration, horizon]',
  ];
}

function measurementOf({ subjects, truth }: FidelityReport): Measurement {
  const { value, low, high, n } = estimatesOf(subjects[0])['one-step.observation-exact'];
  const judged = subjects.map((subject) => ({ subject: subject.name, metrics: estimatesOf(subject) }));
  const raw = { judged, truth, transitionErrorOfModel: TRANSITION_ERROR, seed: SEED };
  return { value: value ?? 0, low: low ?? 0, high: high ?? 1, n, raw };
}

function estimatesOf({ sections }: SubjectReport) {
  return Object.fromEntries(
    sections.flatMap(({ id, metrics }) => metrics.map(({ key, estimate }) => [`${id}.${key}`, estimate] as const)),
  );
}

function valuesOf(subject: SubjectReport) {
  const wanted = ['state-exact', 'observation-exact', 'error-flag'].map((key) => `one-step.${key}`);
  const estimates = estimatesOf(subject);
  return Object.fromEntries(wanted.map((key) => [key, estimates[key]?.value]));
}
