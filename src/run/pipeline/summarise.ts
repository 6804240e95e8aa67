// Returns of a handful of real episodes, in a few numbers.

import type { EvalSummary } from '../job.js';

export function summariseReturns(returns: ArrayLike<number>, lengths: ArrayLike<number>): EvalSummary {
  const values = Array.from(returns);
  const meanReturn = mean(values);
  const squares = values.reduce((sum, value) => sum + (value - meanReturn) ** 2, 0);
  return {
    episodes: values.length,
    meanReturn,
    stdReturn: values.length > 1 ? Math.sqrt(squares / (values.length - 1)) : 0,
    minReturn: Math.min(...values),
    maxReturn: Math.max(...values),
    meanLength: mean(Array.from(lengths)),
  };
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
