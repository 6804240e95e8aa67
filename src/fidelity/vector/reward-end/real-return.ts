// What recorded actions really earned.

import type { Beginning } from '../open-loop.js';
import type { Ground } from '../plan.js';

/** Sum of the recorded rewards of a beginning's steps. */
export function realReturn({ truth }: Ground, { row, steps }: Beginning): number {
  return truth.rows.reward.subarray(row, row + steps).reduce((sum, reward) => sum + reward, 0);
}
