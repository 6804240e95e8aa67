// How far are worlds of tools by a real and very small language model from the truth? The server at REVERIE_LLM_URL (name of
// the model: REVERIE_LLM_MODEL, or the first it lists) answers calls of the service desk, held against its rules, and of
// τ-bench's airline, held against recorded conversations: behind the router, and alone in three ways. Prompts are limited
// to what its window holds. Replies are kept, so that a benchmark that was stopped goes on where it was.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import type { FidelityReport } from '../src/fidelity/index.js';
import type { BenchmarkContext, Measurement } from './benchmark.js';
import { judge } from './fidelity-runs.js';
import { keepFidelityReport } from './pages.js';

const SEED = 1;
const REPLIES = join('benchmarks', '.cache', 'small-model', 'replies');
const SUBJECTS = [
  '{name: typed, model: {backends: [llm]}}',
  '{name: text with retrieval, model: {backends: [llm], llm: {mode: text}}}',
  '{name: text, model: {backends: [llm], llm: {mode: text, retrieval: {k: 0}}}}',
];

interface SmallWorld {
  readonly scenario: string;
  readonly questions: number;
  /** Four bytes each: a quarter to a third more by the model's own count, of 8,192 with the reply. */
  readonly promptTokens: number;
  /** Where its data lie among those that are given by path. */
  readonly data?: string;
}

const WORLDS: readonly SmallWorld[] = [
  { scenario: 'helpdesk', questions: 12, promptTokens: 1_600 },
  { scenario: 'tau-airline', questions: 8, promptTokens: 1_900, data: 'tau/airline' },
];

export async function run({ quick, root, log }: BenchmarkContext): Promise<Measurement> {
  const url = process.env['REVERIE_LLM_URL'];
  if (url === undefined) throw new Error('REVERIE_LLM_URL names no server');
  const model = process.env['REVERIE_LLM_MODEL'] ?? (await firstModel(url));
  const folder = await mkdtemp(join(tmpdir(), 'reverie-small-'));
  const reports: FidelityReport[] = [];
  try {
    for (const world of worldsHere(quick, log)) {
      const out = join(folder, world.scenario);
      const set = [...settingsOf(world, quick), `llm.url=${url}`, `llm.model=${JSON.stringify(model)}`];
      const cache = `cache=${JSON.stringify(join(root, REPLIES, world.scenario))}`;
      reports.push(await judge({ scenario: world.scenario, set: [...set, cache], seed: SEED, workers: 1, out }));
      if (!quick) await keepFidelityReport(root, out, `${world.scenario}-smollm2-135m`);
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  return measurementOf(reports, basename(model));
}

async function firstModel(url: string): Promise<string> {
  const reply = await fetch(`${url.replace(/\/$/, '')}/models`);
  const { data } = (await reply.json()) as { data: readonly { id: string }[] };
  return data[0].id;
}

function worldsHere(quick: boolean, log: (line: string) => void): readonly SmallWorld[] {
  const isHere = ({ data }: SmallWorld) => data === undefined || process.env['REVERIE_SHARED_DATA'] !== undefined;
  if (!WORLDS.every(isHere)) log('tau-airline is left out: REVERIE_SHARED_DATA names no folder of its data');
  return quick ? WORLDS.slice(0, 1) : WORLDS.filter(isHere);
}

/** One request at a time, and as long as it takes. */
function settingsOf({ questions, promptTokens, data }: SmallWorld, quick: boolean): string[] {
  const folder = data && join(process.env['REVERIE_SHARED_DATA']!, data);
  return [
    ...(folder === undefined ? [] : recordedSettings(folder)),
    'llm.provider=openai-compatible',
    'llm.timeoutSeconds=1800',
    'llm.deadlineSeconds=86000',
    'llm.concurrency=1',
    'model.backends=[rules, replay, llm]',
    'model.rules.tools=reads',
    `model.llm.promptTokens=${promptTokens}`,
    'model.llm.retrieval.k=3',
    'model.llm.retrieval.maxChars=400',
    'model.llm.maxTokens=256',
    `fidelity.subjects=[${SUBJECTS.join(', ')}]`,
    `fidelity.questions=${quick ? 1 : questions}`,
    'fidelity.sections=[one-step, calibration]',
  ];
}

function recordedSettings(data: string): string[] {
  const recorded = join(data, 'trajectories-gpt-4o.jsonl');
  return [
    `domain.data=${JSON.stringify(data)}`,
    'domain.release=tau1',
    `experience.logs=[${JSON.stringify(recorded)}]`,
    'fidelity.truth=recorded',
  ];
}

/** Calls that were answered all right: by the router, minus by the model alone as text, of the first world. */
function measurementOf(reports: readonly FidelityReport[], model: string): Measurement {
  const { comparisons, subjects } = reports[0];
  const { difference } = comparisons.find(
    ({ metric, first, second }) => metric === 'one-step.all-right' && first === subjects[0].name && second === 'text',
  )!;
  const { value, low, high, n } = difference;
  const worlds = WORLDS.map(({ scenario, promptTokens }) => ({ scenario, promptTokens }));
  const raw = { model, worlds, judged: reports.flatMap(judgedOf), seed: SEED };
  return { value: -(value ?? 0), low: -(high ?? 1), high: -(low ?? -1), n, raw };
}

function judgedOf({ scenario, subjects }: FidelityReport) {
  return subjects.map(({ name, sections }) => {
    const metrics = sections.flatMap(({ id, metrics: own }) =>
      own.map(({ key, estimate }) => [`${id}.${key}`, estimate] as const),
    );
    return { scenario, subject: name, metrics: Object.fromEntries(metrics) };
  });
}
