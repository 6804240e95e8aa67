// As ensemble-train.vs-torch, with our gradient steps by vector code (`--device native`).

import type { BenchmarkContext, Measurement } from './benchmark.js';
import { trainingAgainstTorch } from './ensemble-train-vs-torch.js';

export function run(context: BenchmarkContext): Promise<Measurement> {
  return trainingAgainstTorch(context, 'native');
}
