// How right are dreamt screens? Walks of chance are recorded on one seed of some of MiniWoB++'s tasks, and dreams are made of them. Each then
// answers the actions of other walks, in the true screen and on its own: on the same seed, on one that nobody recorded, and on tasks of
// which nothing was recorded. The value is the F1 of elements on other seeds, by records carried over to them and mechanics for what these
// doubt; the interval is over tasks. Kept seed by seed; SCREENS_SEEDS names some. `lifted` was made with seed 0 in view, which is none of them.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Json } from '../src/core/canonical-json.js';
import { contentHash } from '../src/core/canonical-json.js';
import type { ToolsDomain, ToolsTask } from '../src/env/tools/domain.js';
import type { EpisodeRecord } from '../src/replay/experience/experience.js';
import type { ToolsModelConfigInput } from '../src/worldmodel/tools/tools-model-schema.js';
import type { BenchmarkContext, Measurement } from './benchmark.js';
import { bootstrap, mean } from './measure.js';
import { grouped, KEYS, type Key, type StepScores, type Summary, scores, summary } from './screen-scores.js';
import { openScreens, recordedDream, recordedWalks, tasksOf } from './screen-walks.js';
import { type CaseName, chosen, type Study, studyOf } from './study-cases.js';

const SEEDS = ['1', '2', '3', '4', '5'];
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

/** What one seed of every task came to. */
interface SeedCase extends CaseName {
  readonly walks: number;
  /** By arm and set. */
  readonly arms: Readonly<Record<string, Readonly<Record<string, Summary>>>>;
  /** F1 of elements on other seeds by the arm that is judged, of each task. */
  readonly byTask: Readonly<Record<string, number>>;
}

export async function run({ quick, root, log }: BenchmarkContext): Promise<Measurement> {
  const tasks = (await import(pathToFileURL(join(root, 'packs', 'miniwob', 'tasks.mjs')).href)) as {
    readonly IN_JSDOM: readonly string[];
  };
  const names = quick ? tasks.IN_JSDOM.slice(0, 2) : tasks.IN_JSDOM;
  const study = await studyOf<SeedCase>(root, 'screens.exactness', quick);
  const seeds = quick ? ['1'] : chosen(SEEDS, 'SCREENS_SEEDS');
  const cases: SeedCase[] = [];
  for (const seed of seeds) cases.push(await seedCase({ study, root, names, log }, Number(seed)));
  const families = Object.keys(cases[0].byTask);
  const values = families.map((family) => mean(cases.map(({ byTask }) => byTask[family])));
  return { ...bootstrap(values, mean), n: values.length, raw: { cases, arms: meansOf(cases) } };
}

interface Sitting extends Pick<BenchmarkContext, 'root' | 'log'> {
  readonly study: Study<SeedCase>;
  readonly names: readonly string[];
}

/** Kept, or measured now and kept: walks are recorded on this seed of each task, and on none other. */
async function seedCase({ study, root, names, log }: Sitting, seed: number): Promise<SeedCase> {
  const domain = await openScreens({ root, names, seeds: seed + 1, browser: 'jsdom' });
  const work = await mkdtemp(join(tmpdir(), 'reverie-screens-'));
  try {
    const settings = { arms: ARMS, steps: STEPS, walks: WALKS_OF_A_SEED, leftOut: LEFT_OUT };
    const hash = contentHash({ ...settings, domain: domain.version } as unknown as Json);
    const name = { body: 'all tasks', arm: 'all arms', seed, hash };
    const kept = study.find(name);
    if (kept !== undefined) return kept;
    const found = { ...name, ...(await measured(domain, names, seed, work, log)) };
    await study.keep(found);
    return found;
  } finally {
    domain.close();
    await rm(work, { recursive: true, force: true });
  }
}

async function measured(
  domain: ToolsDomain,
  names: readonly string[],
  seed: number,
  work: string,
  log: BenchmarkContext['log'],
): Promise<Pick<SeedCase, 'walks' | 'arms' | 'byTask'>> {
  const isLeftOut = ({ family }: ToolsTask) => names.indexOf(family) % LEFT_OUT === LEFT_OUT - 1;
  // Seeds of a split begin at a million times its place.
  const ofSeed = (split: 'train' | 'validation') =>
    tasksOf(domain, split).filter(({ id }) => Number(id.split('.').at(-1)) % 1_000_000 === seed);
  const known = ofSeed('train').filter((task) => !isLeftOut(task));
  const heldOut = ofSeed('validation');
  const walked = (tasks: readonly ToolsTask[], walk: number) =>
    recordedWalks({ domain, tasks, seed: walk, maxSteps: STEPS });
  const records: EpisodeRecord[] = [];
  for (let walk = 0; walk < WALKS_OF_A_SEED; walk++) records.push(...(await walked(known, walk)));
  const sets = {
    'recorded seeds': await walked(known, WALKS_OF_A_SEED),
    'other seeds': await walked(
      heldOut.filter((task) => !isLeftOut(task)),
      WALKS_OF_A_SEED,
    ),
    'other tasks': await walked(heldOut.filter(isLeftOut), WALKS_OF_A_SEED),
  };
  const arms: Record<string, Record<string, Summary>> = {};
  let judged: StepScores[] = [];
  for (const [arm, model] of Object.entries(ARMS)) {
    const dream =
      model === undefined ? undefined : await recordedDream(domain, records, model, await mkdtemp(join(work, 'fit-')));
    arms[arm] = {};
    for (const [name, of] of Object.entries(sets)) {
      const steps = await scores(domain, dream, of);
      arms[arm][name] = summary(steps);
      if (arm === JUDGED && name === 'other seeds') judged = steps;
    }
    log(`seed ${seed}, ${arm}: F1 ${arms[arm]['other seeds'].elements?.toFixed(3)} on other seeds`);
  }
  const byTask = grouped(judged).map((steps) => [steps[0].family, mean(steps.map(({ elements }) => elements))]);
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
