// What a policy gained while it learned: where it learned, in a simulation, and where it counts. Episodes of the same starts are pairs, so
// wins and losses can be told; of starts drawn anew only means can be compared.

import type { Block } from '../../core/report.js';
import { Rng } from '../../core/rng.js';
import { type Estimate, meanEstimate, NOTHING } from '../../fidelity/statistics.js';
import type { ReturnSummary } from '../../rl/evaluate.js';
import { formatCount } from '../format.js';

/** By start; null where an episode was lost or not judged. */
export type Returns = readonly (number | null)[];

export interface Gain {
  readonly where: string;
  readonly gain: Estimate;
  /** Starts from which it did better, and worse, than before; absent where starts differ. */
  readonly wins?: number;
  readonly losses?: number;
}

export function pairedGain(where: string, before: Returns = [], after: Returns = []): Gain {
  const pairs = after.flatMap((value, i) => {
    const first = before[i];
    return value === null || first === null || first === undefined ? [] : [value - first];
  });
  const gain = meanEstimate(pairs, Rng.fromSeed(0).split('gain', where));
  return { where, gain, wins: pairs.filter((by) => by > 0).length, losses: pairs.filter((by) => by < 0).length };
}

/** Of means over starts of their own (Welch's standard error, in a normal interval). */
export function unpairedGain(where: string, before: ReturnSummary | undefined, after: ReturnSummary | undefined): Gain {
  if (before === undefined || after === undefined || before === after) return { where, gain: NOTHING };
  const n = Math.min(before.episodes, after.episodes);
  const value = after.meanReturn - before.meanReturn;
  if (n < 2) return { where, gain: { value, low: null, high: null, n, method: 'none' } };
  const half = 1.96 * Math.sqrt(before.stdReturn ** 2 / before.episodes + after.stdReturn ** 2 / after.episodes);
  return { where, gain: { value, low: value - half, high: value + half, n, method: 'exact' } };
}

/** Nothing where neither side was measured twice. */
export function gainTable(gains: readonly Gain[], note: string): Block[] {
  if (gains.every(({ gain }) => gain.value === null)) return [];
  const number = (value: number) => `${value > 0 ? '+' : ''}${Number(value.toPrecision(3))}`.replace('-', '−');
  const rows = gains.map(({ where, gain: { value, low, high, n }, wins, losses }) => {
    if (value === null) return [where, 'not measured', '', '', '', ''];
    const interval = low === null || high === null ? '' : `${number(low)} to ${number(high)}`;
    const counts = [wins, losses].map((count) => (count === undefined ? '–' : formatCount(count)));
    return [where, number(value), interval, ...counts, formatCount(n)];
  });
  const columns = ['gain', 'mean', '95 %', 'wins', 'losses', 'episodes'];
  return [{ kind: 'table', title: 'Gain in the simulation and in reality', columns, rows, note }];
}
