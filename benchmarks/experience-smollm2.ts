// Does a real language model learn in the dream? Success in the real environment, on held-out tasks, of SmolLM2-135M-Instruct
// after imitation and GRPO in a dream, minus as it is, in points.

import type { BenchmarkContext, Measurement } from './benchmark.js';
import { pointsAbove } from './smollm2-arms.js';

export function run(context: BenchmarkContext): Promise<Measurement> {
  return pointsAbove(['untrained', 'imitation', 'dream'], context);
}
