// How a section of the report is put together from what an instrument found: metrics with the values they are made from, a
// section that could not be measured, points of charts, and numbers as sections say them.

import type { Json } from '../core/canonical-json.js';
import { Rng } from '../core/rng.js';
import type { Finding, Instrument } from './measure.js';
import type { Metric, Point, Section } from './report.js';
import { meanEstimate } from './statistics/bootstrap.js';
import { type Estimate, NOTHING, shareEstimate } from './statistics/estimate.js';

export type Value = number | null;

/** What a metric is, without its value. */
export type MetricInfo = Omit<Metric, 'estimate' | 'key'>;

/** Metrics described in a table of text, one a line: `key | better | unit | label | meaning`. */
export function metricTable(text: string): Readonly<Record<string, MetricInfo>> {
  const lines = text.trim().split('\n');
  return Object.fromEntries(
    lines.map((line) => {
      const [key, better, unit, label, meaning] = line.split('|').map((cell) => cell.trim());
      return [key, { label, better, unit, meaning } as MetricInfo];
    }),
  );
}

/** A metric with the values it is made from, one a unit. */
export interface FoundMetric {
  readonly metric: Metric;
  /** Absent where models cannot be compared unit by unit. */
  readonly values?: readonly Value[];
}

/** An estimate, with the values of the units where models can be compared by them. */
type FoundValue = { readonly estimate: Estimate; readonly samples: readonly Value[] } | Estimate | undefined;
export type Found = Readonly<Record<string, FoundValue>>;

/** Of units that are right (1, true) or not (0, false); null: does not count. */
export function shareOf(values: readonly (Value | boolean)[]): { estimate: Estimate; samples: readonly Value[] } {
  const samples = values.map((value) => (value === null ? null : Number(value)));
  const there = samples.filter((value) => value !== null);
  const hits = there.reduce((sum, value) => sum + value, 0);
  return { estimate: shareEstimate(hits, there.length), samples };
}

/** Mean of values that are no mere yes or no. `key` names the stream of the bootstrap. */
export function meanOf(key: string, values: readonly Value[]): { estimate: Estimate; samples: readonly Value[] } {
  return { estimate: meanEstimate(values, streamOf(key)), samples: values };
}

/** Bootstraps of one metric draw the same whatever else is measured. */
export function streamOf(key: string): Rng {
  return Rng.fromSeed(0).split('fidelity', key);
}

type Told = Pick<Metric, 'key' | 'label' | 'better' | 'meaning'>;

/** Of units that are right (1) or not (0); null: does not count. */
export function shareMetric(told: Told, values: readonly Value[]): FoundMetric {
  const { estimate, samples } = shareOf(values);
  return { metric: { ...told, unit: 'share', estimate }, values: samples };
}

export function meanMetric(told: Told & Pick<Metric, 'unit'>, values: readonly Value[]): FoundMetric {
  return { metric: { ...told, estimate: meanOf(told.key, values).estimate }, values };
}

export function plainMetric(told: Told & Pick<Metric, 'unit'>, estimate: Estimate): FoundMetric {
  return { metric: { ...told, estimate } };
}

export function flag(value: boolean | null): Value {
  return value === null ? null : value ? 1 : 0;
}

/** All metrics of `infos`, in that order, with what was found of them. */
export function metricsOfInfos(infos: Readonly<Record<string, MetricInfo>>, found: Found): FoundMetric[] {
  return Object.entries(infos).map(([key, info]) => {
    const value = found[key];
    const metric = (estimate: Estimate): Metric => ({ key, ...info, estimate });
    if (value === undefined) return { metric: metric(NOTHING) };
    return 'estimate' in value ? { metric: metric(value.estimate), values: value.samples } : { metric: metric(value) };
  });
}

export function findingOf(section: Omit<Section, 'metrics'>, found: readonly FoundMetric[]): Finding {
  const sampled = found.flatMap(({ metric, values }) => (values === undefined ? [] : [[metric.key, values] as const]));
  return {
    section: { ...section, metrics: found.map(({ metric }) => metric) },
    samples: Object.fromEntries(sampled),
  };
}

/** A metric of a finding. */
export function estimateIn(found: readonly FoundMetric[], key: string): Estimate {
  return found.find(({ metric }) => metric.key === key)!.metric.estimate;
}

/** A section of which nothing could be measured, and why. */
export function nothingFound(
  { id, title }: Pick<Section, 'id' | 'title'>,
  metrics: readonly Metric[],
  why: string,
): Finding {
  const silent = { charts: [], tables: [], worst: [], notes: [why] };
  return { section: { id, title, summary: 'Not measured.', metrics, ...silent, missing: why }, samples: {} };
}

/** `instrument` without its work, for a model that it cannot measure: all of its metrics are there, and it says why. */
export function unmeasured<Row extends Json>(instrument: Instrument<Row>, why: string): Instrument<Row> {
  const { section } = instrument.conclude([]);
  return silent(instrument, () => nothingFound(section, section.metrics, why));
}

/** An instrument of which not even the metrics are known. */
export function unavailable(
  { id, unit, title }: Pick<Section, 'id' | 'title'> & Pick<Instrument, 'unit'>,
  why: string,
): Instrument<never> {
  return silent({ id, unit }, () => nothingFound({ id, title }, [], why));
}

function silent({ id, unit }: Pick<Instrument, 'id' | 'unit'>, conclude: () => Finding): Instrument<never> {
  return { id, unit, chunks: 0, measure: async () => [], conclude };
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

/** A share for people, with its interval. */
export function percent({ value, low, high }: Estimate): string {
  if (value === null) return 'unknown';
  const plain = `${(100 * value).toFixed(1)} %`;
  return low === null || high === null ? plain : `${plain} (${(100 * low).toFixed(1)} to ${(100 * high).toFixed(1)} %)`;
}

/** Resampling adds noise, which only ever adds to an absolute value: such an interval may begin above its own estimate. */
export function holding(estimate: Estimate): Estimate {
  const { value, low, high } = estimate;
  if (value === null || low === null || high === null) return estimate;
  return { ...estimate, low: Math.min(low, value), high: Math.max(high, value) };
}
