// How right are dreamt screens? Walks of chance are recorded on some seeds of some of MiniWoB++'s tasks, and dreams are made of them. Each then
// answers the actions of other walks, in the true screen and on its own: on the same seeds, on seeds that nobody recorded, and on tasks of
// which nothing was recorded. The value is the F1 of elements on other seeds, by records carried over to them and mechanics for what these
// doubt; the interval is over tasks.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import {
  applyOperations,
  initialStateOf,
  type Prediction,
  type Responder,
  type ScreenState,
  type ToolsDomain,
  type ToolsTask,
} from '../src/env/index.js';
import { elementF1, elementScores } from '../src/fidelity/screens/element-scores.js';
import type { EpisodeRecord } from '../src/replay/index.js';
import type { ToolsModelConfigInput } from '../src/worldmodel/index.js';
import type { BenchmarkContext, Measurement } from './benchmark.js';
import { bootstrap, mean } from './measure.js';
import { openScreens, recordedDream, recordedWalks, tasksOf } from './screen-walks.js';

const SEEDS = 10;
const STEPS = 8;
/** Every so many tasks one is left out of the records. */
const LEFT_OUT = 4;
const WALKS_OF_A_SEED = 3;

const ARMS: Readonly<Record<string, ToolsModelConfigInput | undefined>> = {
  nothing: undefined,
  mechanics: { backends: ['mechanics'] },
  records: { backends: ['replay'] },
  'mechanics and records': { backends: ['mechanics', 'replay'] },
  'lifted records': { backends: ['lifted'] },
  'lifted records, then mechanics': { backends: ['lifted', 'mechanics'] },
  'the same, where half sure': {
    backends: ['lifted', 'mechanics'],
    lifted: { minConfidence: 0.5 },
  } as ToolsModelConfigInput,
};
const JUDGED = 'lifted records, then mechanics';

interface StepScores {
  readonly family: string;
  readonly elements: number;
  readonly changes: number | null;
  readonly transition: boolean;
  readonly outcome: boolean;
  /** On the dream's own screens, counted from 1. */
  readonly step: number;
  readonly ownElements: number;
}

export async function run({ quick, root, log }: BenchmarkContext): Promise<Measurement> {
  const tasks = (await import(pathToFileURL(join(root, 'packs', 'miniwob', 'tasks.mjs')).href)) as {
    readonly IN_JSDOM: readonly string[];
  };
  const names = quick ? tasks.IN_JSDOM.slice(0, 2) : tasks.IN_JSDOM;
  const seeds = quick ? 1 : Number(process.env['SCREENS_SEEDS'] ?? SEEDS);
  const domain = await openScreens({ root, names, seeds, browser: 'jsdom' });
  const work = await mkdtemp(join(tmpdir(), 'reverie-screens-'));
  try {
    const isLeftOut = ({ family }: ToolsTask) => names.indexOf(family) % LEFT_OUT === LEFT_OUT - 1;
    const known = tasksOf(domain).filter((task) => !isLeftOut(task));
    const walks = Array.from({ length: WALKS_OF_A_SEED }, (_, seed) => ({
      domain,
      tasks: known,
      seed,
      maxSteps: STEPS,
    }));
    const records = (await Promise.all(walks.map(recordedWalks))).flat();
    log(`${records.length} walks recorded`);
    const fresh = (asked: readonly ToolsTask[]) =>
      recordedWalks({ domain, tasks: asked, seed: WALKS_OF_A_SEED, maxSteps: STEPS });
    const heldOut = tasksOf(domain, 'validation');
    const sets = {
      'recorded seeds': await fresh(known),
      'other seeds': await fresh(heldOut.filter((task) => !isLeftOut(task))),
      'other tasks': await fresh(heldOut.filter(isLeftOut)),
    };
    const found: Record<string, Record<string, StepScores[]>> = {};
    for (const [arm, model] of Object.entries(ARMS)) {
      const dream =
        model === undefined
          ? undefined
          : await recordedDream(domain, records, model, await mkdtemp(join(work, 'fit-')));
      found[arm] = {};
      for (const [name, of] of Object.entries(sets)) found[arm][name] = await scores(domain, dream, of);
      log(`${arm}: F1 ${meanOf(found[arm]['other seeds'], 'elements')?.toFixed(3)} on other seeds`);
    }
    const byTask = grouped(found[JUDGED]['other seeds']);
    const values = byTask.map((steps) => mean(steps.map(({ elements }) => elements)));
    const raw = { seeds, walks: records.length, arms: summaries(found) };
    return { ...bootstrap(values, mean), n: values.length, raw };
  } finally {
    domain.close();
    await rm(work, { recursive: true, force: true });
  }
}

/** Of each action of the walks. A dream that is none changes nothing. */
async function scores(
  domain: ToolsDomain,
  dream: Responder | undefined,
  walks: readonly EpisodeRecord[],
): Promise<StepScores[]> {
  const found: StepScores[] = [];
  for (const { task: id, seed, steps, messages } of walks) {
    const task = domain.tasks.find((one) => one.id === id)!;
    let real = initialStateOf(domain, task);
    let own = real;
    for (const [i, { action, message, predictions }] of steps.entries()) {
      const [call] = action.toolCalls!;
      const [truth] = predictions;
      const asked = { domain, task, messages: messages.slice(0, message + 1), call, step: i, seed };
      const answer = (state: typeof real) => (dream === undefined ? NOTHING : dream.answer({ ...asked, state }));
      const [said, onOwn] = [await answer(real), await answer(own)];
      const after = applyOperations(real, truth.operations);
      own = applyOperations(own, onOwn.operations);
      const dreamt = applyOperations(real, said.operations);
      const [before, is, was] = [real, after, dreamt].map((state) => state as ScreenState);
      found.push({
        family: task.family,
        ...elementScores(before, is, was),
        outcome: said.isError === truth.isError,
        step: i + 1,
        ownElements: elementF1(is, own as ScreenState),
      });
      real = after;
    }
  }
  return found;
}

const NOTHING: Pick<Prediction, 'operations' | 'isError'> = { operations: [], isError: false };

function grouped(steps: readonly StepScores[]): StepScores[][] {
  const families = [...new Set(steps.map(({ family }) => family))];
  return families.map((name) => steps.filter(({ family }) => family === name));
}

type Key = 'elements' | 'changes' | 'transition' | 'outcome' | 'ownElements';

function meanOf(steps: readonly StepScores[], key: Key): number | null {
  const values = steps.map((step) => step[key]).filter((value) => value !== null);
  return values.length === 0 ? null : mean(values.map(Number));
}

function summaries(found: Readonly<Record<string, Readonly<Record<string, StepScores[]>>>>): object {
  const summary = (steps: readonly StepScores[]) => ({
    actions: steps.length,
    elementF1: meanOf(steps, 'elements'),
    changeF1: meanOf(steps, 'changes'),
    actionOutcome: meanOf(steps, 'outcome'),
    pageTransition: meanOf(steps, 'transition'),
    elementF1ByStep: Array.from({ length: STEPS }, (_, i) =>
      meanOf(
        steps.filter(({ step }) => step === i + 1),
        'ownElements',
      ),
    ),
  });
  return Object.fromEntries(
    Object.entries(found).map(([arm, sets]) => [
      arm,
      Object.fromEntries(Object.entries(sets).map(([name, steps]) => [name, summary(steps)])),
    ]),
  );
}
