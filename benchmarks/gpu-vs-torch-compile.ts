// The ensemble on a GPU against PyTorch, JAX and mbrl-lib on the same card, taking turns.

import type { BenchmarkContext, Measurement } from './benchmark.js';
import { measureOnGpu } from './gpu-run.js';

export function run(context: BenchmarkContext): Promise<Measurement> {
  return measureOnGpu('peers', 'gpu.vs-torch-compile', context);
}
