// What every statistic asks of its numbers: finite, and as many of one kind as of the other.

import { reverieError } from '../../core/errors.js';

/** @throws FIDELITY_NUMBERS_INVALID if lengths differ */
export function sameLength(statistic: string, first: ArrayLike<unknown>, second: ArrayLike<unknown>): void {
  if (first.length === second.length) return;
  throw unfit(statistic, `there are ${first.length} of one kind and ${second.length} of the other.`);
}

/** @throws FIDELITY_NUMBERS_INVALID if any is NaN or infinite */
export function allFinite(statistic: string, values: ArrayLike<number>): void {
  for (let i = 0; i < values.length; i++) {
    if (!Number.isFinite(values[i])) throw unfit(statistic, `number ${i} is ${values[i]}.`);
  }
}

/** @throws FIDELITY_NUMBERS_INVALID if any is outside [0, 1] */
export function allShares(statistic: string, values: ArrayLike<number>): void {
  for (let i = 0; i < values.length; i++) {
    if (!(values[i] >= 0 && values[i] <= 1)) throw unfit(statistic, `number ${i} is ${values[i]}, outside [0, 1].`);
  }
}

export function unfit(statistic: string, problem: string): Error {
  return reverieError('FIDELITY_NUMBERS_INVALID', { statistic, problem });
}
