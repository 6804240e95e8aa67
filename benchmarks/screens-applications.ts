// How right are dreamt screens of applications? As screens.exactness, of TiddlyWiki in Chromium: walks of chance are recorded
// on one seed of some of an application's tasks, and a dream of them answers other walks, on the same seed, on one that nobody recorded, and
// in tasks of which nothing was recorded. The value is the F1 of elements on other seeds, by records carried over and mechanics; the interval
// is over its tasks. Kept by application and seed; SCREENS_SEEDS names some.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Json } from '../src/core/canonical-json.js';
import { contentHash } from '../src/core/canonical-json.js';
import type { ToolsDomain, ToolsTask } from '../src/env/tools/domain.js';
import { makeDomain } from '../src/env/tools/domains.js';
import type { EpisodeRecord } from '../src/replay/experience/experience.js';
import type { BenchmarkContext, Measurement } from './benchmark.js';
import { bootstrap, mean } from './measure.js';
import { grouped, type Summary, scores, summary } from './screen-scores.js';
import { recordedDream, recordedWalks, tasksOf } from './screen-walks.js';
import { type CaseName, chosen, type Study, studyOf } from './study-cases.js';

const APPLICATIONS = ['tiddlywiki'];
const SEEDS = ['1', '2', '3', '4', '5'];
const STEPS = 6;
const WALKS = 2;
/** Every so many tasks one is left out of the records. */
const LEFT_OUT = 3;
const JUDGED = 'lifted records, then mechanics';

interface ApplicationCase extends CaseName {
  readonly walks: number;
  /** By arm and set. */
  readonly arms: Readonly<Record<string, Readonly<Record<string, Summary>>>>;
  /** F1 of elements on other seeds by the arm that is judged, of each task. */
  readonly byTask: Readonly<Record<string, number>>;
}

interface Sitting {
  readonly study: Study<ApplicationCase>;
  readonly quick: boolean;
  readonly log: BenchmarkContext['log'];
}

export async function run({ quick, root, log }: BenchmarkContext): Promise<Measurement> {
  const study = await studyOf<ApplicationCase>(root, 'screens.applications', quick);
  const seeds = quick ? ['1'] : chosen(SEEDS, 'SCREENS_SEEDS');
  const cases: ApplicationCase[] = [];
  for (const seed of seeds)
    for (const id of APPLICATIONS) cases.push(await applicationCase({ study, quick, log }, id, Number(seed)));
  const values = APPLICATIONS.flatMap((body) => {
    const own = cases.filter((one) => one.body === body);
    return Object.keys(own[0].byTask).map((task) => mean(own.map(({ byTask }) => byTask[task])));
  });
  return { ...bootstrap(values, mean), n: values.length, raw: { cases } };
}

/** Kept, or measured now and kept. @throws ENV_UNUSABLE, ENV_UNUSABLE */
async function applicationCase({ study, quick, log }: Sitting, id: string, seed: number): Promise<ApplicationCase> {
  const domain = await makeDomain({ id, seeds: seed + 1 }, { folder: '.' });
  const work = await mkdtemp(join(tmpdir(), 'reverie-screens-'));
  try {
    const settings = { steps: STEPS, walks: WALKS, leftOut: LEFT_OUT };
    const name = { body: id, arm: JUDGED, seed, hash: contentHash({ ...settings, domain: domain.version } as Json) };
    const kept = study.find(name);
    if (kept !== undefined) return kept;
    const found = { ...name, ...(await measured(domain, { seed, work, quick })) };
    await study.keep(found);
    log(`${id}, seed ${seed}: F1 ${found.arms[JUDGED]['other seeds'].elements?.toFixed(3)} on other seeds`);
    return found;
  } finally {
    domain.close();
    await rm(work, { recursive: true, force: true });
  }
}

interface Asked {
  readonly seed: number;
  readonly work: string;
  readonly quick: boolean;
}

async function measured(
  domain: ToolsDomain,
  { seed, work, quick }: Asked,
): Promise<Pick<ApplicationCase, 'walks' | 'arms' | 'byTask'>> {
  const families = [...new Set(domain.tasks.map(({ family }) => family))].slice(0, quick ? 1 : undefined);
  const isLeftOut = ({ family }: ToolsTask) => families.indexOf(family) % LEFT_OUT === LEFT_OUT - 1;
  // Seeds of a split begin at a million times its place.
  const ofSeed = (split: 'train' | 'validation') =>
    tasksOf(domain, split).filter(
      ({ id, family }) => families.includes(family) && Number(id.split('.').at(-1)) % 1_000_000 === seed,
    );
  const walked = (tasks: readonly ToolsTask[], walk: number) =>
    recordedWalks({ domain, tasks, seed: walk, maxSteps: quick ? 2 : STEPS });
  const known = ofSeed('train').filter((task) => !isLeftOut(task));
  const records: EpisodeRecord[] = [];
  for (let walk = 0; walk < (quick ? 1 : WALKS); walk++) records.push(...(await walked(known, walk)));
  const heldOut = ofSeed('validation');
  const others = heldOut.filter((task) => !isLeftOut(task));
  const sets = {
    'recorded seeds': await walked(known, WALKS),
    'other seeds': await walked(others, WALKS),
    'other tasks': await walked(heldOut.filter(isLeftOut), WALKS),
  };
  const dream = await recordedDream(domain, records, { backends: ['lifted', 'mechanics'] }, work);
  const arms: Record<string, Record<string, Summary>> = { nothing: {}, [JUDGED]: {} };
  for (const [set, walks] of Object.entries(sets)) {
    arms['nothing'][set] = summary(await scores(domain, undefined, walks));
    arms[JUDGED][set] = summary(await scores(domain, dream, walks));
  }
  const byTask = grouped(await scores(domain, dream, sets['other seeds'])).map((steps) => [
    steps[0].family,
    mean(steps.map(({ elements }) => elements)),
  ]);
  return { walks: records.length, arms, byTask: Object.fromEntries(byTask) };
}
