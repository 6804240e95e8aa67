// How a report is laid out for readers, whatever it is drawn in: what stands beside what, and who has said nothing.

import {
  type Comparison,
  type FidelityReport,
  type Metric,
  SECTIONS,
  type Section,
  type SectionId,
  type SubjectReport,
} from './fidelity-report.js';
import { estimateText } from './wording.js';

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

/** Why a gate on this metric of the first model proves nothing; undefined where it may. */
export function constructionOf({ subjects }: ShownReport, metric: string): string | undefined {
  return subjects[0].sections.find(({ id }) => metric.startsWith(`${id}.`))?.byConstruction;
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

// Finds what was measured of a subject by the name that gates, comparisons and cards use: `section.metric`.

/** What a report holds of a subject beside its samples: enough to show it. */
export type ShownSubject = Omit<SubjectReport, 'samples'>;

/** Every metric by its full name, in the order of the report. */
export function metricsOf({ sections }: ShownSubject): ReadonlyMap<string, Metric> {
  return new Map(sections.flatMap(({ id, metrics }) => metrics.map((metric) => [`${id}.${metric.key}`, metric])));
}

// The few figures that are read first: one or two a section, by name where we know what tells most, else the section's first.

export interface Headline {
  /** `section.metric`. */
  readonly name: string;
  readonly metric: Metric;
}

/** What tells most of a section, of numbers and of tools: the first of these sets of which a section has any. */
const TELLING: Readonly<Record<SectionId, readonly (readonly string[])[]>> = {
  'one-step': [
    ['state-error', 'state-within'],
    ['state-exact', 'state-exact-floor', 'silent-state-error', 'all-right', 'refused'],
  ],
  elements: [['element-f1', 'change-f1']],
  'k-steps': [
    ['divergence-steps', 'consistency-gap'],
    ['steps-to-divergence', 'consistency-ratio'],
  ],
  'reward-end': [['optimism', 'false-done']],
  calibration: [
    ['calibration-error', 'doubt-auroc'],
    ['ece', 'auroc'],
  ],
  rank: [['spearman', 'regret-at-1']],
  distribution: [['hallucinated-entities'], ['c2st']],
  'must-fail': [['passed']],
  learning: [['transfer-gap']],
  horizon: [['trusted-steps']],
};

/** In the order of the report, the trust horizon first. */
export function headlineMetrics({ sections }: ShownSubject): Headline[] {
  const found = sections.flatMap((section) =>
    tellingOf(section).map((metric) => ({ name: `${section.id}.${metric.key}`, metric })),
  );
  const isHorizon = ({ name }: Headline) => name.startsWith('horizon.');
  return [...found.filter(isHorizon), ...found.filter((one) => !isHorizon(one))];
}

/** As they are printed: of a section none of whose figures was counted, why that is; and what a section cannot show. */
export function headlines(subject: ShownSubject): { label: string; text: string }[] {
  const found = headlineMetrics(subject);
  const order = [...subject.sections].sort((a, b) => Number(b.id === 'horizon') - Number(a.id === 'horizon'));
  return order.flatMap((section) => {
    const { id, title, missing, byConstruction } = section;
    const own = found.filter(({ name }) => name.startsWith(`${id}.`));
    if (missing !== undefined && own.every(({ metric }) => metric.estimate.value === null)) {
      return [{ label: title, text: `not measured: ${missing}` }];
    }
    const lines = own.map(({ metric: { label, estimate, unit } }) => ({
      label,
      text: estimate.value === null && missing !== undefined ? `not counted: ${missing}` : estimateText(estimate, unit),
    }));
    return byConstruction === undefined
      ? lines
      : [...lines, { label: `${title}: by construction`, text: byConstruction }];
  });
}

function tellingOf({ id, metrics }: Section): Metric[] {
  for (const keys of TELLING[id]) {
    const named = keys.flatMap((key) => metrics.find((metric) => metric.key === key) ?? []);
    if (named.length > 0) return named;
  }
  const [first] = metrics.filter(({ better }) => better !== 'neither');
  return first === undefined ? [] : [first];
}
