// Measured numbers as people read them: the value in its unit, its interval, what a bound says.

import type { Estimate } from '../statistics/estimate.js';
import type { GateResult, Metric } from './fidelity-report.js';

type Unit = Metric['unit'];

const SUFFIX: Readonly<Record<Unit, string>> = { share: ' %', number: '', steps: ' steps', return: '' };

/** `95.2 %`, `0.0123`, `12 steps`; `not counted` for null. */
export function valueText(value: number | null, unit: Unit): string {
  if (value === null) return 'not counted';
  return `${bareText(value, unit)}${unit === 'steps' && value === 1 ? ' step' : SUFFIX[unit]}`;
}

/** `93.8 to 96.4`, `29 to no end seen` where nothing ended what was counted; empty where there is no interval. */
export function intervalText({ low, high }: Estimate, unit: Unit): string {
  if (low === null) return '';
  return `${bareText(low, unit)} to ${high === null ? 'no end seen' : bareText(high, unit)}`;
}

/** `95.2 % (93.8 to 96.4)`. */
export function estimateText(estimate: Estimate, unit: Unit): string {
  const interval = intervalText(estimate, unit);
  return `${valueText(estimate.value, unit)}${interval === '' ? '' : ` (${interval})`}`;
}

/** `+1.2 % (0.4 to 2.0)`: a difference has a sign; that of shares is in percentage points. */
export function differenceText(difference: Estimate, unit: Unit): string {
  if (difference.value === null) return 'not counted';
  const sign = difference.value > 0 ? '+' : '';
  const text = unit === 'share' ? `${bareText(difference.value, unit)} points` : valueText(difference.value, unit);
  const interval = intervalText(difference, unit);
  return `${sign}${text}${interval === '' ? '' : ` (${interval})`}`;
}

/** `one-step.state-exact at least 95 %: lower end of the interval is 93.8 %`. */
export function gateText({ metric, limit, bound, end, value, floor }: GateResult, unit: Unit): string {
  const words = { low: 'the lower end of its interval', high: 'the upper end of its interval', value: 'its value' };
  const found = value === null ? 'nothing was counted' : `${words[end]} is ${valueText(value, unit)}`;
  const beside = floor === undefined ? '' : ` (floor: ${valueText(floor, unit)})`;
  return `${metric} ${bound === 'at-least' ? 'at least' : 'at most'} ${valueText(limit, unit)}: ${found}${beside}`;
}

/** What is left of differences of returns that are alike. */
const NO_RETURN = 1e-12;

/** Three digits that matter; shares in per cent, with a tenth where it matters. */
function bareText(value: number, unit: Unit): string {
  if (unit === 'share') return percent(100 * value);
  const size = Math.abs(value);
  if (unit === 'return' && size < NO_RETURN) return '0';
  if (size !== 0 && (size < 0.001 || size >= 1e6)) return signed(value.toExponential(1));
  return signed(String(Number(value.toPrecision(size >= 1000 ? 4 : 3))));
}

/** Below this share of a per cent a number is rounding of another. */
const ROUNDING = 1e-9;

function percent(value: number): string {
  const digits = Math.abs(value) < 1 && value !== 0 ? 2 : 1;
  const text = value.toFixed(digits);
  // Nearly all is not all, nor is nearly none nothing.
  if (Number(text) === 100 && value < 100 - ROUNDING) return '> 99.9';
  if (Number(text) === 0 && Math.abs(value) > ROUNDING) return value > 0 ? '< 0.01' : '> −0.01';
  return signed(String(Math.abs(Number(text)) === 0 ? 0 : Number(text)));
}

function signed(text: string): string {
  return text.replaceAll('-', '−');
}
