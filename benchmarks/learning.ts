// What a dream is worth to a learner of numbers, by training runs that are kept case by case (study-cases.ts), so that a study goes on where
// it was: with bodies, budgets and arms as parameters. REVERIE_BENCH_BODIES, REVERIE_BENCH_SEEDS and REVERIE_BENCH_ARMS (separated by
// semicolons, as names of arms have commas) choose what a sitting measures. Bodies are folders of `benchmarks/bodies`, whose scenarios
// say `env`, some of them `threshold`, and nothing else.

import { Rng } from '../src/core/rng.js';
import { environments } from '../src/env/environments.js';
import type { BenchmarkContext, BenchmarkModule } from './benchmark.js';
import { bootstrap, mean, median } from './measure.js';
import { areaOf, chosen, measuredCase, type StudyCase, studyOf } from './study-cases.js';
import { UNLEARNABLE } from './unlearnable.js';

/** As results have them: curves are in the study's file. */
const withoutCurves = (cases: readonly StudyCase[]) => cases.map(({ points: _, ...run }) => run);

type Arms = Readonly<Record<string, readonly string[]>>;

const SEEDS = ['50', '51', '52', '53', '54'];
const RESAMPLES = 10_000;
const DREAM = 'dream';
const SAC_ONCE = { 'SAC, 1 update': ['train.mode=real'] };
const SAC_TWENTY = { 'SAC, 20 updates': ['train.mode=real', 'train.updatesPerStep=20'] };
const onReal = (name: string) => ['train.mode=real', `rl.algorithm=${name}`];
const SIMBA = { SimBa: onReal('simba') };
const SAC_AS_MANY = { 'SAC, as many updates': ['replay.realRatio=1'] };

interface Asked {
  readonly id: string;
  readonly bodies: readonly string[];
  readonly budgets: readonly number[];
  readonly arms: Arms;
}

/** Every body, budget and arm with every seed. Seeds outside: after any part of the time, all have been given about the same. */
async function casesOf({ id, bodies, budgets, arms }: Asked, { quick, root, log }: BenchmarkContext) {
  const study = await studyOf(root, id, quick);
  const seeds = (quick ? ['50'] : chosen(SEEDS, 'REVERIE_BENCH_SEEDS')).map(Number);
  const names = quick ? Object.keys(arms) : chosen(Object.keys(arms), 'REVERIE_BENCH_ARMS', ';');
  const cases: (StudyCase & { readonly budget: number })[] = [];
  for (const seed of seeds) {
    for (const budget of budgets) {
      for (const body of bodies) {
        for (const arm of names)
          cases.push({
            ...(await measuredCase(study, root, { body, arm, seed, budget, set: arms[arm] }, log)),
            budget,
          });
      }
    }
  }
  return { seeds, names, cases };
}

/** To the threshold, or a return of `least`. A run that never got there counts as its whole budget. */
function stepsOf(cases: readonly StudyCase[], body: string, arm: string, least?: number): number[] {
  const own = cases.filter((one) => one.body === body && one.arm === arm);
  return own.map(({ realStepsToThreshold, realSteps, points }) => {
    const reached = least === undefined ? realStepsToThreshold : points.find(([, found]) => found >= least)?.[0];
    return reached ?? realSteps;
  });
}

/** The 95 % interval of what `of` makes of values drawn again, of each list by itself. */
function resampled(of: (drawn: (values: readonly number[]) => readonly number[]) => number) {
  const rng = Rng.fromSeed(0).split('bootstrap');
  const draw = (values: readonly number[]) => values.map(() => values[rng.int(values.length)]);
  const found = Float64Array.from({ length: RESAMPLES }, () => of(draw)).sort();
  const at = (share: number) => found[Math.round(share * (RESAMPLES - 1))];
  return { value: of((values) => values), low: at(0.025), high: at(0.975) };
}

/** The last five are bodies that no scenario of the repository trains by its own settings, but for the beam. */
const TEN_BODIES = [
  ...['pendulum', 'reacher', 'swing-up', 'inverted-pendulum', 'ball-beam'],
  ...['inverted-double-pendulum', 'swimmer', 'acrobot', 'two-carts', 'point-mass'],
];

/**
 * Real steps to threshold by defaults alone: the best of four baselines (SAC at 1 and 20 updates a real step, and at as many as the dream;
 * SimBa) ÷ the dream; medians over seeds, and the geometric mean over bodies.
 */
