// How right are simulated screens? Walks of chance are recorded on one seed of some of a world's tasks, and dreams are made of them. Each then
// answers the actions of other walks, in the true screen and on its own: on the same seed, on one that nobody recorded, and on tasks of
// which nothing was recorded. The value is the F1 of elements on other seeds, by records carried over to them and mechanics for what these
// doubt; the interval is over tasks. Kept seed by seed; SCREENS_SEEDS names some. The world is MiniWoB++'s tasks in jsdom. `lifted` was
// made with seed 0 in view, which is none of them.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { contentHash, type Json } from '../src/core/canonical-json.js';
import type { ScreenState } from '../src/env/screens/screen-state.js';
import { applyOperations } from '../src/env/state/operations.js';
import type { ToolsDomain, ToolsTask } from '../src/env/tools/domain.js';
import type { Prediction } from '../src/env/tools/prediction.js';
import { initialStateOf } from '../src/env/tools/situation.js';
import type { Responder } from '../src/env/tools/tools-family.js';
import type { EpisodeRecord } from '../src/replay/experience/experience.js';
import { elementF1, elementScores } from '../src/screens/fidelity/elements.js';
import type { ToolsModelConfigInput } from '../src/worldmodel/tools/tools-model-schema.js';
import type { BenchmarkContext, Measurement } from './benchmark.js';
import { bootstrap, mean } from './measure.js';
import { openScreens, recordedDream, recordedWalks, tasksOf } from './screen-walks.js';
import { type CaseName, chosen, studyOf } from './study-cases.js';

const SEEDS = ['1', '2', '3', '4', '5'];
const JUDGED = 'lifted records, then mechanics';
type Arms = Readonly<Record<string, ToolsModelConfigInput | undefined>>;

/** What one seed of every task came to. */
interface SeedCase extends CaseName {
  readonly walks: number;
  /** By arm and set. */
  readonly arms: Readonly<Record<string, Readonly<Record<string, Summary>>>>;
  /** F1 of elements on other seeds by the arm that is judged, of each task. */
  readonly byTask: Readonly<Record<string, number>>;
}

const ARMS: Arms = {
  nothing: undefined,
  mechanics: { backends: ['mechanics'] },
  records: { backends: ['replay'] },
  'mechanics and records': { backends: ['mechanics', 'replay'] },
  'lifted records': { backends: ['lifted'] },
  [JUDGED]: { backends: ['lifted', 'mechanics'] },
  'the same, where half sure': {
    backends: ['lifted', 'mechanics'],
    lifted: { minConfidence: 0.5 },
  } as ToolsModelConfigInput,
};

/** Actions of a walk, walks of a seed, and every how many tasks one is left out of the records. */
const WALKS = { steps: 8, walks: 3, leftOut: 4 };

export async function run(context: BenchmarkContext): Promise<Measurement> {
  const seeds = context.quick ? ['1'] : chosen(SEEDS, 'SCREENS_SEEDS');
  const cases: SeedCase[] = [];
  for (const seed of seeds) cases.push(await seedCase(Number(seed), context));
  const families = Object.keys(cases[0].byTask);
  const values = families.map((family) => mean(cases.map(({ byTask }) => byTask[family])));
  return { ...bootstrap(values, mean), n: values.length, raw: { cases, arms: meansOf(cases) } };
}

/** Kept, or measured now and kept: walks are recorded on this seed of each task, and on none other. */
async function seedCase(seed: number, context: BenchmarkContext): Promise<SeedCase> {
  const { root, quick } = context;
  const study = await studyOf<SeedCase>(root, 'screens.exactness', quick);
  const { IN_JSDOM } = await import(pathToFileURL(join(root, 'packs', 'miniwob', 'tasks.mjs')).href);
  const families: readonly string[] = quick ? IN_JSDOM.slice(0, 2) : IN_JSDOM;
  const domain = await openScreens({ root, names: families, seeds: seed + 1, browser: 'jsdom' });
  const work = await mkdtemp(join(tmpdir(), 'reverie-screens-'));
  try {
    const hash = contentHash({ arms: ARMS, ...WALKS, domain: domain.version } as unknown as Json);
    const name = { body: 'all tasks', arm: 'all arms', seed, hash };
    const kept = study.find(name);
    if (kept !== undefined) return kept;
    const found = { ...name, ...(await measured(domain, families, seed, work, context)) };
    await study.keep(found);
    return found;
  } finally {
    domain.close();
    await rm(work, { recursive: true, force: true });
  }
}

