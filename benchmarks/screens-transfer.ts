// What is a dream of screens worth to a policy? For each of twelve of MiniWoB++'s tasks, one learns in a dream of records of so many real
// episodes, and one in as many real episodes; both are judged on seeds that neither saw. The value is the success of the first over that
// of the second, both as means over tasks and seeds; a third learns in ten times the real episodes. The same of an application, TiddlyWiki
// in Chromium, at fewer episodes, as each opens a server: beside the value, in `raw`. Kept case by case; SCREENS_TRANSFER_WORLDS, SCREENS_TASKS (of
// MiniWoB++), SCREENS_TRANSFER_SEEDS and SCREENS_TRANSFER_ARMS name some. Without the third arm there is no figure against it; without MiniWoB++
// the value is the application's.

import { join } from 'node:path';
import type { BenchmarkContext, Measurement } from './benchmark.js';
import { bootstrap, type Interval, mean } from './measure.js';
import { LEARNT_TASKS } from './miniwob-pages.js';
import { chosen, studyOf } from './study-cases.js';
import { measuredText, type TextCase } from './text-cases.js';

const SEEDS = ['1', '2', '3', '4', '5'];
const ARMS = ['dream', 'real', 'real, ten times'] as const;
type Arm = (typeof ARMS)[number];

interface World {
  /** Folder in benchmarks/bodies. */
  readonly scenario: string;
  readonly tasks: readonly string[];
  readonly arms: readonly Arm[];
  /** Episodes of a round, as the scenario has them. */
  readonly round: number;
  readonly realRounds: number;
  readonly dreamRounds: number;
  /** Beside the rounds, to see that it runs. */
  readonly quick: readonly string[];
}

const WORLDS: Readonly<Record<string, World>> = {
  miniwob: {
    ...{ scenario: 'screens', tasks: LEARNT_TASKS, arms: ARMS },
    ...{ round: 32, realRounds: 4, dreamRounds: 20, quick: [] },
  },
  // The one of its tasks that chance does now and then: it takes one click.
  tiddlywiki: {
    ...{ scenario: 'notebook', tasks: ['tick-note'], arms: ['dream', 'real'] },
    ...{ round: 16, realRounds: 2, dreamRounds: 24 },
    quick: ['train.tasksPerRound=1', 'train.groupSize=2', 'train.evalTasks=1', 'domain.seeds=1'],
  },
};

export async function run({ quick, root, log }: BenchmarkContext): Promise<Measurement> {
  const study = await studyOf<TextCase>(root, 'screens.transfer', quick);
  const worlds = chosen(Object.keys(WORLDS), 'SCREENS_TRANSFER_WORLDS');
  const seeds = quick ? ['1'] : chosen(SEEDS, 'SCREENS_TRANSFER_SEEDS');
  const arms = chosen(ARMS, 'SCREENS_TRANSFER_ARMS') as readonly Arm[];
  if (!arms.includes('dream') || !arms.includes('real')) throw new Error('SCREENS_TRANSFER_ARMS needs "dream,real"');
  const found: Record<string, TextCase[]> = Object.fromEntries(worlds.map((world) => [world, []]));
  for (const seed of seeds) {
    for (const world of worlds) {
      const sitting = { study, log, scenario: join(root, 'benchmarks', 'bodies', WORLDS[world].scenario) };
      for (const body of tasksOf(world, quick)) {
        for (const arm of arms.filter((one) => WORLDS[world].arms.includes(one))) {
          const set = [`domain.screens=[${body}]`, ...settingsOf(WORLDS[world], arm, quick)];
          found[world].push(await measuredText(sitting, { body, arm, seed: Number(seed), set }));
        }
      }
    }
  }
  return measurementOf(found, arms.includes('real, ten times'), log);
}

function tasksOf(world: string, quick: boolean): readonly string[] {
  const { tasks } = WORLDS[world];
  if (world !== 'miniwob') return tasks;
  return quick ? tasks.slice(1, 2) : chosen(tasks, 'SCREENS_TASKS');
}

/** As many real episodes for the dream as for the policy that learns in the page. */
function settingsOf(world: World, arm: Arm, quick: boolean): string[] {
  const rounds = quick ? 1 : world.realRounds;
  const own = quick ? world.quick : [];
  if (arm !== 'dream') return ['train.mode=real', `train.rounds=${arm === 'real' ? rounds : 10 * rounds}`, ...own];
  const episodes = own.length > 0 ? 2 : rounds * world.round;
  const gather = `{episodes: ${episodes}, heldOut: 0, agent: {kind: random, steps: 4, offered: true}}`;
  return [
    'model.backends=[lifted, mechanics]',
    'train.mode=dream',
    `train.rounds=${quick ? 2 : world.dreamRounds}`,
    `train.gather=${gather}`,
    ...own,
  ];
}

function measurementOf(
  { miniwob, ...applications }: Readonly<Record<string, TextCase[]>>,
  hasThird: boolean,
  log: BenchmarkContext['log'],
): Measurement {
  const others = Object.entries(applications).map(([name, cases]) => [name, comparisonOf(cases)] as const);
  const cases = miniwob ?? Object.values(applications).flat();
  const value = ratio(cases, 'real');
  if (!Number.isFinite(value.value)) log('What learned for real won nothing: there is no ratio to tell.');
  const raw = {
    cases: miniwob ?? [],
    ...(miniwob !== undefined && hasThird && { againstTenTimes: ratio(miniwob, 'real, ten times') }),
    ...(others.length > 0 && { applications: Object.fromEntries(others) }),
  };
  return { ...value, n: cases.filter(({ arm }) => arm === 'dream').length, raw };
}

/** Of an application, over seeds: where little is won for real the difference says more than the ratio, which may have no end. */
function comparisonOf(cases: readonly TextCase[]) {
  const pairs = pairsOf(cases, 'real');
  const { value, low, high } = ratio(cases, 'real');
  const [ratioValue, ratioLow, ratioHigh] = [value, low, high].map((one) => (Number.isFinite(one) ? one : null));
  return {
    ratio: { value: ratioValue, low: ratioLow, high: ratioHigh },
    difference: bootstrap(
      pairs.map(([dream, real]) => dream - real),
      mean,
    ),
    ...{ before: mean(cases.map(({ before }) => before)), dream: mean(pairs.map(([dream]) => dream)) },
    ...{ real: mean(pairs.map(([, real]) => real)), n: pairs.length, cases },
  };
}

/** Success of the dream over that of another arm, with an interval over tasks and seeds. */
function ratio(cases: readonly TextCase[], baseline: Arm): Interval {
  const pairs = pairsOf(cases, baseline);
  const over = (resample: readonly number[]) =>
    mean(resample.map((i) => pairs[i][0])) / mean(resample.map((i) => pairs[i][1]));
  return bootstrap(
    pairs.map((_, i) => i),
    over,
  );
}

/** Success of the dream and of another arm, by task and seed. */
function pairsOf(cases: readonly TextCase[], baseline: Arm): (readonly [number, number])[] {
  return cases
    .filter(({ arm }) => arm === 'dream')
    .map((dream) => {
      const other = cases.find(
        ({ body, arm, seed }) => body === dream.body && arm === baseline && seed === dream.seed,
      )!;
      return [dream.success, other.success] as const;
    });
}
