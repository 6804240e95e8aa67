// Intervals of what is computed from a whole ladder: both its policies and its episodes are a sample, so both are drawn again.

import type { Rng } from '../../rng.js';
import { type Estimate, NOTHING, quantile } from '../statistics/index.js';
import { type PairedReturns, valuesOf } from './paired-returns.js';

/** Mean returns of the policies, real and dreamt. */
export interface LadderReturns {
  readonly real: readonly number[];
  readonly dreamt: readonly number[];
}

/** null where it is not defined, such as a correlation of equal values. */
export type LadderStatistic = (returns: LadderReturns) => number | null;

const DRAWS = 1000;

/**
 * Value of each statistic on the ladder, with a percentile interval (95 %) from a crossed bootstrap: policies and episodes are
 * drawn with replacement, the same episodes for every policy and both worlds, as these share starts and noise (Owen 2007,
 * "The pigeonhole bootstrap", Ann. Appl. Stat. 1). Draws on which a statistic is not defined are left out. `n` is policies.
 */
export function crossedBootstrap<K extends string>(
  { policies }: PairedReturns,
  statistics: Readonly<Record<K, LadderStatistic>>,
  rng: Rng,
  draws = DRAWS,
): Record<K, Estimate> {
  const real = policies.map((policy) => columnOf(valuesOf(policy.real)));
  const dreamt = policies.map((policy) => columnOf(valuesOf(policy.dreamt)));
  const names = Object.keys(statistics) as K[];
  const drawn = new Map(names.map((name) => [name, [] as number[]]));
  const drawRng = rng.split('ladder');
  for (let draw = 0; draw < draws; draw++) {
    const returns = resampled(real, dreamt, drawRng);
    for (const name of names) {
      const value = statistics[name](returns);
      if (value !== null) drawn.get(name)?.push(value);
    }
  }
  const all = Uint32Array.from({ length: real[0]?.length ?? 0 }, (_, i) => i);
  const whole = {
    real: real.map((column) => meanAt(column, all)),
    dreamt: dreamt.map((column) => meanAt(column, all)),
  };
  const entries = names.map((name) => [
    name,
    estimateOf(statistics[name](whole), drawn.get(name) ?? [], policies.length),
  ]);
  return Object.fromEntries(entries) as Record<K, Estimate>;
}

function resampled(real: readonly Float64Array[], dreamt: readonly Float64Array[], rng: Rng): LadderReturns {
  const episodes = real[0]?.length ?? 0;
  const chosen = Uint32Array.from({ length: episodes }, () => rng.int(episodes));
  const means = { real: [] as number[], dreamt: [] as number[] };
  for (let i = 0; i < real.length; i++) {
    const policy = rng.int(real.length);
    const [seen, dreamed] = [meanAt(real[policy], chosen), meanAt(dreamt[policy], chosen)];
    // A policy of which a draw has no episode has no mean.
    if (Number.isNaN(seen) || Number.isNaN(dreamed)) continue;
    means.real.push(seen);
    means.dreamt.push(dreamed);
  }
  return means;
}

/** Returns by episode; NaN where there is none. */
function columnOf(values: readonly (number | null)[]): Float64Array {
  return Float64Array.from(values, (value) => value ?? Number.NaN);
}

/** Mean over the chosen episodes that are there; NaN where none is. */
function meanAt(column: Float64Array, chosen: Uint32Array): number {
  let sum = 0;
  let count = 0;
  for (let i = 0; i < chosen.length; i++) {
    const value = column[chosen[i]];
    if (Number.isNaN(value)) continue;
    sum += value;
    count++;
  }
  return sum / count;
}

function estimateOf(value: number | null, drawn: readonly number[], n: number): Estimate {
  if (value === null) return { ...NOTHING, n };
  if (drawn.length === 0) return { value, low: null, high: null, n, method: 'none' };
  const sorted = Float64Array.from(drawn).sort();
  const [low, high] = [quantile(sorted, 0.025), quantile(sorted, 0.975)];
  return { value, low: Math.min(low, value), high: Math.max(high, value), n, method: 'bootstrap' };
}