export const warmStart: BenchmarkModule = {
  async run(context) {
    const bodies = context.quick ? ['pendulum'] : chosen(TEN_BODIES, 'REVERIE_BENCH_BODIES');
    const arms: Arms = { [DREAM]: [], ...SAC_ONCE, ...SAC_TWENTY, ...SAC_AS_MANY, ...SIMBA };
    const budget = context.quick ? 300 : 10_000;
    const { seeds, cases } = await casesOf({ id: 'warm-start.default', bodies, budgets: [budget], arms }, context);
    const bodyRatio = (body: string, drawn: (values: readonly number[]) => readonly number[]) => {
      const steps = (arm: string) => median([...drawn(stepsOf(cases, body, arm))]);
      const baselines = Object.keys(arms).filter((arm) => arm !== DREAM);
      return Math.min(...baselines.map(steps)) / steps(DREAM);
    };
    const overBodies = resampled((drawn) => Math.exp(mean(bodies.map((body) => Math.log(bodyRatio(body, drawn))))));
    const ratios = Object.fromEntries(bodies.map((body) => [body, bodyRatio(body, (values) => values)]));
    return { ...overBodies, n: seeds.length, raw: { bodies, seeds, budget, ratios, cases: withoutCurves(cases) } };
  },
};

const DREAMS: Arms = { [DREAM]: [], 'dream, SimBa': ['rl.algorithm=simba'] };
/** Ours by their defaults: what is compared is the best of them. */
const OURS: Arms = { ...DREAMS, planner: ['rl.algorithm=pets'] };

const BASELINES: Arms = {
  ...SAC_ONCE,
  ...SAC_TWENTY,
  REDQ: onReal('redq'),
  DroQ: onReal('droq'),
  ...SIMBA,
};

/**
 * Area under the curve of returns over real steps by defaults alone: the dream or the planner ÷ the best baseline, each the one with the
 * largest mean area over the seeds.
 */
export function dreamVsBest(body: string): BenchmarkModule {
  return {
    async run(context) {
      const arms = context.quick ? { [DREAM]: [], ...SAC_ONCE } : { ...OURS, ...BASELINES };
      const { seeds, names, ours, baselines, budget, cases } = await curvesOf(body, arms, OURS, context);
      const areas = Object.fromEntries(
        names.map((arm) => [arm, cases.filter((one) => one.arm === arm).map(({ points }) => areaOf(points))]),
      );
      const found = bootstrap([...seeds.keys()], (places) => {
        const best = (own: readonly string[]) =>
          Math.max(...own.map((arm) => mean(places.map((place) => areas[arm][place]))));
        return best(ours) / best(baselines);
      });
      return { ...found, n: seeds.length, raw: { body, seeds, budget, areas, cases: withoutCurves(cases) } };
    },
  };
}

/** Returns of ten episodes every 1,000 real steps to 30,000, of `own` and of baselines. */
async function curvesOf(body: string, arms: Arms, own: Arms, context: BenchmarkContext) {
  const budget = context.quick ? 1200 : 30_000;
  const each = [`train.evalEvery=${context.quick ? 300 : 1_000}`, 'train.evalEpisodes=10'];
  const withEach = Object.fromEntries(Object.entries(arms).map(([arm, own]) => [arm, [...own, ...each]]));
  const asked = { id: `dream-vs-best.${body}`, bodies: [body], budgets: [budget], arms: withEach };
  const found = await casesOf(asked, context);
  const ours = found.names.filter((arm) => arm in own);
  const baselines = found.names.filter((arm) => !(arm in own));
  if (ours.length === 0 || baselines.length === 0)
    throw new Error(`The cases are kept; a ratio takes one of ${Object.keys(own).join('; ')} and a baseline.`);
  return { budget, ours, baselines, ...found };
}

/** Returns that only a hopper reaches which moves on: standing still brings about 1,050. */
const HOPS = [1_500, 2_500];

/**
 * Real steps of hopper to a return: the best baseline, by its published settings or by the defaults of the dream ÷ the better dream by
 * its defaults; medians over seeds, the lesser of two returns. A run that never got there counts as its whole budget. The runs by defaults
 * are those of `dream-vs-best.hopper`.
 */
