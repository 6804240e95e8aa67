// What is a dream of ALFWorld worth to an agent of language that has few real episodes? Both ways imitate the same 160 walkthroughs, and
// learn by GiGPO in more games than these. One lives all its rounds in the games. The other makes a dream of the walkthroughs and of 18
// episodes of an explorer, lives its rounds there, and then a few in the games. The value is how many times the real steps the first takes
// to a threshold that was named on another seed; beside it stands what the dream alone leads to, held against the games alone after ten
// times its real steps. Both ways begin in as many games; to know how a game begins takes no step. Kept case by case.

import type { BenchmarkContext, Measurement } from './benchmark.js';
import { bootstrap, mean, median } from './measure.js';
import { chosen, studyOf } from './study-cases.js';
import { measuredText, type TextCase } from './text-cases.js';
import { ratioOfMeans, transferRow } from './text-transfer.js';

const SEEDS = ['11', '12', '13', '14', '15'];

/** Share of the evaluation games won: between what imitation alone and ten dreamt rounds came to with seed 21. */
const THRESHOLD = 0.8;

const ROUNDS = { dream: 20, afterDream: 5, real: 40 };
const ARMS = {
  'dream then real': [
    ...['train.mode=dream-then-real', `train.rounds=${ROUNDS.dream}`, `train.realRounds=${ROUNDS.afterDream}`],
    'train.checkEpisodes=20',
  ],
  real: ['train.mode=real', `train.rounds=${ROUNDS.real}`],
} as const;
type Arm = keyof typeof ARMS;

const BODY = 'valid_seen, 640 games';
const COMMON = ['train.domain.games=640', 'train.evalTasks=60', 'train.evalEvery=5', 'rl.algorithm=gigpo'];
const QUICK = [
  ...['train.domain.games=4', 'train.cloneTasks=2', 'train.cloneEpochs=1', 'train.groupSize=2', 'train.evalTasks=1'],
  ...['train.rounds=1', 'train.evalEvery=1', 'train.gather.episodes=2', 'train.tasksPerRound=1'],
];

export async function run({ quick, root, log }: BenchmarkContext): Promise<Measurement> {
  const study = await studyOf<TextCase>(root, 'alfworld.transfer', quick);
  const sitting = { study, log, scenario: 'alfworld', profile: 'quick' };
  const seeds = (quick ? ['1'] : chosen(SEEDS, 'ALFWORLD_TRANSFER_SEEDS')).map(Number);
  const arms = quick ? names() : (chosen(names(), 'ALFWORLD_TRANSFER_ARMS') as readonly Arm[]);
  const cases: TextCase[] = [];
  for (const seed of seeds) {
    for (const arm of arms) {
      const set = [...ARMS[arm], ...COMMON, ...(quick ? [...QUICK, ...quickOf(arm)] : [])];
      cases.push(await measuredText(sitting, { body: BODY, arm, seed, set }));
    }
  }
  const pairs = seeds.flatMap((seed) => {
    const of = (arm: Arm) => cases.find((one) => one.seed === seed && one.arm === arm);
    const [dream, real] = [of('dream then real'), of('real')];
    return dream === undefined || real === undefined ? [] : [{ dream, real }];
  });
  const rows = pairs.map(({ dream, real }) => transferRow(dream, real, quick ? 0 : THRESHOLD));
  if (rows.length === 0) throw new Error('ALFWORLD_TRANSFER_ARMS leaves nothing to compare: both arms are needed.');
  const ratios = rows.flatMap(({ ratio }) => (ratio === null ? [] : [ratio]));
  const differences = rows.flatMap(({ dreamAlone, realAfterMore }) =>
    realAfterMore === null ? [] : [dreamAlone - realAfterMore],
  );
  const raw = {
    ...{ threshold: THRESHOLD, cases, rows, ratioOfMeans: ratioOfMeans(pairs) },
    ...(differences.length > 0 && { dreamAloneMinusReal: bootstrap(differences, mean) }),
  };
  if (ratios.length === 0)
    throw new Error(`No run of any seed won ${THRESHOLD} of the games: there is no ratio to tell.`);
  return { ...bootstrap(ratios, median), n: ratios.length, raw };
}

function quickOf(arm: Arm): string[] {
  return arm === 'dream then real' ? ['train.realRounds=1', 'train.checkEpisodes=1'] : ['train.rounds=2'];
}

function names(): Arm[] {
  return Object.keys(ARMS) as Arm[];
}
