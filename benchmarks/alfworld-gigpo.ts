// Do advantages among equal states (GiGPO) win more of ALFWorld's games than those among whole episodes alone (GRPO)? Both imitate the
// same walkthroughs and then live as many rounds in the games; an episode that is won early is shorter, so real steps are told beside.
// The value is the difference in success on valid_seen, pairs of the same seed. Kept case by case.

import type { BenchmarkContext, Measurement } from './benchmark.js';
import { bootstrap, mean } from './measure.js';
import { chosen, studyOf } from './study-cases.js';
import { measuredText, type TextCase } from './text-cases.js';

const SEEDS = ['11', '12', '13', '14', '15'];

const COMMON = ['train.mode=real', 'train.rounds=20', 'train.evalTasks=60'];
const QUICK = [
  ...['train.mode=real', 'train.domain.games=2', 'domain.games=1', 'train.cloneTasks=2', 'train.cloneEpochs=1'],
  ...['train.rounds=1', 'train.tasksPerRound=1', 'train.groupSize=2', 'train.evalTasks=1'],
];

export async function run({ quick, root, log }: BenchmarkContext): Promise<Measurement> {
  const study = await studyOf<TextCase>(root, 'alfworld.gigpo', quick);
  const sitting = { study, log, scenario: 'alfworld', profile: 'quick' };
  const seeds = (quick ? ['1'] : chosen(SEEDS, 'ALFWORLD_GIGPO_SEEDS')).map(Number);
  const cases: TextCase[] = [];
  const differences: number[] = [];
  for (const seed of seeds) {
    const [gigpo, grpo] = [
      await measuredText(sitting, asked('gigpo', seed, quick)),
      await measuredText(sitting, asked('grpo', seed, quick)),
    ];
    cases.push(gigpo, grpo);
    differences.push(gigpo.success - grpo.success);
  }
  return { ...bootstrap(differences, mean), n: differences.length, raw: { cases } };
}

function asked(arm: 'gigpo' | 'grpo', seed: number, quick: boolean) {
  return { body: 'valid_seen', arm, seed, set: [`rl.algorithm=${arm}`, ...(quick ? QUICK : COMMON)] };
}
