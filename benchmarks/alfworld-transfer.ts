// What is a dream of ALFWorld worth to an agent of language that has few real episodes? All arms imitate the same walkthroughs. Then one
// learns in a dream made of these and of an explorer's episodes; one, for as many real steps, in the games themselves; and one in the
// games for ten times these. The value is how much of valid_seen the first wins beyond the better of the two that had no more real steps,
// imitation alone being the other: pairs of the same seed. Kept case by case.

import type { BenchmarkContext, Measurement } from './benchmark.js';
import { bootstrap, mean } from './measure.js';
import { chosen, studyOf } from './study-cases.js';
import { measuredText, type TextCase } from './text-cases.js';

const SEEDS = ['11', '12', '13', '14', '15'];

/** What is learned after imitation. Five tasks of eight episodes are as many real steps as the explorer takes, or a few more. */
const ARMS = {
  dream: ['train.mode=dream', 'train.rounds=10'],
  real: ['train.mode=real', 'train.rounds=1', 'train.tasksPerRound=5'],
  'real, ten times': ['train.mode=real', 'train.rounds=10', 'train.tasksPerRound=5'],
} as const;
type Arm = keyof typeof ARMS;

const COMMON = ['train.evalTasks=60', 'train.checkEpisodes=20'];
const QUICK = [
  ...['train.domain.games=2', 'domain.games=1', 'train.cloneTasks=2', 'train.cloneEpochs=1', 'train.groupSize=2'],
  ...[
    'train.evalTasks=1',
    'train.checkEpisodes=1',
    'train.rounds=1',
    'train.gather.episodes=2',
    'train.tasksPerRound=1',
  ],
];

export async function run({ quick, root, log }: BenchmarkContext): Promise<Measurement> {
  const study = await studyOf<TextCase>(root, 'alfworld.transfer', quick);
  const sitting = { study, log, scenario: 'alfworld', profile: 'quick' };
  const seeds = (quick ? ['1'] : chosen(SEEDS, 'ALFWORLD_TRANSFER_SEEDS')).map(Number);
  const arms = quick ? names() : (chosen(names(), 'ALFWORLD_TRANSFER_ARMS') as readonly Arm[]);
  const cases: TextCase[] = [];
  for (const seed of seeds) {
    for (const arm of arms) {
      const set = [...ARMS[arm], ...(quick ? QUICK : COMMON)];
      cases.push(await measuredText(sitting, { body: 'valid_seen', arm, seed, set }));
    }
  }
  const rows = seeds.flatMap((seed) => {
    const of = (arm: Arm) => cases.find((one) => one.seed === seed && one.arm === arm);
    const [dream, real, tenTimes] = [of('dream'), of('real'), of('real, ten times')];
    if (dream === undefined || real === undefined) return [];
    return [{ imitation: dream.imitated!, dream: dream.success, real: real.success, tenTimes: tenTimes?.success }];
  });
  if (rows.length === 0)
    throw new Error('ALFWORLD_TRANSFER_ARMS leaves nothing to compare: dream and real are needed.');
  const overImitation = rows.map(({ dream, imitation }) => dream - imitation);
  const overReal = rows.map(({ dream, real }) => dream - real);
  const overTenTimes = rows.flatMap(({ dream, tenTimes }) => (tenTimes === undefined ? [] : [dream - tenTimes]));
  const strongest = mean(overImitation) < mean(overReal) ? overImitation : overReal;
  const raw = {
    ...{ cases, rows, overImitation: bootstrap(overImitation, mean), overReal: bootstrap(overReal, mean) },
    ...(overTenTimes.length > 0 && { overTenTimes: bootstrap(overTenTimes, mean) }),
  };
  return { ...bootstrap(strongest, mean), n: rows.length, raw };
}

function names(): Arm[] {
  return Object.keys(ARMS) as Arm[];
}
