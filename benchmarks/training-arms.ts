// Training runs as a benchmark: the scenario's arms with several seeds, in a folder that an interrupted run goes on from.

import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { JobContext } from '../src/run/job.js';
import { MetricsWriter } from '../src/run/metrics.js';
import { type Arm, type ArmRun, armTask, trainArms } from '../src/run/pipeline/arms.js';
import { makeProgress } from '../src/run/progress.js';
import { adjustScenario, type Scenario } from '../src/run/scenario.js';
import type { BenchmarkContext } from './benchmark.js';

export interface ArmsBenchmark {
  readonly id: string;
  readonly scenario: Scenario;
  readonly arms: readonly Arm[];
  readonly seeds: readonly number[];
  readonly finalEpisodes: number;
}

/** The context in which the arms of a benchmark run; `threads` runs side by side, each in a thread of its own. */
export async function runArms(
  { id, scenario, arms, seeds, finalEpisodes }: ArmsBenchmark,
  { root, quick, log }: BenchmarkContext,
): Promise<{ runs: ArmRun[]; context: JobContext }> {
  const out = join(root, 'benchmarks', '.cache', `${id}${quick ? '-quick' : ''}-${scenario.hash.slice(0, 12)}`);
  const resume = existsSync(out);
  mkdirSync(out, { recursive: true });
  const metrics = new MetricsWriter(join(out, 'metrics.jsonl'));
  const progress = makeProgress({ stream: process.stderr });
  const signal = new AbortController().signal;
  const context: JobContext = {
    scenario,
    seed: seeds[0],
    workers: 0,
    out,
    inputs: {},
    resume,
    signal,
    progress,
    metrics,
    log,
  };
  try {
    const judged = await Promise.all(arms.map((arm) => judgedBy(arm, finalEpisodes)));
    const options = { seeds, threads: threads(), task: armTask, unit: 'real steps' };
    return { runs: await trainArms(judged, options, context), context };
  } finally {
    progress.close();
    metrics.close();
  }
}

async function judgedBy({ name, scenario }: Arm, finalEpisodes: number): Promise<Arm> {
  return { name, scenario: await adjustScenario(scenario, { set: [`quickstart.finalEpisodes=${finalEpisodes}`] }) };
}

/** Learning results do not depend on it. */
function threads(): number {
  return Number(process.env['REVERIE_BENCH_THREADS'] ?? 2);
}
