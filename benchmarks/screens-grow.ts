// Does it pay to take more of the tasks that a policy half masters? One policy learns twelve of MiniWoB++'s tasks in the page, with all
// tasks in turn or as they grow, and is judged every few rounds on seeds that it never saw. The value is the episodes that growing takes
// to the success that is the most the other reached, over those that the other took to it: medians over seeds. A third arm
// grows by deficits. Kept case by case; SCREENS_GROW_SEEDS and SCREENS_GROW_ARMS name some.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { launch } from '../src/run/launch.js';
import { loadAnyScenario } from '../src/run/scenario.js';
import type { TextTrainResult } from '../src/run/tools-results.js';
import type { BenchmarkContext, Measurement } from './benchmark.js';
import { bootstrap, median } from './measure.js';
import { LEARNT_TASKS } from './miniwob-pages.js';
import { type CaseName, chosen, type Study, studyOf } from './study-cases.js';

const SEEDS = ['1', '2', '3', '4', '5'];
const ARMS = ['grow', 'in turn', 'grow by deficits'] as const;
type Arm = (typeof ARMS)[number];
/** What `train.grow` is in those that grow. */
const GROWS: Partial<Record<Arm, string>> = { grow: '{}', 'grow by deficits': '{deficits: true}' };
const ROUNDS = 40;
const EVAL_EVERY = 4;
const TASKS_A_ROUND = 8;
/** Of a group, as the scenario has it. */
const GROUP = 8;

interface GrowCase extends CaseName {
  /** Success on seeds that were never trained on, every so many rounds. */
  readonly success: readonly number[];
  readonly realSteps: number;
  readonly wallSeconds: number;
}

export async function run({ quick, root, log }: BenchmarkContext): Promise<Measurement> {
  const study = await studyOf<GrowCase>(root, 'screens.grow', quick);
  const seeds = quick ? ['1'] : chosen(SEEDS, 'SCREENS_GROW_SEEDS');
  const arms = chosen(ARMS, 'SCREENS_GROW_ARMS') as readonly Arm[];
  if (!arms.includes('grow') || !arms.includes('in turn')) throw new Error('SCREENS_GROW_ARMS needs "grow,in turn"');
  const cases: GrowCase[] = [];
  for (const seed of seeds)
    for (const arm of arms) cases.push(await measured({ study, root, log, quick }, arm, Number(seed)));
  const ratiosOf = (growing: Arm) =>
    seeds.map((seed) => {
      const [grow, turn] = [growing, 'in turn'].map(
        (arm) => cases.find((one) => one.arm === arm && one.seed === Number(seed))!,
      );
      const goal = Math.max(...turn.success.slice(1));
      return episodesTo(grow, goal) / episodesTo(turn, goal);
    });
  const ratios = ratiosOf('grow');
  const byDeficits = arms.includes('grow by deficits') && { byDeficits: ratiosOf('grow by deficits') };
  return { ...bootstrap(ratios, median), n: ratios.length, raw: { cases, ratios, ...byDeficits } };
}

/** Where it was never reached, one evaluation more than there were: at least as many. */
function episodesTo({ success }: GrowCase, goal: number): number {
  const at = success.findIndex((one, i) => i > 0 && one >= goal);
  return (at < 0 ? success.length : at) * EVAL_EVERY * TASKS_A_ROUND * GROUP;
}

interface Sitting extends Pick<BenchmarkContext, 'root' | 'log' | 'quick'> {
  readonly study: Study<GrowCase>;
}

async function measured({ study, root, log, quick }: Sitting, arm: Arm, seed: number): Promise<GrowCase> {
  const folder = join(root, 'benchmarks', 'bodies', 'screens');
  const set = [
    `domain.screens=[${quick ? LEARNT_TASKS.slice(1, 3) : LEARNT_TASKS}]`,
    ...['train.mode=real', `train.rounds=${quick ? 2 : ROUNDS}`, `train.evalEvery=${quick ? 1 : EVAL_EVERY}`],
    ...[`train.tasksPerRound=${TASKS_A_ROUND}`, `train.evalTasks=${quick ? 4 : 60}`],
    ...(arm in GROWS ? [`train.grow=${GROWS[arm]}`] : []),
  ];
  const body = 'twelve tasks';
  const { hash } = await loadAnyScenario(folder, { set });
  const kept = study.find({ body, arm, seed, hash });
  if (kept !== undefined) return kept;
  const out = await mkdtemp(join(tmpdir(), 'reverie-study-'));
  try {
    const { evaluations, realSteps, wallSeconds } = await launch<TextTrainResult>('train', {
      ...{ scenario: folder, set, seed, out: join(out, 'run'), quiet: true },
      ...{ stream: process.stderr, command: 'npm run bench' },
    });
    const success = evaluations.map((one) => one.success.value!);
    const found = { body, arm, seed, hash, success, realSteps, wallSeconds };
    await study.keep(found);
    log(`${arm}, seed ${seed}: ${success.join(', ')}; ${realSteps} real steps, ${Math.round(wallSeconds)} s`);
    return found;
  } finally {
    await rm(out, { recursive: true, force: true });
  }
}
