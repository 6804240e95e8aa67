// As dream.workers, with the ensemble and the policy computed by vector code of our own (`--device native`): whole rollouts, their
// rows shared among as many threads as there are workers.

import type { BenchmarkContext, Measurement } from './benchmark.js';
import { measureWorkers } from './dream-workers.js';

export function run(context: BenchmarkContext): Promise<Measurement> {
  return measureWorkers(context, { device: { kind: 'native', precision: 'fp32' } });
}
