// Wall time of the quickstart's dream arm, each run alone and by as many threads as `reverie train` takes by itself: with the
// gradient steps of learner and ensemble, and dreaming, by ONNX Runtime (`--device cpu`, all there was before vector code) ÷ by
// vector code (`--device native`). The same scenario, seeds and threshold; the sides take turns. As sums are rounded in two ways,
// two runs of a seed may reach the threshold at different real steps, so each pair is compared over the real steps that
// both took; wall times to the threshold are in `raw`.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { launch } from '../src/run/launch.js';
import { type MetricsEvent, readMetrics } from '../src/run/metrics.js';
import type { TrainResult } from '../src/run/pipeline/train.js';
import type { BenchmarkContext, Measurement } from './benchmark.js';
import { ratioInterval } from './measure.js';

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

function rawOf(side: Side, pairs: readonly Pair[]) {
  const runs = pairs.map(({ [side]: timed }) => timed);
  return {
    secondsCompared: pairs.map(({ [side]: timed, compared }) => secondsUntil(timed, compared)),
    secondsToThreshold: runs.map((timed) => (timed.realStepsToThreshold === null ? null : secondsUntil(timed))),
    realStepsToThreshold: runs.map(({ realStepsToThreshold }) => realStepsToThreshold),
    cpuSecondsOfWholeRun: runs.map(({ cpuSeconds }) => cpuSeconds),
  };
}
