// What is a dream of TextWorldExpress worth to an agent of language that has few real episodes? In three games that it learns at all within
// minutes. Both ways imitate the same walkthroughs and learn by GRPO. One lives all its rounds in the game. The other makes a dream of
// the walkthroughs and of random episodes among the listed commands, by the backend `analogy`, lives its rounds there, and then a few in the game. The
// value is how many times the real steps the first takes to a threshold, named by game on another seed; beside it stands what the dream alone
// leads to, held against the game alone after ten times its real steps. Kept case by case.

import type { BenchmarkContext, Measurement } from './benchmark.js';
import { bootstrap, mean, median } from './measure.js';
import { chosen, studyOf } from './study-cases.js';
import { measuredText, type TextCase } from './text-cases.js';
import { transferRow } from './text-transfer.js';

const SEEDS = ['11', '12', '13', '14', '15'];

interface Game {
  /** Share of the evaluation games won. Named before any seed of the study was run, after runs of imitation with seeds 101 and 201. */
  readonly threshold: number;
}

const GAMES: Readonly<Record<string, Game>> = {
  coin: { threshold: 0.6 },
  mapreader: { threshold: 0.4 },
  twc: { threshold: 0.5 },
};

const ROUNDS = { dream: 12, afterDream: 4, real: 16 };
const ARMS = {
  'dream then real': [
    ...['train.mode=dream-then-real', `train.rounds=${ROUNDS.dream}`, `train.realRounds=${ROUNDS.afterDream}`],
    'train.checkEpisodes=10',
  ],
  real: ['train.mode=real', `train.rounds=${ROUNDS.real}`],
} as const;
type Arm = keyof typeof ARMS;

const COMMON = ['train.evalTasks=40', 'train.evalEvery=4'];
const QUICK = [
  ...['train.domain.each=4', 'train.cloneTasks=2', 'train.cloneEpochs=1', 'train.groupSize=2', 'train.evalTasks=1'],
  ...['train.rounds=1', 'train.evalEvery=1', 'train.gather.episodes=2', 'train.tasksPerRound=1'],
  'train.model.analogy.minExactness=0',
];

export async function run({ quick, root, log }: BenchmarkContext): Promise<Measurement> {
  const study = await studyOf<TextCase>(root, 'twx.transfer', quick);
  const sitting = { study, log, scenario: 'textworld-express', profile: 'quick' };
  const seeds = (quick ? ['1'] : chosen(SEEDS, 'TWX_TRANSFER_SEEDS')).map(Number);
  const games = quick ? ['coin'] : chosen(Object.keys(GAMES), 'TWX_TRANSFER_GAMES');
  const rows = [];
  for (const seed of seeds) {
    for (const body of games) {
      const { threshold } = GAMES[body];
      const own = [`train.domain.only=[${body}]`, ...COMMON];
      const measured = (arm: Arm) => {
        const set = [...ARMS[arm], ...own, ...(quick ? [...QUICK, ...quickOf(arm)] : [])];
        return measuredText(sitting, { body, arm, seed, set });
      };
      const dream = await measured('dream then real');
      rows.push(rowOf(dream, await measured('real'), quick ? 0 : threshold));
    }
  }
  const ratios = rows.flatMap(({ ratio }) => (ratio === null ? [] : [ratio]));
  const differences = rows.flatMap(({ dreamAlone, realAfterMore }) =>
    realAfterMore === null ? [] : [dreamAlone - realAfterMore],
  );
  const gains = rows.map(({ dreamAlone, imitation }) => dreamAlone - imitation);
  const raw = {
    ...{ games: GAMES, rows, dreamAloneMinusImitation: bootstrap(gains, mean) },
    ...(differences.length > 0 && { dreamAloneMinusReal: bootstrap(differences, mean) }),
  };
  if (ratios.length === 0) throw new Error('No run of any seed reached its threshold: there is no ratio to tell.');
  return { ...bootstrap(ratios, median), n: ratios.length, raw };
}

/** A game and a seed; no ratio where imitation alone reaches the threshold. */
function rowOf(dream: TextCase, real: TextCase, threshold: number) {
  const row = transferRow(dream, real, threshold);
  const isImitated = row.imitation >= threshold && threshold > 0;
  return {
    ...{ game: dream.body, threshold, ...row, ratio: isImitated ? null : row.ratio },
    ...{ realLast: real.success, realLastSteps: real.realSteps, check: dream.check ?? null },
  };
}

function quickOf(arm: Arm): string[] {
  return arm === 'dream then real' ? ['train.realRounds=1', 'train.checkEpisodes=1'] : ['train.rounds=2'];
}
