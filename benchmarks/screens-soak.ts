// Do browsers hold for long? Real episodes of chance over all of MiniWoB++'s pages, in two processes with a headless Chromium each. The
// value is how many were lost; what else counts is which processes of the browsers were left behind, and how much more memory
// the two and their browsers hold at the end than after a third of the episodes, by when every page was open once. Memory grows within the
// life of a process, so a run that was stopped begins anew.

import { type ChildProcess, fork } from 'node:child_process';
import { createRequire } from 'node:module';
import { setTimeout as sleep } from 'node:timers/promises';
import type { BenchmarkContext, Measurement } from './benchmark.js';
import { mean } from './measure.js';
import { processAlone, processesBelow } from './process-tree.js';
import type { SoakReport, SoakWish } from './screens-soak-worker.js';

const AT_ONCE = 2;
const EPISODES = 1000;
/** Of the episodes: before memory is looked at, and the stretches at both ends that are compared. */
const WARM_UP = 1 / 3;
const STRETCH = 1 / 10;
/** What a closed browser may take to be gone. */
const GONE_MS = 10_000;

interface Life {
  readonly steps: number;
  readonly lost: readonly string[];
  /** Of the process and its browser, after each episode. */
  readonly megabytes: readonly number[];
  readonly mostProcesses: number;
  readonly leakedProcesses: number;
}

export async function run({ quick, root, log }: BenchmarkContext): Promise<Measurement> {
  const episodes = quick ? 4 : Number(process.env['REVERIE_SOAK_EPISODES'] ?? EPISODES);
  const each = Math.ceil(episodes / AT_ONCE);
  const names = quick ? { names: ['click-button', 'enter-text'] } : {};
  const lives = await Promise.all(
    Array.from({ length: AT_ONCE }, (_, worker) => lived({ root, ...names, episodes: each, worker }, log)),
  );
  const lost = lives.flatMap((life) => life.lost);
  const growth = lives.map(({ megabytes }) => growthOf(megabytes));
  const raw = {
    episodes: each * AT_ONCE,
    steps: lives.reduce((sum, { steps }) => sum + steps, 0),
    lost,
    leakedProcesses: lives.reduce((sum, { leakedProcesses }) => sum + leakedProcesses, 0),
    mostProcesses: lives.map(({ mostProcesses }) => mostProcesses),
    memoryGrowthPercent: { mean: mean(growth), each: growth },
    megabytes: lives.map(({ megabytes }) => megabytes),
  };
  log(
    `lost ${lost.length}, processes left ${raw.leakedProcesses}, memory ${raw.memoryGrowthPercent.mean.toFixed(1)} %`,
  );
  const version = createRequire(import.meta.url)('playwright-core/package.json').version as string;
  const value = lost.length;
  return { value, low: value, high: value, n: each * AT_ONCE, raw, versions: { 'playwright-core': version } };
}

async function lived(wish: SoakWish, log: BenchmarkContext['log']): Promise<Life> {
  const child = fork(new URL('./screens-soak-worker.js', import.meta.url));
  const pid = child.pid!;
  const [lost, megabytes]: [string[], number[]] = [[], []];
  let [steps, mostProcesses] = [0, 0];
  try {
    child.send(wish);
    for await (const report of reportsOf(child)) {
      const below = processesBelow(pid);
      mostProcesses = Math.max(mostProcesses, below.processes.length);
      megabytes.push(below.residentMegabytes + processAlone(pid).residentMegabytes);
      steps += report.steps;
      if (report.lost !== undefined) lost.push(report.lost);
      if (megabytes.length % 50 === 0) {
        const last = Math.round(megabytes.at(-1)!);
        log(`process ${wish.worker + 1}: ${megabytes.length} of ${wish.episodes}, ${lost.length} lost, ${last} MB`);
      }
    }
    return { steps, lost, megabytes, mostProcesses, leakedProcesses: await leftBelow(pid) };
  } finally {
    if (child.connected) child.disconnect();
  }
}

type EpisodeReport = Extract<SoakReport, { readonly kind: 'episode' }>;

/** Until its browser is closed. @throws where the process ends before that */
async function* reportsOf(child: ChildProcess): AsyncGenerator<EpisodeReport> {
  const queue: (SoakReport | Error)[] = [];
  let wake = () => {};
  const put = (one: SoakReport | Error) => {
    queue.push(one);
    wake();
  };
  child.on('message', put);
  child.on('exit', (code) => put(new Error(`the process of the episodes ended with ${code}`)));
  for (;;) {
    const next = queue.shift();
    if (next === undefined) await new Promise<void>((resolve) => (wake = resolve));
    else if (next instanceof Error) throw next;
    else if (next.kind === 'over') return;
    else yield next;
  }
}

/** Processes that are still there when a closed browser should be gone. */
async function leftBelow(pid: number): Promise<number> {
  const until = performance.now() + GONE_MS;
  let left = processesBelow(pid).processes.length;
  while (left > 0 && performance.now() < until) {
    await sleep(200);
    left = processesBelow(pid).processes.length;
  }
  return left;
}

/** In percent, between the two stretches. */
function growthOf(megabytes: readonly number[]): number {
  const between = (from: number, to: number) =>
    mean(megabytes.filter((_, i) => i >= Math.floor(from * megabytes.length) && i < Math.ceil(to * megabytes.length)));
  const before = between(WARM_UP, WARM_UP + STRETCH);
  return (100 * (between(1 - STRETCH, 1) - before)) / before;
}
