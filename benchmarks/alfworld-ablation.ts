// What does the dream of ALFWorld's agent owe to each of its parts? The quick profile imitates walkthroughs, makes a dream of them and of an
// explorer's episodes, and lives ten rounds in it; each arm has one thing otherwise: fewer or more episodes that the dream is made of, fewer
// walkthroughs, an explorer that tries nothing in vain, some rounds in the games, a curriculum, a value model in the dream's place. The
// value is what ten dreamt rounds add to imitation, as the profile has it; each arm's share of games won lies beside it. Kept case by case.

import type { BenchmarkContext, Measurement } from './benchmark.js';
import { bootstrap, mean } from './measure.js';
import { chosen, studyOf } from './study-cases.js';
import { measuredOrRefused, type TextCase } from './text-cases.js';

const SEEDS = ['11', '12', '13', '14', '15'];

const AS_IT_IS = 'as it is';
const ARMS: Readonly<Record<string, readonly string[]>> = {
  [AS_IT_IS]: [],
  // The dream is made of so many episodes of the explorer, beside the walkthroughs.
  'explorer 5': ['train.gather.episodes=5'],
  'explorer 72': ['train.gather.episodes=72'],
  'no explorer': ['train.gather.agent={kind: reference}'],
  // What is imitated, and what the dream is made of beside the explorer's.
  'walkthroughs 10': ['train.cloneTasks=10'],
  'walkthroughs 40': ['train.cloneTasks=40'],
  // Rounds that are lived in the games, evenly between the dreamt ones.
  'dreamt 3/4': ['train.dreamShare=0.75'],
  'dreamt 1/2': ['train.dreamShare=0.5'],
  'dreamt 1/4': ['train.dreamShare=0.25'],
  'dreamt 0': ['train.dreamShare=0'],
  // Answers that are not nearly certain end a dreamt episode.
  'sure alone': ['train.model.operators.minConfidence=0.9'],
  curriculum: ['train.grow={}'],
  // No next state is dreamt: what recorded choices came to says what others are worth (VEM).
  'value model': ['train.mode=value'],
};

const BODY = 'valid_seen, 160 games';
const COMMON = [
  ...['train.mode=dream', 'train.rounds=10', 'train.evalEvery=10', 'train.evalTasks=60', 'train.checkEpisodes=20'],
  'rl.algorithm=gigpo',
];
const QUICK = [
  ...['train.domain.games=4', 'train.cloneTasks=2', 'train.cloneEpochs=1', 'train.groupSize=2', 'train.evalTasks=1'],
  ...[
    'train.rounds=2',
    'train.evalEvery=2',
    'train.gather.episodes=2',
    'train.tasksPerRound=1',
    'train.checkEpisodes=1',
  ],
];

export async function run({ quick, root, log }: BenchmarkContext): Promise<Measurement> {
  const study = await studyOf<TextCase>(root, 'alfworld.ablation', quick);
  const sitting = { study, log, scenario: 'alfworld', profile: 'quick' };
  const seeds = (quick ? ['1'] : chosen(SEEDS, 'ALFWORLD_ABLATION_SEEDS')).map(Number);
  const arms = quick ? [AS_IT_IS, 'dreamt 1/2'] : chosen(Object.keys(ARMS), 'ALFWORLD_ABLATION_ARMS');
  if (!arms.includes(AS_IT_IS))
    throw new Error(`ALFWORLD_ABLATION_ARMS must have "${AS_IT_IS}", which is compared with.`);
  const cases: TextCase[] = [];
  for (const seed of seeds) {
    for (const arm of arms) {
      const set = [...COMMON, ...(quick ? QUICK : []), ...ARMS[arm]];
      const lived = cases.find((one) => one.seed === seed && one.arm === AS_IT_IS);
      cases.push(await measuredOrRefused(sitting, { body: BODY, arm, seed, set }, lived));
    }
  }
  const rows = arms.map((arm) => rowOf(arm, cases));
  const whole = cases.filter(({ arm }) => arm === AS_IT_IS);
  return { ...bootstrap(whole.map(added), mean), n: whole.length, raw: { rows, cases } };
}

/** What an arm came to, and how that differs from the profile as it is on the same seeds. */
function rowOf(arm: string, cases: readonly TextCase[]) {
  const own = cases.filter((one) => one.arm === arm);
  const differences = own.map((one) => {
    const whole = cases.find(({ arm: other, seed }) => other === AS_IT_IS && seed === one.seed)!;
    return one.success - whole.success;
  });
  const checks = own.flatMap(({ check }) => (check === undefined ? [] : [check]));
  return {
    arm,
    imitated: mean(own.map(({ imitated = 0 }) => imitated)),
    success: mean(own.map(({ success }) => success)),
    realSteps: mean(own.map(({ realSteps }) => realSteps)),
    /** Value models that were no better than a constant: the policy stayed as it was after imitation. */
    refused: own.filter(({ isRefused }) => isRefused).length,
    /** Share of the last check's episodes that were one with the games to their end. */
    alike: checks.length === 0 ? null : mean(checks.map(({ alike, episodes }) => alike / episodes)),
    ...(arm !== AS_IT_IS && { minusAsItIs: bootstrap(differences, mean) }),
  };
}

function added({ imitated = 0, success }: TextCase): number {
  return success - imitated;
}
