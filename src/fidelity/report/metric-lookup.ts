// Finds what was measured of a subject by the name that gates, comparisons and cards use: `section.metric`.

import type { Metric, SubjectReport } from './fidelity-report.js';

/** What a report holds of a subject beside its samples: enough to show it. */
export type ShownSubject = Omit<SubjectReport, 'samples'>;

/** Every metric by its full name, in the order of the report. */
export function metricsOf({ sections }: ShownSubject): ReadonlyMap<string, Metric> {
  return new Map(sections.flatMap(({ id, metrics }) => metrics.map((metric) => [`${id}.${metric.key}`, metric])));
}
