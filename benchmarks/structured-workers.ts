// How rows of a structured world scale with threads: `synth helpdesk` with two workers against one, whole jobs, told by the
// wall time of living the rows. What is fixed (loading, suites, exports) is taken out by the difference of two lengths.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { launch } from '../src/run/launch.js';
import type { BenchmarkContext, Measurement } from './benchmark.js';
import { measurePaired, median, ratioInterval } from './measure.js';

export async function run({ quick, log }: BenchmarkContext): Promise<Measurement> {
  const rounds = quick ? 1 : 5;
  const [short, long] = quick ? [8, 24] : [2_000, 10_000];
  const folder = mkdtempSync(join(tmpdir(), 'reverie-bench-'));
  const seconds = async (workers: number, episodes: number) => {
    const out = join(folder, 'run');
    const set = [`synth.episodes=${episodes}`, 'synth.export=[openai]'];
    const began = performance.now();
    await launch('synth', {
      ...{ scenario: 'helpdesk', set, workers, out, quiet: true },
      ...{ stream: process.stderr, command: 'structured.workers' },
    });
    rmSync(out, { recursive: true });
    return (performance.now() - began) / 1000;
  };
  const rate = async (workers: number) =>
    (long - short) / ((await seconds(workers, long)) - (await seconds(workers, short)));
  try {
    const rates = await measurePaired({ rounds, ours: () => rate(2), baseline: () => rate(1), log });
    log(`medians: two ${median(rates.ours).toFixed(1)}, one ${median(rates.baseline).toFixed(1)} episodes/s`);
    const raw = { twoWorkersEpisodesPerSecond: rates.ours, oneWorkerEpisodesPerSecond: rates.baseline, short, long };
    return { ...ratioInterval(rates), n: rounds, raw };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
