// Real steps to threshold by defaults alone, on ten bodies whose scenarios say `env` and `threshold` and nothing else: the best of three
// baselines (SAC at 1 and 20 updates a real step, and at as many as the dream) ÷ the dream. Five seeds; medians; the value is the
// geometric mean over bodies. A run that never got there counts as its whole budget. Cases are kept one by one (study-cases.ts):
// REVERIE_BENCH_BODIES and REVERIE_BENCH_SEEDS (comma-separated) choose what this sitting measures.

import { Rng } from '../src/core/rng.js';
import type { BenchmarkContext, Measurement } from './benchmark.js';
import { median } from './measure.js';
import { chosen, measuredCase, type StudyCase, studyOf } from './study-cases.js';

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
  'SAC, 20 updates': ['train.mode=real', 'train.updatesPerStep=20'],
  'SAC, as many updates': ['replay.realRatio=1'],
};

/** Real steps. Enough for the better baseline on every body. */
const BUDGET = 10_000;
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
