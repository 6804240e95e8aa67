// Wall time of the quickstart's dream arm, each run alone and by as many threads as `reverie train` takes by itself: with the
// gradient steps of learner and ensemble, and dreaming, by ONNX Runtime (`--device cpu`, all there was before vector code) ÷ by
// vector code (`--device native`). The same scenario, seeds and threshold; the sides take turns. As sums are rounded in two ways,
// two runs of a seed may reach the threshold at different real steps, so each pair is compared over the real steps that
// both took; wall times to the threshold are in `raw`. So is what the time went into, as the runs' own journals say it.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { launch } from '../src/run/launch.js';
import { type MetricsEvent, readMetrics } from '../src/run/metrics.js';
import type { TrainResult } from '../src/run/pipeline/train.js';
import type { BenchmarkContext, Measurement } from './benchmark.js';
import { median, ratioInterval } from './measure.js';

const SCENARIO = 'cartpole-swingup';
const SEEDS = [100, 101, 102, 103, 104];
/** As the quickstart has its dream arm. */
const ARM = ['train.mode=dream', 'train.stopAtThreshold=true'];
const SIDES = ['native', 'cpu'] as const;

type Side = (typeof SIDES)[number];

interface TimedRun {
  readonly realSteps: number;
  readonly realStepsToThreshold: number | null;
  /** Of the processor, all threads; the machine may have been busy with other work. */
  readonly cpuSeconds: number;
  readonly events: readonly MetricsEvent[];
}

interface Pair extends Readonly<Record<Side, TimedRun>> {
  readonly seed: number;
  /** Real steps that both took. */
  readonly compared: number;
}

export async function run({ quick, log }: BenchmarkContext): Promise<Measurement> {
  const seeds = quick ? SEEDS.slice(0, 1) : SEEDS;
  const pairs: Pair[] = [];
  for (const [index, seed] of seeds.entries()) {
    const order = index % 2 === 0 ? SIDES : SIDES.toReversed();
    const runs: Partial<Record<Side, TimedRun>> = {};
    for (const side of order) {
      runs[side] = await timedRun(side, seed, quick);
      const { realStepsToThreshold, realSteps } = runs[side];
      const reached = realStepsToThreshold ?? `not in ${realSteps}`;
      log(`seed ${seed}, ${side}: ${reached} real steps, ${secondsUntil(runs[side]).toFixed(1)} s`);
    }
    const { native, cpu } = runs as Record<Side, TimedRun>;
    pairs.push({ seed, native, cpu, compared: Math.min(native.realSteps, cpu.realSteps) });
  }
  const wall = (side: Side) => pairs.map(({ [side]: timed, compared }) => secondsUntil(timed, compared));
  // Seconds take the place of rates, so the baseline's stand above.
  const ratio = ratioInterval({ ours: wall('cpu'), baseline: wall('native') });
  return {
    ...ratio,
    n: seeds.length,
    raw: { seeds, ...Object.fromEntries(SIDES.map((side) => [side, rawOf(side, pairs)])) },
  };
}

async function timedRun(device: Side, seed: number, quick: boolean): Promise<TimedRun> {
  const folder = await mkdtemp(join(tmpdir(), 'reverie-wall-'));
  const out = join(folder, 'run');
  const used = process.cpuUsage();
  try {
    const { realSteps, realStepsToThreshold } = await launch<TrainResult>('train', {
      ...{ scenario: SCENARIO, ...(quick && { profile: 'smoke' }), set: ARM, seed, device, out, quiet: true },
      ...{ stream: process.stderr, command: 'npm run bench' },
    });
    const { user, system } = process.cpuUsage(used);
    const events = readMetrics(join(out, 'metrics.jsonl'));
    return { realSteps, realStepsToThreshold, cpuSeconds: (user + system) / 1e6, events };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Wall time of a run until it was evaluated after `realSteps`, or to its end. */
function secondsUntil({ events }: TimedRun, realSteps = Number.POSITIVE_INFINITY): number {
  return events.findLast((event) => event.kind === 'eval' && event.realSteps! <= realSteps)!.wallSeconds;
}

/** What the runs of a side took their time for, medians of seconds; and each run's own figures. */
function rawOf(side: Side, pairs: readonly Pair[]) {
  const runs = pairs.map(({ [side]: timed }) => timed);
  const phases = pairs.map(({ [side]: { events }, compared }) =>
    phasesOf(events.filter((event) => event.realSteps! <= compared)),
  );
  const names = Object.keys(phases[0]) as (keyof Phases)[];
  return {
    medianSecondsOf: Object.fromEntries(names.map((name) => [name, median(phases.map((phase) => phase[name]))])),
    phases,
    secondsCompared: pairs.map(({ [side]: timed, compared }) => secondsUntil(timed, compared)),
    secondsToThreshold: runs.map((timed) => (timed.realStepsToThreshold === null ? null : secondsUntil(timed))),
    realStepsToThreshold: runs.map(({ realStepsToThreshold }) => realStepsToThreshold),
    holdoutErrors: runs.map(({ events }) => valuesOf(events, 'fit', 'holdoutError')),
    cpuSecondsOfWholeRun: runs.map(({ cpuSeconds }) => cpuSeconds),
  };
}

interface Phases {
  readonly fit: number;
  readonly dreaming: number;
  /** Batches drawn for them counted too. */
  readonly updates: number;
  readonly evaluation: number;
  /** Real steps, trials of the model, checkpoints. */
  readonly rest: number;
}

/** Fits and dreams say how long they took; an update or an evaluation took what has passed since the event before it. */
function phasesOf(events: readonly MetricsEvent[]): Phases {
  const since = (kind: string) =>
    events.reduce((sum, event, i) => {
      return event.kind === kind ? sum + event.wallSeconds - (events[i - 1]?.wallSeconds ?? 0) : sum;
    }, 0);
  const told = (kind: string) => valuesOf(events, kind, 'seconds').reduce((sum, seconds) => sum + seconds, 0);
  const [fit, dreaming, updates, evaluation] = [told('fit'), told('dream'), since('update'), since('eval')];
  const total = events.at(-1)!.wallSeconds;
  return { fit, dreaming, updates, evaluation, rest: total - fit - dreaming - updates - evaluation };
}

function valuesOf(events: readonly MetricsEvent[], kind: string, name: string): number[] {
  return events.filter((event) => event.kind === kind).map((event) => event[name] as number);
}
