// Tools that both domains of τ-bench have and that never look at the data.

import { CalculationError, calculate, isCalculable } from './calculate.js';
import { refuse, type TauTool, ToolFailure } from './tool-kit.js';

export const calculator: TauTool<unknown> = {
  writes: false,
  run({ expression }: { expression: string }, context) {
    if (!isCalculable(expression)) refuse(context, 'invalid characters in expression');
    try {
      return calculate(expression);
    } catch (error) {
      if (error instanceof CalculationError) throw new ToolFailure(error.message);
      throw error;
    }
  },
};

export const think: TauTool<unknown> = { writes: false, only: 'tau1', run: () => '' };

export const handOver: TauTool<unknown> = { writes: false, run: () => 'Transfer successful' };
