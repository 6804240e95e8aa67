// Return after so many real steps by defaults alone: the dream ÷ the best baseline, which is the one of four with the highest mean
// return over the seeds: SAC at one update a real step, SAC at as many as the dream, REDQ and DroQ. Scenarios say `env` and nothing
// else. Kept case by case, as warm-start.default.

import { learners } from '../src/rl/learners.js';
import type { BenchmarkContext, BenchmarkModule, Measurement } from './benchmark.js';
import { bootstrap, mean } from './measure.js';
import { chosen, measuredCase, type StudyCase, studyOf } from './study-cases.js';

const SEEDS = ['50', '51', '52', '53', '54'];

/** Real steps: few, as REDQ takes the gradient steps of ten critics twenty times for each. */
const BUDGET = 5_000;

const DREAM = 'dream';
const ARMS: Readonly<Record<string, readonly string[]>> = {
  [DREAM]: [],
  'SAC, 1 update': ['train.mode=real'],
  'SAC, as many updates': ['replay.realRatio=1'],
  REDQ: learner('redq'),
  DroQ: learner('droq'),
};

/** @param body folder of `benchmarks/bodies` */
export function dreamVsBest(body: string): BenchmarkModule {
  return { run: (context) => measure(body, context) };
}

/** With the updates a real step of its paper. */
function learner(name: string): string[] {
  return ['train.mode=real', `rl.algorithm=${name}`, `train.updatesPerStep=${learners.get(name).updatesPerStep}`];
}

async function measure(body: string, { quick, root, log }: BenchmarkContext): Promise<Measurement> {
  const study = await studyOf(root, `dream-vs-best.${body}`, quick);
  const seeds = (quick ? ['50'] : chosen(SEEDS, 'REVERIE_BENCH_SEEDS')).map(Number);
  const arms = quick ? [DREAM, 'SAC, 1 update'] : Object.keys(ARMS);
  const budget = quick ? 1200 : BUDGET;
  const cases: StudyCase[] = [];
  for (const seed of seeds) {
    for (const arm of arms) {
      cases.push(await measuredCase(study, root, { body, arm, seed, budget, set: ARMS[arm] }, log));
    }
  }
  const returns = new Map(
    arms.map((arm) => [arm, cases.filter((one) => one.arm === arm).map(({ lastReturn }) => lastReturn!)]),
  );
  const places = seeds.map((_, i) => i);
  return {
    ...bootstrap(places, (drawn) => ratioOf(returns, drawn)),
    n: seeds.length,
    raw: { body, seeds, budget, returns: Object.fromEntries(returns), cases },
  };
}

/** Mean returns of the seeds at these places: the dream's over the best baseline's. */
function ratioOf(returns: ReadonlyMap<string, readonly number[]>, places: readonly number[]): number {
  const average = (arm: string) => mean(places.map((place) => returns.get(arm)![place]));
  const baselines = [...returns.keys()].filter((arm) => arm !== DREAM);
  return average(DREAM) / Math.max(...baselines.map(average));
}
