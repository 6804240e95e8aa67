// What is a dream of screens worth to a policy? For each of twelve of MiniWoB++'s tasks, one learns in a dream of records of so many real
// episodes, and one in as many real episodes; both are judged on seeds that neither saw. The value is the success of the first over that
// of the second, both as means over tasks and seeds; a third learns in ten times the real episodes. Kept case by case; SCREENS_TASKS,
// SCREENS_TRANSFER_SEEDS and SCREENS_TRANSFER_ARMS name some. Without the third arm there is no figure against it.

import { join } from 'node:path';
import type { BenchmarkContext, Measurement } from './benchmark.js';
import { bootstrap, mean } from './measure.js';
import { LEARNT_TASKS } from './miniwob-pages.js';
import { chosen, studyOf } from './study-cases.js';
import { measuredText, type TextCase } from './text-cases.js';

const SEEDS = ['1', '2', '3', '4', '5'];
/** Episodes of a round, as the scenario has them. */
const ROUND = 32;
const REAL_ROUNDS = 4;
const DREAM_ROUNDS = 20;
const ARMS = ['dream', 'real', 'real, ten times'] as const;
type Arm = (typeof ARMS)[number];

export async function run({ quick, root, log }: BenchmarkContext): Promise<Measurement> {
  const study = await studyOf<TextCase>(root, 'screens.transfer', quick);
  const tasks = quick ? LEARNT_TASKS.slice(1, 2) : chosen(LEARNT_TASKS, 'SCREENS_TASKS');
  const seeds = quick ? ['1'] : chosen(SEEDS, 'SCREENS_TRANSFER_SEEDS');
  const scenario = join(root, 'benchmarks', 'bodies', 'screens');
  const arms = chosen(ARMS, 'SCREENS_TRANSFER_ARMS') as readonly Arm[];
  if (!arms.includes('dream') || !arms.includes('real')) throw new Error('SCREENS_TRANSFER_ARMS needs "dream,real"');
  const cases: TextCase[] = [];
  for (const seed of seeds) {
    for (const body of tasks) {
      for (const arm of arms) {
        const set = [`domain.screens=[${body}]`, ...settingsOf(arm, quick ? 1 : REAL_ROUNDS, quick ? 2 : DREAM_ROUNDS)];
        cases.push(await measuredText({ study, log, scenario }, { body, arm, seed: Number(seed), set }));
      }
    }
  }
  const raw = { cases, ...(arms.includes('real, ten times') && { againstTenTimes: ratio(cases, 'real, ten times') }) };
  return { ...ratio(cases, 'real'), n: tasks.length * seeds.length, raw };
}

/** Success of the dream over that of another arm, with an interval over tasks and seeds. */
function ratio(cases: readonly TextCase[], baseline: Arm): ReturnType<typeof bootstrap> {
  const pairs = cases
    .filter(({ arm }) => arm === 'dream')
    .map((dream) => {
      const other = cases.find(
        ({ body, arm, seed }) => body === dream.body && arm === baseline && seed === dream.seed,
      )!;
      return [dream.success, other.success] as const;
    });
  const over = (resample: readonly number[]) =>
    mean(resample.map((i) => pairs[i][0])) / mean(resample.map((i) => pairs[i][1]));
  return bootstrap(
    pairs.map((_, i) => i),
    over,
  );
}

/** As many real episodes for the dream as for the policy that learns in the page. */
function settingsOf(arm: Arm, rounds: number, dreamRounds: number): string[] {
  if (arm !== 'dream') return ['train.mode=real', `train.rounds=${arm === 'real' ? rounds : 10 * rounds}`];
  const gather = `{episodes: ${rounds * ROUND}, heldOut: 0, agent: {kind: random, steps: 4, offered: true}}`;
  return [
    'model.backends=[lifted, mechanics]',
    'train.mode=dream',
    `train.rounds=${dreamRounds}`,
    `train.gather=${gather}`,
  ];
}