async function measured(
  domain: ToolsDomain,
  families: readonly string[],
  seed: number,
  work: string,
  { quick, log }: BenchmarkContext,
): Promise<Pick<SeedCase, 'walks' | 'arms' | 'byTask'>> {
  const { steps, walks, leftOut } = WALKS;
  const isLeftOut = ({ family }: ToolsTask) => families.indexOf(family) % leftOut === leftOut - 1;
  // Seeds of a split begin at a million times its place.
  const ofSeed = (split: 'train' | 'validation') =>
    tasksOf(domain, split).filter(
      ({ id, family }) => families.includes(family) && Number(id.split('.').at(-1)) % 1_000_000 === seed,
    );
  const known = ofSeed('train').filter((task) => !isLeftOut(task));
  const heldOut = ofSeed('validation');
  const walked = (tasks: readonly ToolsTask[], walk: number) =>
    recordedWalks({ domain, tasks, seed: walk, maxSteps: quick ? 2 : steps });
  const records: EpisodeRecord[] = [];
  for (let walk = 0; walk < (quick ? 1 : walks); walk++) records.push(...(await walked(known, walk)));
  const others = heldOut.filter((task) => !isLeftOut(task));
  const sets = {
    'recorded seeds': await walked(known, walks),
    'other seeds': await walked(others, walks),
    'other tasks': await walked(heldOut.filter(isLeftOut), walks),
  };
  const arms: Record<string, Record<string, Summary>> = {};
  let judged: StepScores[] = [];
  for (const [arm, model] of Object.entries(ARMS)) {
    const folder = await mkdtemp(join(work, 'fit-'));
    const dream = model && (await recordedDream(domain, records, model, folder));
    arms[arm] = {};
    for (const [name, of] of Object.entries(sets)) {
      const found = await scores(domain, dream, of);
      arms[arm][name] = summary(found);
      if (arm === JUDGED && name === 'other seeds') judged = found;
    }
    log(`seed ${seed}, ${arm}: F1 ${arms[arm]['other seeds'].elements?.toFixed(3)} on other seeds`);
  }
  const byTask = grouped(judged).map((found) => [found[0].family, mean(found.map(({ elements }) => elements))]);
  return { walks: records.length, arms, byTask: Object.fromEntries(byTask) };
}

/** Over seeds, and how far these lie apart. */
function meansOf(cases: readonly SeedCase[]): object {
  const over = (arm: string, set: string, key: Key) => {
    const values = cases.map(({ arms }) => arms[arm][set][key]).filter((value) => value !== null);
    return values.length === 0 ? null : { mean: mean(values), least: Math.min(...values), most: Math.max(...values) };
  };
  const of = (arm: string, set: string) => Object.fromEntries(KEYS.map((key) => [key, over(arm, set, key)]));
  return Object.fromEntries(
    Object.entries(cases[0].arms).map(([arm, sets]) => [
      arm,
      Object.fromEntries(Object.keys(sets).map((set) => [set, of(arm, set)])),
    ]),
  );
}

// How right the screens of a dream are, action by action, over walks that were recorded in the real ones.

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

type Summary = Readonly<Record<Key, number | null>> & {
  readonly actions: number;
  readonly elementF1ByStep: readonly (number | null)[];
};

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
      const simulated = applyOperations(real, said.operations);
      const [before, is, was] = [real, after, simulated].map((state) => state as ScreenState);
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

/** By family of tasks, in their order. */
function grouped(steps: readonly StepScores[]): StepScores[][] {
  const families = [...new Set(steps.map(({ family }) => family))];
  return families.map((name) => steps.filter(({ family }) => family === name));
}

const KEYS = ['elements', 'changes', 'transition', 'outcome', 'ownElements'] as const;
type Key = (typeof KEYS)[number];

function meanOf(steps: readonly StepScores[], key: Key): number | null {
  const values = steps.map((step) => step[key]).filter((value) => value !== null);
  return values.length === 0 ? null : mean(values.map(Number));
}

function summary(steps: readonly StepScores[]): Summary {
  const means = KEYS.map((key) => [key, meanOf(steps, key)]);
  const elementF1ByStep = Array.from({ length: Math.max(0, ...steps.map(({ step }) => step)) }, (_, i) =>
    meanOf(
      steps.filter(({ step }) => step === i + 1),
      'ownElements',
    ),
  );
  return { actions: steps.length, ...(Object.fromEntries(means) as Record<Key, number | null>), elementF1ByStep };
}
