// Warm start on cartpole-swingup: see warm-start.ts.

import type { BenchmarkContext, Measurement } from './benchmark.js';
import { runWarmStart } from './warm-start.js';

export const run = (context: BenchmarkContext): Promise<Measurement> =>
  runWarmStart('warm-start.swingup', 'cartpole-swingup', context);
