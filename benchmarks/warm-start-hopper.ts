// Warm start on hopper: see warm-start.ts.

import type { BenchmarkContext, Measurement } from './benchmark.js';
import { runWarmStart } from './warm-start.js';

export const run = (context: BenchmarkContext): Promise<Measurement> =>
  runWarmStart('warm-start.hopper', 'hopper', context);
