// What is a value model of recorded choices worth to a policy of screens? One learns from such a model (VEM), one in a dream made of the
// same records, and one in as many real episodes; all are judged on seeds that they never saw. The value is the success of the first over
// that of the third, means over seeds of training; a value model that is refused leaves the policy as it was. Kept case by case; SCREENS_VALUE_SEEDS and SCREENS_VALUE_ARMS name some.

import { join } from 'node:path';
import type { BenchmarkContext, Measurement } from './benchmark.js';
import { bootstrap, mean } from './measure.js';
import { CLICK_TASKS } from './screens-networks.js';
import { chosen, studyOf } from './study-cases.js';
import { measuredOrRefused, type TextCase } from './text-cases.js';

const SEEDS = ['1', '2', '3', '4', '5'];
const ARMS = ['real', 'value', 'dream'] as const;
/** Episodes of a round. */
const ROUND = 64;
/** Of real episodes, and of what is learned from them without a real step. */
const REAL_ROUNDS = 4;
const OTHER_ROUNDS = 20;

export async function run({ quick, root, log }: BenchmarkContext): Promise<Measurement> {
  const study = await studyOf<TextCase>(root, 'screens.value', quick);
  const seeds = quick ? ['1'] : chosen(SEEDS, 'SCREENS_VALUE_SEEDS');
  const arms = quick ? (['real', 'value'] as const) : (chosen(ARMS, 'SCREENS_VALUE_ARMS') as typeof ARMS);
  if (!arms.includes('value') || !arms.includes('real')) throw new Error('SCREENS_VALUE_ARMS needs "value,real"');
  const scenario = join(root, 'benchmarks', 'bodies', 'screens');
  const cases: TextCase[] = [];
  for (const seed of seeds.map(Number)) {
    for (const arm of arms) {
      const asked = { body: 'four click tasks', arm, seed, set: settingsOf(arm, quick) };
      cases.push(await measuredOrRefused({ study, log, scenario }, asked, cases.at(-1)));
    }
  }
  const of = (arm: string) => cases.filter((one) => one.arm === arm).map(({ success }) => success);
  const [value, real, dream] = [of('value'), of('real'), of('dream')];
  const interval = bootstrap(
    value.map((_, i) => i),
    (places) => mean(places.map((i) => value[i])) / mean(places.map((i) => real[i])),
  );
  const refused = cases.filter(({ isRefused }) => isRefused).length;
  const others = { refused, ...(dream.length > 0 && { dream: mean(dream) }) };
  return { ...interval, n: seeds.length, raw: { cases, value: mean(value), real: mean(real), ...others } };
}

/** As many real episodes in each arm; a value model holds a fifth of its own out. */
function settingsOf(arm: (typeof ARMS)[number], quick: boolean): string[] {
  const common = [
    ...[`domain.screens=[${CLICK_TASKS}]`, `domain.seeds=${quick ? 4 : 40}`, 'train.tasksPerRound=8'],
    ...['rl.entropyCoefficient=0.01', 'rl.network=elements', 'train.checkEpisodes=0', `train.mode=${arm}`],
    `train.evalTasks=${quick ? 4 : 40}`,
  ];
  const realRounds = quick ? 1 : REAL_ROUNDS;
  if (arm === 'real') return [...common, `train.rounds=${realRounds}`];
  const agent = '{kind: random, steps: 4, offered: true}';
  const heldOut = arm === 'value' ? 0.2 : 0;
  return [
    ...[...common, `train.rounds=${quick ? 1 : OTHER_ROUNDS}`, 'model.backends=[lifted, mechanics]'],
    `train.gather={episodes: ${realRounds * ROUND}, heldOut: ${heldOut}, agent: ${agent}}`,
  ];
}
