// One horizontal bar with its interval, drawn by the page's own boxes.

import type { Metric } from '../../../fidelity/report/fidelity-report.js';
import type { Estimate } from '../../../fidelity/statistics/estimate.js';
import { armColour } from '../chart.js';

export interface BarRange {
  readonly low: number;
  readonly high: number;
}

/** What bars of one kind share: shares go from 0 to 1 where they fill a part of it, all else from 0 to the largest. */
export function barRange(estimates: readonly (Estimate | undefined)[], unit: Metric['unit']): BarRange {
  const ends = estimates.flatMap((one) => [one?.value ?? 0, one?.low ?? 0, one?.high ?? 0]);
  const [low, high] = [Math.min(0, ...ends), Math.max(0, ...ends)];
  if (unit === 'share' && low === 0 && high > 0.25) return { low: 0, high: 1 };
  return low === high ? { low: 0, high: 1 } : { low, high };
}

/** Grows from zero, to the left for what is below it. Empty where nothing was counted. */
export function barHtml(estimate: Estimate | undefined, colour: number, range: BarRange): string {
  if (estimate?.value === undefined || estimate.value === null) return '<span class="bar none"></span>';
  const at = (value: number) => (100 * (clamped(value, range) - range.low)) / (range.high - range.low);
  const [zero, value] = [at(0), at(estimate.value)];
  const box = `left:${percent(Math.min(zero, value))};width:${percent(Math.abs(value - zero))}`;
  const { low, high } = estimate;
  const whisker =
    low === null || high === null
      ? ''
      : `<s style="left:${percent(at(low))};width:${percent(at(high) - at(low))}"></s>`;
  const axis = range.low < 0 ? `<u style="left:${percent(zero)}"></u>` : '';
  return `<span class="bar"><i style="${box};background:${armColour(colour)}"></i>${axis}${whisker}</span>`;
}

function clamped(value: number, { low, high }: BarRange): number {
  return Math.min(high, Math.max(low, value));
}

function percent(value: number): string {
  return `${value.toFixed(2)}%`;
}
