// A metric with the values it is made from, one a unit.

import { Rng } from '../../core/rng.js';
import type { Finding } from '../instrument.js';
import type { Metric, Section } from '../report/fidelity-report.js';
import { meanEstimate } from '../statistics/bootstrap.js';
import { type Estimate, shareEstimate } from '../statistics/estimate.js';

export type Value = number | null;

export interface FoundMetric {
  readonly metric: Metric;
  /** Absent where models cannot be compared unit by unit. */
  readonly values?: readonly Value[];
}

type Told = Pick<Metric, 'key' | 'label' | 'better' | 'meaning'>;

/** Of units that are right (1) or not (0); null: does not count. */
export function shareMetric(told: Told, values: readonly Value[]): FoundMetric {
  const there = values.filter((value) => value !== null);
  const hits = there.reduce((sum, value) => sum + value, 0);
  return { metric: { ...told, unit: 'share', estimate: shareEstimate(hits, there.length) }, values };
}

/** Mean of values that are no mere yes or no. */
export function meanMetric(told: Told & Pick<Metric, 'unit'>, values: readonly Value[]): FoundMetric {
  return { metric: { ...told, estimate: meanEstimate(values, streamOf(told.key)) }, values };
}

export function plainMetric(told: Told & Pick<Metric, 'unit'>, estimate: Estimate): FoundMetric {
  return { metric: { ...told, estimate } };
}

/** Bootstraps of one metric draw the same whatever else is measured. */
export function streamOf(key: string): Rng {
  return Rng.fromSeed(0).split('fidelity', key);
}

export function findingOf(section: Omit<Section, 'metrics'>, found: readonly FoundMetric[]): Finding {
  const sampled = found.flatMap(({ metric, values }) => (values === undefined ? [] : [[metric.key, values] as const]));
  return {
    section: { ...section, metrics: found.map(({ metric }) => metric) },
    samples: Object.fromEntries(sampled),
  };
}

export function flag(value: boolean | null): Value {
  return value === null ? null : value ? 1 : 0;
}

export function percent({ value, low, high }: Estimate): string {
  if (value === null) return 'unknown';
  const plain = `${(100 * value).toFixed(1)} %`;
  return low === null || high === null ? plain : `${plain} (${(100 * low).toFixed(1)} to ${(100 * high).toFixed(1)} %)`;
}
