// Warm start on inverted-pendulum: see warm-start.ts.

import type { BenchmarkContext, Measurement } from './benchmark.js';
import { runWarmStart } from './warm-start.js';

export const run = (context: BenchmarkContext): Promise<Measurement> =>
  runWarmStart('warm-start.inverted-pendulum', 'inverted-pendulum', context);
