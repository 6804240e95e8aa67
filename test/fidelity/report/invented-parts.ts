// What invented findings are put together from.

import type { Metric, Point, Section } from '../../../src/fidelity/report.js';
import { type Estimate, shareEstimate } from '../../../src/fidelity/statistics/estimate.js';

/** What an invented model is like. */
export interface Character {
  readonly name: string;
  /** Probability of getting a transition right. */
  readonly skill: number;
  /** What it believes that probability to be. */
  readonly belief: number;
}

export const UNITS = 400;

export const share = (value: number, n = UNITS): Estimate => shareEstimate(Math.round(value * n), n);
export const about = (value: number, spread: number, n = UNITS): Estimate => ({
  value,
  low: value - spread,
  high: value + spread,
  n,
  method: 'bootstrap',
});

type MetricRest = Partial<Pick<Metric, 'better' | 'unit'>>;

export function metric(key: string, label: string, estimate: Estimate, meaning: string, rest: MetricRest = {}): Metric {
  return { key, label, estimate, better: rest.better ?? 'higher', unit: rest.unit ?? 'share', meaning };
}

export function section(from: Pick<Section, 'id' | 'title' | 'summary' | 'metrics'> & Partial<Section>): Section {
  return { charts: [], tables: [], worst: [], notes: [], ...from };
}

/** Of `value(x)`, with an interval that widens. */
export function curve(xs: readonly number[], value: (x: number) => number, width: (x: number) => number): Point[] {
  return xs.map((x) => ({ x, y: value(x), low: Math.max(0, value(x) - width(x)), high: value(x) + width(x) }));
}
