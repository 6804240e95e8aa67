// How a report is laid out for readers, whatever it is drawn in: what stands beside what, and who has said nothing.

import type { Comparison, FidelityReport, Metric, Section, SectionId } from './fidelity-report.js';
import { SECTIONS } from './fidelity-report.js';
import { headlineMetrics } from './headlines.js';
import { metricsOf, type ShownSubject } from './metric-lookup.js';

/** A report without its samples: they serve comparisons, and no reader. */
export type ShownReport = Omit<FidelityReport, 'subjects'> & { readonly subjects: readonly ShownSubject[] };

/** One metric of all subjects. */
export interface MetricRow {
  /** `section.metric`. */
  readonly name: string;
  /** What it is; its estimate is that of whoever has it first. */
  readonly metric: Metric;
  /** One a subject, in the report's order; undefined where it was not measured. */
  readonly estimates: readonly (Metric['estimate'] | undefined)[];
  /** One a subject; undefined for the first and where nothing was paired. */
  readonly comparisons: readonly (Comparison | undefined)[];
}

/** One section of all subjects. */
export interface SectionGroup {
  readonly id: SectionId;
  readonly title: string;
  readonly rows: readonly MetricRow[];
  /** Of those that have it. */
  readonly parts: readonly { readonly subject: number; readonly section: Section }[];
}

export function withoutSamples(report: FidelityReport): ShownReport {
  return { ...report, subjects: report.subjects.map(({ samples: _, ...subject }) => subject) };
}

/** What was held against what. */
export function truthText({ truth, subjects }: ShownReport): string {
  const { kind, description, transitions, episodes } = truth;
  const models = subjects.length === 1 ? 'One world model' : `${subjects.length} world models`;
  const source = kind === 'environment' ? 'the real environment' : 'recorded transitions';
  const counts = `${transitions.toLocaleString('en-US')} transitions, ${episodes.toLocaleString('en-US')} episodes`;
  return `${models} held against ${source}: ${description} (${counts}). Intervals are of 95 % unless said otherwise.`;
}

/** What is read first. */
export function headlineRows(report: ShownReport): MetricRow[] {
  return rowsOf(report, [
    ...new Set(report.subjects.flatMap((subject) => headlineMetrics(subject).map(({ name }) => name))),
  ]);
}

export function sectionGroups(report: ShownReport): SectionGroup[] {
  return SECTIONS.flatMap((id) => {
    const parts = report.subjects.flatMap(({ sections }, subject) => {
      const section = sections.find((one) => one.id === id);
      return section === undefined ? [] : [{ subject, section }];
    });
    if (parts.length === 0) return [];
    const names = parts.flatMap(({ section }) => section.metrics.map(({ key }) => `${id}.${key}`));
    return [{ id, title: parts[0].section.title, rows: rowsOf(report, [...new Set(names)]), parts }];
  });
}

/** Whether a significant difference is for the better; undefined where nothing was found. */
export function turnOf(comparison: Comparison | undefined): 'better' | 'worse' | 'different' | undefined {
  if (comparison === undefined || !comparison.isSignificant) return undefined;
  if (comparison.better === 'neither') return 'different';
  return comparison.difference.value! > 0 === (comparison.better === 'higher') ? 'better' : 'worse';
}

function rowsOf(report: ShownReport, names: readonly string[]): MetricRow[] {
  const known = report.subjects.map(metricsOf);
  return names.map((name) => {
    const metrics = known.map((metricsOfOne) => metricsOfOne.get(name));
    return {
      name,
      metric: metrics.find((metric) => metric !== undefined)!,
      estimates: metrics.map((metric) => metric?.estimate),
      comparisons: report.subjects.map((subject, place) =>
        place === 0 ? undefined : report.comparisons.find((one) => one.metric === name && one.second === subject.name),
      ),
    };
  });
}
