// Gain of a policy during training, in the simulation and in the real environment. Episodes from the same starts are pairs, so
// wins and losses are counted.

import type { Block } from '../../core/report.js';
import { Rng } from '../../core/rng.js';
import { type Estimate, meanEstimate } from '../../fidelity/statistics.js';
import { formatCount } from '../format.js';

/** Rewards by start; null if an episode failed or was not judged. */
export type Returns = readonly (number | null)[];

export interface Gain {
  readonly where: string;
  readonly gain: Estimate;
  /** Number of starts with a better and with a worse result. */
  readonly wins: number;
  readonly losses: number;
}

export function pairedGain(where: string, before: Returns = [], after: Returns = []): Gain {
  const pairs = after.flatMap((value, i) => {
    const first = before[i];
    return value === null || first === null || first === undefined ? [] : [value - first];
  });
  const gain = meanEstimate(pairs, Rng.fromSeed(0).split('gain', where));
  return { where, gain, wins: pairs.filter((by) => by > 0).length, losses: pairs.filter((by) => by < 0).length };
}

/** Empty if neither side was measured twice. */
export function gainTable(gains: readonly Gain[]): Block[] {
  if (gains.every(({ gain }) => gain.value === null)) return [];
  const number = (value: number) => `${value > 0 ? '+' : ''}${Number(value.toPrecision(3))}`.replace('-', '−');
  const rows = gains.map(({ where, gain: { value, low, high, n }, wins, losses }) => {
    if (value === null) return [where, 'not measured', '', '', '', ''];
    const interval = low === null || high === null ? '' : `${number(low)} to ${number(high)}`;
    return [where, number(value), interval, ...[wins, losses, n].map(formatCount)];
  });
  const note = 'Reward after the last round minus that before the first, episode by episode from the same starts.';
  const columns = ['gain', 'mean', '95 %', 'wins', 'losses', 'episodes'];
  return [{ kind: 'table', title: 'Gain in the simulation and in reality', columns, rows, note }];
}