export const mbpoHopper: BenchmarkModule = {
  async run(context) {
    const published: Arms = {
      'SAC, 1 update, published': ['train.mode=real', 'rl.preset=sac'],
      'SAC, 20 updates, published': ['train.mode=real', 'rl.preset=sac', 'train.updatesPerStep=20'],
      'REDQ, published': ['train.mode=real', 'rl.preset=redq'],
      'DroQ, published': ['train.mode=real', 'rl.preset=droq'],
    };
    const arms = context.quick ? { [DREAM]: [], ...SAC_ONCE } : { ...DREAMS, ...BASELINES, ...published };
    const { seeds, names, ours, baselines, budget, cases } = await curvesOf('hopper', arms, DREAMS, context);
    const byReturn = HOPS.map((least) => {
      const steps = (arm: string) => stepsOf(cases, 'hopper', arm, least);
      const ratio = resampled((drawn) => {
        const middle = (arm: string) => median([...drawn(steps(arm))]);
        return Math.min(...baselines.map(middle)) / Math.min(...ours.map(middle));
      });
      return { least, ...ratio, steps: Object.fromEntries(names.map((arm) => [arm, steps(arm)])) };
    });
    const { value, low, high } = byReturn.reduce((a, b) => (b.value < a.value ? b : a));
    return { value, low, high, n: seeds.length, raw: { seeds, budget, byReturn, cases: withoutCurves(cases) } };
  },
};

/**
 * What a dream costs where the world cannot be learned: return with the dream by its defaults ÷ without it, at as many real steps and
 * updates, on worlds made to be unlearnable. Measured while policies are still on their way, and again (in `raw`) once they have learned
 * all there is, where a dream could only unlearn.
 */
export const dreamHarm: BenchmarkModule = {
  async run(context) {
    for (const entry of UNLEARNABLE) if (!environments.has(entry.name)) environments.register(entry);
    const bodies = context.quick ? ['shuffled'] : chosen(['shuffled', 'chaos'], 'REVERIE_BENCH_BODIES');
    const budgets = context.quick ? [200] : [300, 3000];
    const arms: Arms = { [DREAM]: [], 'real rows, as many updates': ['replay.realRatio=1'] };
    const { seeds, cases } = await casesOf({ id: 'dream.harm', bodies, budgets, arms }, context);
    const byBudget = budgets.map((budget) => {
      const own = cases.filter((one) => one.budget === budget);
      const dreams = own.filter(({ arm }) => arm === DREAM);
      const ratios = dreams.map(({ body, seed, lastReturn }) => {
        const without = own.find((one) => one.arm !== DREAM && one.body === body && one.seed === seed);
        return (lastReturn ?? 0) / (without?.lastReturn ?? 1);
      });
      return { budget, ...bootstrap(ratios, mean), ratios, cases: withoutCurves(own) };
    });
    const [{ value, low, high, ratios }] = byBudget;
    return { value, low, high, n: ratios.length, raw: { bodies, seeds, byBudget } };
  },
};

/** What a plan must see: a swing up takes longer than a pendulum's push. */
const PLANNED = [
  { body: 'pendulum', sac: ['train.updatesPerStep=1'], pets: ['rl.horizon=30'] },
  { body: 'cartpole-swingup', sac: ['train.updatesPerStep=2'], pets: ['rl.horizon=40', 'rl.candidates=64'] },
];

/**
 * Real steps to threshold: SAC from scratch ÷ an agent that plans in the model it learns (PETS, by iCEM), on the scenarios of these names.
 * Not paired: per body the ratio of medians; the value is the lesser body's. Both are evaluated as often, by as many episodes.
 */
export const plannerSteps: BenchmarkModule = {
  async run({ quick, root, log }) {
    const study = await studyOf(root, 'planner.steps', quick);
    const seeds = (quick ? ['100'] : chosen(['100', '101', '102', '103', '104'], 'REVERIE_BENCH_SEEDS')).map(Number);
    const shared = ['train.evalEvery=100', 'train.evalEpisodes=3', 'train.initialRandomSteps=200'];
    const found = [];
    for (const { body, sac, pets } of PLANNED) {
      const arms = quick
        ? { sac: ['train.mode=real'], planner: ['rl.algorithm=pets', 'rl.horizon=3', 'train.evalEpisodes=1'] }
        : {
            sac: [...shared, 'train.mode=real', 'train.stepsPerRound=50', ...sac],
            planner: [...shared, 'rl.algorithm=pets', 'train.stepsPerRound=100', ...pets],
          };
      const cases: StudyCase[] = [];
      for (const seed of seeds) {
        for (const [arm, set] of Object.entries(arms)) {
          const budget = quick ? 300 : arm === 'sac' ? 12_000 : 2_000;
          const named = { scenario: body, ...(quick && { profile: 'smoke' }) };
          cases.push(await measuredCase(study, root, { body, arm, seed, budget, set, ...named }, log));
        }
      }
      const ratio = resampled((drawn) => {
        const steps = (arm: string) => median([...drawn(stepsOf(cases, body, arm))]);
        return steps('sac') / steps('planner');
      });
      found.push({ body, ...ratio, cases });
    }
    const { value, low, high } = found.reduce((a, b) => (b.value < a.value ? b : a));
    return { value, low, high, n: seeds.length, raw: { seeds, bodies: found } };
  },
};
