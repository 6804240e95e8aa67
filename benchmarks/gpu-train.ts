// What a GPU is worth to a whole training: the same run on it and on the processor, taking turns.

import type { BenchmarkContext, Measurement } from './benchmark.js';
import { measureOnGpu } from './gpu-run.js';

export function run(context: BenchmarkContext): Promise<Measurement> {
  return measureOnGpu('train', 'gpu.train', context);
}
