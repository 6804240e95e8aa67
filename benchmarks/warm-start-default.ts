// Real steps to threshold by defaults alone, on ten bodies whose scenarios say `env` and `threshold` and nothing else: the best of two
// baselines (SAC at one update a real step, and at as many as the dream) ÷ the dream. Five seeds; medians; the value is the
// geometric mean over bodies. A run that never got there counts as its whole budget. Cases are kept one by one (study-cases.ts):
// REVERIE_BENCH_BODIES and REVERIE_BENCH_SEEDS (comma-separated) choose what this sitting measures.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Rng } from '../src/core/rng.js';
import { launch, loadScenario, type TrainResult } from '../src/run/index.js';
import type { BenchmarkContext, Measurement } from './benchmark.js';
import { median } from './measure.js';
import { chosen, Study, type StudyCase } from './study-cases.js';

const ID = 'warm-start.default';

/** The last five are bodies that no scenario of the repository trains by its own settings, but for the beam. */
const BODIES = [
  ...['pendulum', 'reacher', 'swing-up', 'inverted-pendulum', 'ball-beam'],
  ...['inverted-double-pendulum', 'swimmer', 'acrobot', 'two-carts', 'point-mass'],
];
const SEEDS = ['50', '51', '52', '53', '54'];

const DREAM = 'dream';
const ARMS: Readonly<Record<string, readonly string[]>> = {
  [DREAM]: [],
  'SAC, 1 update': ['train.mode=real'],
  'SAC, as many updates': ['replay.realRatio=1'],
};

const BUDGET = 15_000;
const RESAMPLES = 10_000;

export async function run({ quick, root, log }: BenchmarkContext): Promise<Measurement> {
  const study = await studyOf(root, ID, quick);
  const bodies = quick ? ['pendulum'] : chosen(BODIES, 'REVERIE_BENCH_BODIES');
  const seeds = (quick ? ['50'] : chosen(SEEDS, 'REVERIE_BENCH_SEEDS')).map(Number);
  const cases: StudyCase[] = [];
  // Seeds outside: after any part of the time, bodies and arms have been given about the same.
  for (const seed of seeds) {
    for (const body of bodies) {
      for (const arm of Object.keys(ARMS))
        cases.push(
          await measuredCase(study, root, { body, arm, seed, budget: quick ? 300 : BUDGET, set: ARMS[arm] }, log),
        );
    }
  }
  const ratio = (of: (values: readonly number[]) => readonly number[]) =>
    geometricMean(bodies.map((body) => bodyRatio(cases, body, of)));
  const rng = Rng.fromSeed(0).split('bootstrap');
  const resampled = Float64Array.from({ length: RESAMPLES }, () =>
    ratio((values) => values.map(() => values[rng.int(values.length)])),
  ).sort();
  const ratios = Object.fromEntries(bodies.map((body) => [body, bodyRatio(cases, body, (values) => values)]));
  return {
    value: ratio((values) => values),
    low: resampled[Math.round(0.025 * (RESAMPLES - 1))],
    high: resampled[Math.round(0.975 * (RESAMPLES - 1))],
    n: seeds.length,
    raw: { bodies, seeds, budget: BUDGET, ratios, cases },
  };
}

/** What is quick measures nothing, and nothing of it is kept. */
export async function studyOf(root: string, id: string, quick: boolean): Promise<Study> {
  return new Study(quick ? await mkdtemp(join(tmpdir(), 'reverie-study-')) : root, id);
}

export interface AskedCase {
  readonly body: string;
  readonly arm: string;
  readonly seed: number;
  readonly budget: number;
  readonly set: readonly string[];
}

/** The case as it is kept, or measured now and kept. */
export async function measuredCase(
  study: Study,
  root: string,
  { body, arm, seed, budget, set: own }: AskedCase,
  log: BenchmarkContext['log'],
): Promise<StudyCase> {
  const folder = join(root, 'benchmarks', 'bodies', body);
  const set = [`train.realSteps=${budget}`, 'train.stopAtThreshold=true', ...own];
  const { hash } = await loadScenario(folder, { set });
  const kept = study.find({ body, arm, seed, hash });
  if (kept) return kept;
  const out = await mkdtemp(join(tmpdir(), 'reverie-study-'));
  try {
    const result = await launch<TrainResult>('train', {
      ...{ scenario: folder, set, seed, out: join(out, 'run'), quiet: true },
      ...{ stream: process.stderr, command: 'npm run bench' },
    });
    const { realStepsToThreshold, realSteps, wallSeconds, evaluations, dream } = result;
    const lastReturn = evaluations.at(-1)?.meanReturn ?? null;
    const figures = { realStepsToThreshold, realSteps, lastReturn, wallSeconds, shutRounds: dream?.shutRounds ?? 0 };
    const found = { body, arm, seed, hash, ...figures };
    await study.keep(found);
    const steps = realStepsToThreshold ?? `not in ${realSteps}`;
    log(`${body}, ${arm}, seed ${seed}: ${steps} real steps, return ${lastReturn}, ${Math.round(wallSeconds)} s`);
    return found;
  } finally {
    await rm(out, { recursive: true, force: true });
  }
}

/** Median steps of the better baseline over the dream's, of seeds as `of` draws them. */
function bodyRatio(
  cases: readonly StudyCase[],
  body: string,
  of: (values: readonly number[]) => readonly number[],
): number {
  const steps = (arm: string) => {
    const own = cases.filter((one) => one.body === body && one.arm === arm);
    return median([...of(own.map(({ realStepsToThreshold, realSteps }) => realStepsToThreshold ?? realSteps))]);
  };
  const baselines = Object.keys(ARMS).filter((arm) => arm !== DREAM);
  return Math.min(...baselines.map(steps)) / steps(DREAM);
}

function geometricMean(values: readonly number[]): number {
  return Math.exp(values.reduce((sum, value) => sum + Math.log(value), 0) / values.length);
}
