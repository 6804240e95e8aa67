// The rows of a ladder as a table: policies by episodes, real and dreamt, only where both are known.

import type { EpisodeReturn, RankRow } from './rank-source.js';

export interface PolicyReturns {
  readonly name: string;
  /** By episode; null where either world has none. */
  readonly real: readonly (EpisodeReturn | null)[];
  readonly dreamt: readonly (EpisodeReturn | null)[];
}

export interface PairedReturns {
  /** Policies with at least one pair, in the order of the ladder. */
  readonly policies: readonly PolicyReturns[];
  /** Names of those without any. */
  readonly unpaired: readonly string[];
  /** Episodes of which one world has no return, and of which the dream alone has none. */
  readonly missing: number;
  readonly missingDreams: number;
}

export function pairedReturns(rows: readonly RankRow[], names: readonly string[], episodes: number): PairedReturns {
  const policies = names.map((name, policy) => {
    const own = rows.filter((row) => row.policy === policy && row.real !== null && row.dreamt !== null);
    const column = (world: 'real' | 'dreamt') => {
      const values = new Array<EpisodeReturn | null>(episodes).fill(null);
      for (const row of own) values[row.episode] = row[world];
      return values;
    };
    return { name, real: column('real'), dreamt: column('dreamt') };
  });
  const isPaired = ({ real }: PolicyReturns) => real.some((value) => value !== null);
  return {
    policies: policies.filter(isPaired),
    unpaired: policies.filter((policy) => !isPaired(policy)).map(({ name }) => name),
    missing: rows.filter(({ real, dreamt }) => real === null || dreamt === null).length,
    missingDreams: rows.filter(({ real, dreamt }) => real !== null && dreamt === null).length,
  };
}

/** What is compared of an episode. */
export type Quantity = 'return' | 'length' | 'discounted' | 'largestReward';

export function valuesOf(column: readonly (EpisodeReturn | null)[], quantity: Quantity = 'return'): (number | null)[] {
  return column.map((value) => (value === null ? null : value[quantity]));
}

/** Dreamt minus real, episode by episode. */
export function gapsOf({ real, dreamt }: PolicyReturns, quantity: Quantity = 'return'): (number | null)[] {
  const seen = valuesOf(real, quantity);
  return valuesOf(dreamt, quantity).map((value, i) => (value === null ? null : value - seen[i]!));
}

/** Mean of those that are there; NaN where none is. */
export function meanOf(values: readonly (number | null)[]): number {
  let sum = 0;
  let count = 0;
  for (const value of values) {
    if (value === null) continue;
    sum += value;
    count++;
  }
  return sum / count;
}
