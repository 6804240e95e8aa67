// When a body's episode ends: a quantity leaves its range. NaN is in no range.

import type { Termination } from './body-spec.js';

/** Whether one number lies within the range in which the episode goes on. */
export function isHealthy(range: Termination, value: number): boolean {
  if (Number.isNaN(value)) return false;
  if (range.above !== undefined && value <= range.above) return false;
  if (range.below !== undefined && value >= range.below) return false;
  if (range.atLeast !== undefined && value < range.atLeast) return false;
  return range.atMost === undefined || value <= range.atMost;
}
