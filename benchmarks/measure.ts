// Fair figures on a machine that others use too: the two sides take turns within one run, order alternating, and the
// result is the median of the rounds' ratios with a bootstrap interval (percentile method, Efron 1979).

import { Rng } from '../src/core/rng.js';

export interface Interval {
  readonly value: number;
  readonly low: number;
  readonly high: number;
}

export interface PairedRounds {
  readonly rounds: number;
  /** One round of ours: its rate (more is better), in the same unit as the baseline's. */
  readonly ours: () => Promise<number> | number;
  readonly baseline: () => Promise<number> | number;
  readonly log?: (line: string) => void;
}

export interface PairedRates {
  readonly ours: number[];
  readonly baseline: number[];
}

/** One uncounted round of each, then `rounds` pairs, the other side first every second time. */
export async function measurePaired({ rounds, ours, baseline, log }: PairedRounds): Promise<PairedRates> {
  const rates: PairedRates = { ours: [], baseline: [] };
  await ours();
  await baseline();
  for (let round = 0; round < rounds; round++) {
    const order = round % 2 === 0 ? (['ours', 'baseline'] as const) : (['baseline', 'ours'] as const);
    for (const side of order) rates[side].push(await (side === 'ours' ? ours() : baseline()));
    log?.(`round ${round + 1}/${rounds}: ours ${format(rates.ours[round])}, baseline ${format(rates.baseline[round])}`);
  }
  return rates;
}

/** Median of ours ÷ baseline over the rounds, with a 95 % interval. */
export function ratioInterval({ ours, baseline }: PairedRates): Interval {
  return bootstrap(
    ours.map((rate, round) => rate / baseline[round]),
    median,
  );
}

/** A statistic of values with the 95 % interval of its bootstrap distribution; the same values give the same interval. */
export function bootstrap(
  values: readonly number[],
  statistic: (values: readonly number[]) => number,
  resamples = 10_000,
): Interval {
  const rng = Rng.fromSeed(0).split('bootstrap');
  const statistics = Float64Array.from({ length: resamples }, () =>
    statistic(values.map(() => values[rng.int(values.length)])),
  ).sort();
  const at = (share: number): number => statistics[Math.round(share * (resamples - 1))];
  return { value: statistic(values), low: at(0.025), high: at(0.975) };
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function format(rate: number): string {
  return rate.toLocaleString('en', { maximumSignificantDigits: 4 });
}
