// What is it worth to imitate verified successes alone? Success in the real environment, on held-out tasks, of
// SmolLM2-135M-Instruct after imitation of these, minus after as many steps on all that was lived, in points.

import type { BenchmarkContext, Measurement } from './benchmark.js';
import { pointsAbove } from './smollm2-arms.js';

export function run(context: BenchmarkContext): Promise<Measurement> {
  return pointsAbove(['imitation-unfiltered', 'imitation'], context);
}
