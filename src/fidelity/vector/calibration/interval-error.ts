// How far stated interval levels are from how often the intervals hold the truth.

import type { Rng } from '../../../rng.js';
import { bootstrapEstimate } from '../../statistics/index.js';
import type { Clustered } from '../clustered.js';
import { holding } from '../section-parts.js';
import type { Units } from '../truth.js';

/** Levels of central intervals: 0.05, 0.1, ..., 0.95. */
export const LEVELS = Array.from({ length: 19 }, (_, i) => (i + 1) / 20);

/** Predicted chances of each row's elements; null for rows that do not count. */
export type Chances = readonly (readonly number[] | null)[];

interface Counts {
  readonly inside: readonly number[];
  readonly of: number;
}

/** Share of a row's elements inside their central interval of a level. */
export function shareInside(chances: readonly number[], level: number): number {
  return chances.filter((chance) => Math.abs(chance - 0.5) <= level / 2).length / chances.length;
}

/** Share inside at every level; empty where no row counts. */
export function coverageCurve(chances: Chances, units: Units): readonly number[] {
  return chances.every((row) => row === null) ? [] : curveOf(countsOf(chances, units));
}

/** Mean over levels of the distance between a level and the share of truths inside (Kuleshov et al. 2018, section 3.5). */
export function intervalError(chances: Chances, units: Units, rng: Rng): Clustered {
  const counts = countsOf(chances, units);
  const error = (drawn: readonly Counts[]) => {
    const curve = curveOf(drawn);
    return curve.reduce((sum, share, i) => sum + Math.abs(share - LEVELS[i]), 0) / LEVELS.length;
  };
  const filled = counts.filter(({ of }) => of > 0);
  const estimate = holding(bootstrapEstimate(filled, error, rng));
  return { estimate, samples: counts.map((unit) => (unit.of === 0 ? null : error([unit]))) };
}

function countsOf(chances: Chances, { count, of }: Units): readonly Counts[] {
  const counts = Array.from({ length: count }, () => ({ inside: LEVELS.map(() => 0), of: 0 }));
  chances.forEach((row, r) => {
    if (row === null) return;
    const unit = counts[of[r]];
    unit.of += row.length;
    for (const chance of row) {
      const least = Math.ceil(Math.abs(2 * chance - 1) * 20 - 1e-9);
      for (let i = Math.max(0, least - 1); i < LEVELS.length; i++) unit.inside[i]++;
    }
  });
  return counts;
}

function curveOf(counts: readonly Counts[]): number[] {
  const all = counts.reduce((sum, unit) => sum + unit.of, 0);
  return LEVELS.map((_, i) => counts.reduce((sum, { inside }) => sum + inside[i], 0) / all);
}
