// Repairing stated doubt: a factor for each element's standard deviation, or a map of predicted chances to those observed
// (Kuleshov et al. 2018, 1807.00263). Fitted on the even units, judged on the odd ones.

import { pitGaussian } from '../../statistics/interval-coverage.js';
import type { Ground } from '../plan.js';
import type { CalibrationRow } from './row.js';

export interface Recalibration {
  /** Factor of each element's standard deviation. */
  readonly scale: readonly number[];
  /** Rows it was not fitted to, by place; null for those it was. */
  readonly before: readonly (readonly number[] | null)[];
  /** Their chances with rescaled standard deviations, each element one Gaussian. */
  readonly rescaled: readonly (readonly number[] | null)[];
  /** Their chances through the map. */
  readonly remapped: readonly (readonly number[] | null)[];
  /** Nats an element that rescaling saves on them. */
  readonly gain: readonly (number | null)[];
}

export function recalibration({ units, scales }: Ground, rows: readonly CalibrationRow[]): Recalibration {
  const isHeld = (r: number) => units.of[r] % 2 === 1;
  const fitted = rows.filter((_, r) => !isHeld(r));
  const scale = scales.change.map((_, j) => rootMean(fitted.map(({ z }) => z[j])) || 1);
  const maps = scales.change.map((_, j) => Float64Array.from(fitted, ({ pit }) => pit[j]).sort());
  const held = <T>(of: (row: CalibrationRow) => T) => rows.map((row, r) => (isHeld(r) ? of(row) : null));
  return {
    scale,
    before: held(({ pit }) => pit),
    rescaled: held(({ z }) => z.map((value, j) => normalChance(value / scale[j]))),
    remapped: held(({ pit }) => pit.map((chance, j) => observedChance(maps[j], chance))),
    gain: held(({ z }) => gainOf(z, scale)),
  };
}

/** Share of sorted `pits` below a chance, those equal counted half. */
function observedChance(pits: Float64Array, chance: number): number {
  const below = firstAtLeast(pits, chance);
  let equal = 0;
  while (pits[below + equal] === chance) equal++;
  return pits.length === 0 ? chance : (below + equal / 2) / pits.length;
}

function firstAtLeast(sorted: Float64Array, value: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Of one Gaussian an element: what its likelihood gains by the factor, whatever its standard deviation is. */
function gainOf(z: readonly number[], scale: readonly number[]): number {
  const gains = z.map((value, j) => 0.5 * value ** 2 * (1 - 1 / scale[j] ** 2) - Math.log(scale[j]));
  return gains.reduce((sum, gain) => sum + gain, 0) / z.length;
}

function rootMean(values: readonly number[]): number {
  return values.length === 0 ? 0 : Math.sqrt(values.reduce((sum, value) => sum + value * value, 0) / values.length);
}

// The chance that a standard normal is below a value.

function normalChance(value: number): number {
  return pitGaussian(value, 0, 1);
}
