// Does a policy of screens learn faster where it reads the tree of elements than where it reads the screen as words? Both networks learn
// four of MiniWoB++'s click tasks on their pages, as many rounds by the same learner, and are judged on seeds that they never saw. The
// value is the success of the network over elements over that of the network of words, means over seeds of training. Kept case by
// case; SCREENS_NETWORKS_SEEDS names some.

import { join } from 'node:path';
import type { BenchmarkContext, Measurement } from './benchmark.js';
import { bootstrap, mean } from './measure.js';
import { chosen, studyOf } from './study-cases.js';
import { measuredText, type TextCase } from './text-cases.js';

const SEEDS = ['1', '2', '3', '4', '5'];
export const CLICK_TASKS = ['click-button', 'click-link', 'click-option', 'choose-list'];
const NETWORKS = ['relevance', 'elements'];
const ROUNDS = 30;

export async function run({ quick, root, log }: BenchmarkContext): Promise<Measurement> {
  const study = await studyOf<TextCase>(root, 'screens.networks', quick);
  const seeds = quick ? ['1'] : chosen(SEEDS, 'SCREENS_NETWORKS_SEEDS');
  const scenario = join(root, 'benchmarks', 'bodies', 'screens');
  const set = [
    ...[
      `domain.screens=[${CLICK_TASKS}]`,
      `domain.seeds=${quick ? 2 : 40}`,
      'train.mode=real',
      'train.tasksPerRound=8',
    ],
    ...['rl.entropyCoefficient=0.01', `train.rounds=${quick ? 1 : ROUNDS}`, 'train.evalEvery=10'],
    `train.evalTasks=${quick ? 4 : 40}`,
  ];
  const pairs: (readonly [words: TextCase, elements: TextCase])[] = [];
  for (const seed of seeds.map(Number)) {
    const of = (network: string) =>
      measuredText(
        { study, log, scenario },
        { body: 'four click tasks', arm: network, seed, set: [...set, `rl.network=${network}`] },
      );
    pairs.push([await of(NETWORKS[0]), await of(NETWORKS[1])]);
  }
  const over = (some: typeof pairs) =>
    mean(some.map(([, elements]) => elements.success)) / mean(some.map(([words]) => words.success));
  const interval = bootstrap(
    pairs.map((_, i) => i),
    (places) => over(places.map((i) => pairs[i])),
  );
  return { ...interval, n: pairs.length, raw: { cases: pairs.flat() } };
}
