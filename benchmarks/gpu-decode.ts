// Decoding of small language models on a GPU against PyTorch on the same card, taking turns.

import type { BenchmarkContext, Measurement } from './benchmark.js';
import { measureOnGpu } from './gpu-run.js';

export function run(context: BenchmarkContext): Promise<Measurement> {
  return measureOnGpu('decode', 'gpu.decode', context);
}
