// Puts what was found into the report's form: metrics with their samples, notes, and numbers short enough to be kept.

import type { Finding } from '../instrument.js';
import type { Metric, Point, Section } from '../report/fidelity-report.js';
import { type Estimate, NOTHING } from '../statistics/estimate.js';
import type { Clustered } from './clustered.js';

/** What a metric is, without its value. */
export type MetricInfo = Omit<Metric, 'estimate' | 'key'>;

/** Found values by metric; those that are missing here could not be measured. */
export type Found = Readonly<Record<string, Clustered | Estimate | undefined>>;

/** The finding of a section whose metrics are all those of `infos`, in that order: what was not found is told as such. */
export function findingOf(
  section: Omit<Section, 'metrics'>,
  infos: Readonly<Record<string, MetricInfo>>,
  found: Found,
): Finding {
  const metrics = Object.entries(infos).map(([key, info]): Metric => {
    const value = found[key];
    return { key, ...info, estimate: value === undefined ? NOTHING : 'estimate' in value ? value.estimate : value };
  });
  const samples = Object.entries(found).flatMap(([key, value]) =>
    value !== undefined && 'samples' in value ? [[key, value.samples] as const] : [],
  );
  return { section: { ...section, metrics }, samples: Object.fromEntries(samples) };
}

/** A section of which nothing could be measured, and why. */
export function nothingFound(
  { id, title }: Pick<Section, 'id' | 'title'>,
  infos: Readonly<Record<string, MetricInfo>>,
  why: string,
): Finding {
  const empty = { charts: [], tables: [], worst: [], notes: [why] };
  return findingOf({ id, title, summary: 'Not measured.', ...empty }, infos, {});
}

/** A point of a chart, where there is a value. */
export function pointOf(x: number, { value, low, high }: Estimate, label?: string): readonly Point[] {
  if (value === null) return [];
  const ends = low === null || high === null ? {} : { low, high };
  return [{ x, y: value, ...ends, ...(label === undefined ? {} : { label }) }];
}

/** As many digits as a float32 has: reads back as the same float32, and is short as JSON. */
export function short(value: number): number {
  return Number(value.toPrecision(9));
}

/** For people: three digits. */
export function shown(value: number | null): string {
  return value === null ? 'not measured' : String(Number(value.toPrecision(3)));
}

/** A share for people. */
export function shownShare(value: number | null): string {
  return value === null ? 'not measured' : `${Number((100 * value).toPrecision(3))} %`;
}

export function root(square: number): number {
  return Math.sqrt(square);
}

/** Resampling adds noise, which only ever adds to an absolute value: such an interval may begin above its own estimate. */
export function holding(estimate: Estimate): Estimate {
  const { value, low, high } = estimate;
  if (value === null || low === null || high === null) return estimate;
  return { ...estimate, low: Math.min(low, value), high: Math.max(high, value) };
}
