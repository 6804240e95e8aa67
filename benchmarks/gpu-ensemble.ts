// How fast the ensemble dreams on a GPU, and what share of the card that is.

import type { BenchmarkContext, Measurement } from './benchmark.js';
import { measureOnGpu } from './gpu-run.js';

export function run(context: BenchmarkContext): Promise<Measurement> {
  return measureOnGpu('time', 'gpu.ensemble', context);
}
