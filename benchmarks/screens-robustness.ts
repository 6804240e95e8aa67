// Has a policy learned its tasks, or how their pages are laid out? One policy learns four of MiniWoB++'s click tasks on their pages, and is
// judged on seeds that it never saw: as the pages are, with other ids, in another order, with elements that do nothing, and with all of
// it. The value is its success with all of it over that on the pages as they are, means over seeds of training. Kept seed by seed;
// SCREENS_ROBUSTNESS_SEEDS names some.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { launch } from '../src/run/launch.js';
import { loadAnyScenario } from '../src/run/scenario.js';
import type { RealEpisodesResult, TextTrainResult } from '../src/run/tools-results.js';
import type { BenchmarkContext, Measurement } from './benchmark.js';
import { bootstrap, mean } from './measure.js';
import { type CaseName, chosen, type Study, studyOf } from './study-cases.js';

const SEEDS = ['1', '2', '3', '4', '5'];
const TASKS = ['click-button', 'click-checkboxes', 'click-link', 'click-option'];
const ROUNDS = 40;
const EPISODES = 160;
const SHOWN = {
  'as it is': '',
  'other ids': 'ids: true',
  'another order': 'order: true',
  'four distractors': 'distractors: 4',
  'all of it': 'ids: true, order: true, distractors: 4',
} as const;

interface RobustnessCase extends CaseName {
  /** By how the pages are shown. */
  readonly success: Readonly<Record<string, number>>;
  /** By how they are shown and by task. */
  readonly byTask: Readonly<Record<string, Readonly<Record<string, number>>>>;
  readonly realSteps: number;
  readonly wallSeconds: number;
}

type Sitting = Pick<BenchmarkContext, 'root' | 'log' | 'quick'> & { readonly study: Study<RobustnessCase> };

export async function run({ quick, root, log }: BenchmarkContext): Promise<Measurement> {
  const study = await studyOf<RobustnessCase>(root, 'screens.robustness', quick);
  const seeds = quick ? ['1'] : chosen(SEEDS, 'SCREENS_ROBUSTNESS_SEEDS');
  const cases: RobustnessCase[] = [];
  for (const seed of seeds) cases.push(await measured({ study, root, log, quick }, Number(seed)));
  const over = (some: readonly RobustnessCase[]) =>
    mean(some.map(({ success }) => success['all of it'])) / mean(some.map(({ success }) => success['as it is']));
  const interval = bootstrap(
    cases.map((_, i) => i),
    (places) => over(places.map((i) => cases[i])),
  );
  return { ...interval, n: cases.length, raw: { cases } };
}

/** Kept, or trained and judged now and kept. */
async function measured({ study, root, log, quick }: Sitting, seed: number): Promise<RobustnessCase> {
  const scenario = join(root, 'benchmarks', 'bodies', 'screens');
  const set = [
    ...[`domain.screens=[${TASKS}]`, `domain.seeds=${quick ? 2 : EPISODES / TASKS.length}`, 'train.mode=real'],
    ...[`train.rounds=${quick ? 2 : ROUNDS}`, 'train.tasksPerRound=8', 'synth.splits=[validation]'],
    `synth.episodes=${quick ? 8 : EPISODES}`,
  ];
  const name = { body: 'four tasks', arm: Object.values(SHOWN).join('; '), seed };
  const { hash } = await loadAnyScenario(scenario, { set });
  const kept = study.find({ ...name, hash });
  if (kept !== undefined) return kept;
  const out = await mkdtemp(join(tmpdir(), 'reverie-study-'));
  const common = { scenario, seed, quiet: true, stream: process.stderr, command: 'npm run bench' };
  try {
    const trained = join(out, 'trained');
    const { realSteps, wallSeconds } = await launch<TextTrainResult>('train', { ...common, set, out: trained });
    const [success, byTask]: [Record<string, number>, Record<string, Record<string, number>>] = [{}, {}];
    for (const [shown, perturb] of Object.entries(SHOWN)) {
      const judged = await launch<RealEpisodesResult>('eval', {
        ...{ ...common, set: [...set, ...(perturb === '' ? [] : [`domain.perturb={${perturb}}`])] },
        ...{ out: join(out, shown.replaceAll(' ', '-')), inputs: { checkpoint: trained } },
      });
      success[shown] = judged.success!.value!;
      byTask[shown] = byFamily(judged.byTask);
    }
    const found = { ...name, hash, success, byTask, realSteps, wallSeconds };
    await study.keep(found);
    log(
      `seed ${seed}: ${Object.entries(success)
        .map(([shown, rate]) => `${shown} ${rate.toFixed(3)}`)
        .join(', ')}`,
    );
    return found;
  } finally {
    await rm(out, { recursive: true, force: true });
  }
}

function byFamily(byTask: Readonly<Record<string, number>>): Record<string, number> {
  const of = (family: string) =>
    Object.entries(byTask).flatMap(([task, rate]) => (task.startsWith(`${family}.`) ? [rate] : []));
  return Object.fromEntries(TASKS.map((family) => [family, mean(of(family))]));
}
