// How long a full report takes: 10,000 real transitions of half-cheetah, an ensemble of MBPO's shape, every section but the
// one that trains learners, two worker threads.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BenchmarkContext, Measurement } from './benchmark.js';
import { judge, runJob } from './fidelity-runs.js';
import { median } from './measure.js';

const SCENARIO = 'half-cheetah';
const WORKERS = 2;
const SEED = 5;

export async function run({ quick, log }: BenchmarkContext): Promise<Measurement> {
  const folder = await mkdtemp(join(tmpdir(), 'reverie-fidelity-'));
  const transitions = quick ? 1000 : 10_000;
  try {
    const seen = await runJob({
      job: 'collect',
      scenario: SCENARIO,
      set: [`collect.steps=${quick ? 500 : 5000}`],
      seed: SEED,
      out: join(folder, 'seen'),
    });
    // How well the model was fitted does not matter to how long it takes to judge it.
    const model = await runJob({
      job: 'fit',
      scenario: SCENARIO,
      set: ['model.maxEpochs=3'],
      seed: SEED,
      inputs: { data: seen },
      out: join(folder, 'model'),
    });
    const seconds: number[] = [];
    const sections: Record<string, number> = {};
    for (let round = 0; round < (quick ? 1 : 3); round++) {
      const started = performance.now();
      const report = await judge({
        scenario: SCENARIO,
        set: [`fidelity.transitions=${transitions}`],
        seed: SEED + 1 + round,
        workers: WORKERS,
        inputs: { model },
        out: join(folder, `judged-${round}`),
      });
      seconds.push((performance.now() - started) / 1000);
      for (const { id, metrics } of report.subjects[0].sections) sections[id] = metrics.length;
      log(`${transitions} transitions: ${seconds.at(-1)!.toFixed(1)} s`);
    }
    const raw = { transitions, workers: WORKERS, seconds, metricsBySection: sections };
    return { value: median(seconds), low: Math.min(...seconds), high: Math.max(...seconds), n: seconds.length, raw };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
