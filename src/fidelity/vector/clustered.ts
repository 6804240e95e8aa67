// Means over rows that resemble their neighbours: intervals come from drawing whole units, never single rows.

import type { Rng } from '../../core/rng.js';
import { bootstrapEstimate } from '../statistics/bootstrap.js';
import { type Estimate, NOTHING, shareEstimate } from '../statistics/estimate.js';

import type { Units } from './truth.js';

export interface Clustered {
  readonly estimate: Estimate;
  /** The statistic of each unit by itself: what pairs models. */
  readonly samples: readonly (number | null)[];
}

interface Sum {
  readonly sum: number;
  readonly count: number;
}

/** A number of each row; null where there is none. */
export type RowValues = readonly (number | null)[];

const asItIs = (mean: number) => mean;

/** `shape` of the mean of all rows, such as the root of a mean of squares. */
export function clusteredMean(values: RowValues, units: Units, rng: Rng, shape = asItIs): Clustered {
  const sums = sumsOf(values, units);
  const filled = sums.filter(({ count }) => count > 0);
  const estimate = bootstrapEstimate(filled, (drawn) => shape(meanOfSums(drawn)), rng);
  return { estimate, samples: sums.map((unit) => (unit.count === 0 ? null : shape(unit.sum / unit.count))) };
}

/** A share of rows. Where all or none are hits, resampling sees no doubt: then it is Wilson's, of the units. */
export function clusteredShare(values: RowValues, units: Units, rng: Rng): Clustered {
  const found = clusteredMean(values, units, rng);
  const { value, n } = found.estimate;
  if (value !== 0 && value !== 1) return found;
  return { ...found, estimate: shareEstimate(value * n, n) };
}

/** Mean of `values` over mean of `others`, over rows that have both, through `shape`. */
export function clusteredRatio(
  values: RowValues,
  others: RowValues,
  units: Units,
  rng: Rng,
  shape = asItIs,
): Clustered {
  const both = values.map((value, i) => (others[i] === null ? null : value));
  const above = sumsOf(both, units);
  const below = sumsOf(
    others.map((other, i) => (values[i] === null ? null : other)),
    units,
  );
  const pairs = above.map((unit, u) => ({ above: unit.sum, below: below[u].sum, count: unit.count }));
  const ratio = (drawn: readonly { readonly above: number; readonly below: number }[]) => {
    const divisor = drawn.reduce((sum, pair) => sum + pair.below, 0);
    return divisor === 0 ? null : shape(drawn.reduce((sum, pair) => sum + pair.above, 0) / divisor);
  };
  const filled = pairs.filter(({ count }) => count > 0);
  const estimate = filled.length === 0 ? NOTHING : bootstrapEstimate(filled, ratio, rng);
  return { estimate, samples: pairs.map((pair) => (pair.count === 0 ? null : ratio([pair]))) };
}

/** Rows by unit, those of units without rows left out. */
export function byUnit<T>(rows: readonly T[], units: Units): readonly (readonly T[])[] {
  const groups = Array.from({ length: units.count }, (): T[] => []);
  rows.forEach((row, i) => {
    groups[units.of[i]].push(row);
  });
  return groups.filter(({ length }) => length > 0);
}

function sumsOf(values: RowValues, { count, of }: Units): Sum[] {
  const sums = Array.from({ length: count }, () => ({ sum: 0, count: 0 }));
  values.forEach((value, i) => {
    if (value === null) return;
    sums[of[i]].sum += value;
    sums[of[i]].count++;
  });
  return sums;
}

function meanOfSums(units: readonly Sum[]): number {
  let sum = 0;
  let count = 0;
  for (const unit of units) {
    sum += unit.sum;
    count += unit.count;
  }
  return sum / count;
}
