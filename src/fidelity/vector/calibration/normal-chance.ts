// The chance that a standard normal is below a value.

import { pitGaussian } from '../../statistics/index.js';

export function normalChance(value: number): number {
  return pitGaussian(value, 0, 1);
}
