// As dream.workers, with the ensemble and the policy computed by vector code of our own (`--device native`): whole rollouts, their
// rows shared among as many threads as there are workers. Beside it the same of multiply-adds that touch no memory, which is what the
// machine's cores allow.

import type { BenchmarkContext, Measurement } from './benchmark.js';
import { measureWorkers } from './dream-workers.js';
import { PeakThreads } from './peak-threads.js';

export async function run(context: BenchmarkContext): Promise<Measurement> {
  const peaks = await PeakThreads.start();
  try {
    return await measureWorkers(context, { device: { kind: 'native', precision: 'fp32' } }, peaks);
  } finally {
    await peaks.close();
  }
}
