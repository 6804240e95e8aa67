// How much faster is a dreamt screen? The same walks of chance over MiniWoB++'s pages, done again in headless Chromium and in dreams by
// records carried over and mechanics, which is the one that is held against it, and by exact records: steps through the same environment. Seconds are the processor's, of all cores and processes together,
// so that neither side gains by a second core; opening a page is measured apart, in `raw`.

import { mkdtemp, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ToolsDomain } from '../src/env/tools/domain.js';
import { rulesResponder } from '../src/env/tools/rules-responder.js';
import type { Responder } from '../src/env/tools/tools-family.js';
import type { EpisodeRecord } from '../src/replay/experience/experience.js';
import type { BenchmarkContext, Measurement } from './benchmark.js';
import { measurePaired, median, ratioInterval } from './measure.js';
import { processesBelow } from './process-tree.js';
import { openScreens, recordedDream, recordedWalks, screenEnvironmentOf, tasksOf } from './screen-walks.js';

const NAMES = [
  'choose-list',
  'click-button',
  'click-checkboxes-large',
  'email-inbox',
  'enter-text',
  'login-user',
  'order-food',
  'search-engine',
  'social-media-some',
  'use-spinner',
];
const SEEDS = 3;
const STEPS = 12;
const ROUNDS = 9;
/** Times that the dream does all walks in a round: one is over too soon for the clock. */
const REPEATS = 20;
const LIFTED_REPEATS = 4;

interface Spent {
  readonly steps: number;
  readonly stepSeconds: number;
  readonly openSeconds: number;
}

export async function run({ quick, root, log }: BenchmarkContext): Promise<Measurement> {
  const names = quick ? NAMES.slice(0, 2) : NAMES;
  const domain = await openScreens({ root, names, seeds: quick ? 1 : SEEDS, browser: 'chromium' });
  const work = await mkdtemp(join(tmpdir(), 'reverie-screens-'));
  try {
    const records = await recordedWalks({ domain, tasks: tasksOf(domain), seed: 1, maxSteps: STEPS });
    const dream = await recordedDream(domain, records, { backends: ['lifted', 'mechanics'] }, work);
    const exact = await recordedDream(domain, records, { backends: ['mechanics', 'replay'] }, work);
    const exactRates: number[] = [];
    const pages = domain.rules as unknown as { begin(task: string): unknown };
    const chromium: Spent[] = [];
    const real = rulesResponder(domain);
    const rates = await measurePaired({
      rounds: quick ? 1 : ROUNDS,
      ours: async () => {
        exactRates.push(rateOf(await again(domain, exact, records, quick ? 1 : REPEATS)));
        return rateOf(await again(domain, dream, records, quick ? 1 : LIFTED_REPEATS));
      },
      baseline: async () => {
        const spent = await again(domain, real, records, 1, (task) => pages.begin(task));
        chromium.push(spent);
        return rateOf(spent);
      },
      log,
    });
    const opening = chromium.map(({ openSeconds }) => openSeconds / records.length);
    const raw = {
      episodes: records.length,
      dreamtStepsPerCpuSecond: rates.ours,
      exactRecordsStepsPerCpuSecond: exactRates,
      chromiumStepsPerCpuSecond: rates.baseline,
      chromiumCpuSecondsToOpen: { median: median(opening), all: opening },
    };
    const version = createRequire(import.meta.url)('playwright-core/package.json').version as string;
    return { ...ratioInterval(rates), n: rates.ours.length, raw, versions: { 'playwright-core': version } };
  } finally {
    domain.close();
    await rm(work, { recursive: true, force: true });
  }
}

function rateOf({ steps, stepSeconds }: Spent): number {
  return steps / stepSeconds;
}

/** Walks done again. @param open  brings the page of a task to its beginning */
async function again(
  domain: ToolsDomain,
  responder: Responder,
  records: readonly EpisodeRecord[],
  times: number,
  open: (task: string) => void = () => {},
): Promise<Spent> {
  const environment = screenEnvironmentOf(domain, responder, STEPS);
  let [steps, stepSeconds, openSeconds] = [0, 0, 0];
  for (let time = 0; time < times; time++) {
    for (const record of records) {
      openSeconds += await cpuSeconds(async () => open(record.task));
      stepSeconds += await cpuSeconds(async () => {
        await environment.reset({ task: record.task, seed: record.seed });
        for (const { action } of record.steps) requireAnswer((await environment.step(action)).info, record.task);
      });
      steps += record.steps.length;
    }
  }
  return { steps, stepSeconds, openSeconds };
}

/** A step that nobody answered would be a fast one. */
function requireAnswer({ predictions }: Readonly<Record<string, unknown>>, task: string): void {
  const refused = (predictions as { readonly refused?: unknown }[]).find((one) => one.refused !== undefined);
  if (refused !== undefined) throw new Error(`${task}: the dream does not know a step it was recorded from`);
}

/** Of this process and those it started, in seconds, without what looking at them takes. */
async function cpuSeconds(work: () => Promise<void>): Promise<number> {
  const before = processesBelow(process.pid).cpuSeconds;
  const began = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(began);
  return (user + system) / 1e6 + processesBelow(process.pid).cpuSeconds - before;
}
