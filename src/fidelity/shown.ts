// How a report is laid out for readers, whatever it is drawn in: what stands beside what, which figures are read first, and how
// numbers are worded.

import { FIDELITY_SECTIONS as SECTIONS } from '../core/kind.js';
import type {
  BarsChart,
  Comparison,
  FidelityChart,
  FidelityReport,
  FidelityTable,
  GateResult,
  LinesChart,
  Metric,
  Point,
  Section,
  SectionId,
  SubjectReport,
} from './report.js';
import type { Estimate } from './statistics/estimate.js';

/** What a report holds of a subject beside its samples: they serve comparisons, and no reader. */
export type ShownSubject = Omit<SubjectReport, 'samples'>;
export type ShownReport = Omit<FidelityReport, 'subjects'> & { readonly subjects: readonly ShownSubject[] };

/** One metric of all subjects. */
export interface MetricRow {
  /** `section.metric`. */
  readonly name: string;
  /** What it is; its estimate is that of whoever has it first. */
  readonly metric: Metric;
  /** One a subject, in the report's order; undefined where it was not measured. */
  readonly estimates: readonly (Estimate | undefined)[];
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

/** Every metric by the name that gates, comparisons and cards use, `section.metric`, in the order of the report. */
export function metricsOf({ sections }: ShownSubject): ReadonlyMap<string, Metric> {
  return new Map(sections.flatMap(({ id, metrics }) => metrics.map((metric) => [`${id}.${metric.key}`, metric])));
}

/** Why a gate on this metric of the first model proves nothing; undefined where it may. */
export function constructionOf({ subjects }: ShownReport, metric: string): string | undefined {
  return subjects[0].sections.find(({ id }) => metric.startsWith(`${id}.`))?.byConstruction;
}

/** What was held against what. */
export function truthText({ truth, subjects }: Pick<ShownReport, 'truth' | 'subjects'>): string {
  const { kind, description, transitions, episodes } = truth;
  const models = subjects.length === 1 ? 'One world model' : `${subjects.length} world models`;
  const source = kind === 'environment' ? 'the real environment' : 'recorded transitions';
  const counts = `${transitions.toLocaleString('en-US')} transitions, ${episodes.toLocaleString('en-US')} episodes`;
  return `${models} held against ${source}: ${description} (${counts}). Intervals are of 95 % unless said otherwise.`;
}

/** What is read first. */
export function headlineRows(report: ShownReport): MetricRow[] {
  const names = report.subjects.flatMap((subject) => headlineMetrics(subject).map(({ name }) => name));
  return rowsOf(report, [...new Set(names)]);
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

/** Whether a significant difference is for the better; undefined where nothing was found. */
export function turnOf(comparison: Comparison | undefined): 'better' | 'worse' | 'different' | undefined {
  if (comparison === undefined || !comparison.isSignificant) return undefined;
  if (comparison.better === 'neither') return 'different';
  return comparison.difference.value! > 0 === (comparison.better === 'higher') ? 'better' : 'worse';
}

// The few figures that are read first: one or two a section, by name where we know what tells most, else the section's first.

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
  'must-fail': [['passed']],
  horizon: [['trusted-steps']],
};

interface Headline {
  /** `section.metric`. */
  readonly name: string;
  readonly metric: Metric;
}

/** In the order of the report, the trust horizon first. */
export function headlineMetrics({ sections }: ShownSubject): Headline[] {
  return horizonFirst(sections).flatMap((section) =>
    tellingOf(section).map((metric) => ({ name: `${section.id}.${metric.key}`, metric })),
  );
}

/** As they are printed: of a section none of whose figures was counted, why that is; and what a section cannot show. */
export function headlines({ sections }: ShownSubject): { label: string; text: string }[] {
  return horizonFirst(sections).flatMap((section) => {
    const { title, missing, byConstruction } = section;
    const own = tellingOf(section);
    if (missing !== undefined && own.every(({ estimate }) => estimate.value === null)) {
      return [{ label: title, text: `not measured: ${missing}` }];
    }
    const lines = own.map(({ label, estimate, unit }) => ({
      label,
      text: estimate.value === null && missing !== undefined ? `not counted: ${missing}` : estimateText(estimate, unit),
    }));
    if (byConstruction !== undefined) lines.push({ label: `${title}: by construction`, text: byConstruction });
    return lines;
  });
}

function horizonFirst(sections: readonly Section[]): readonly Section[] {
  return [...sections].sort((a, b) => Number(b.id === 'horizon') - Number(a.id === 'horizon'));
}

function tellingOf({ id, metrics }: Section): readonly Metric[] {
  const sets = TELLING[id].map((keys) => keys.flatMap((key) => metrics.find((metric) => metric.key === key) ?? []));
  return sets.find(({ length }) => length > 0) ?? metrics.filter(({ better }) => better !== 'neither').slice(0, 1);
}

// Which curves and bars are drawn together. Of several models charts of the same title become one figure in which a colour is
// a model: laid over each other where each has one curve, else a panel for each curve. Of one model a colour is a curve.

export interface FigureSeries {
  readonly name: string;
  /** Place among the page's colours. */
  readonly colour: number;
  readonly points: readonly Point[];
}

export interface CurvesFigure extends Omit<LinesChart, 'series'> {
  /** The title is empty where there is one panel. */
  readonly panels: readonly { readonly title: string; readonly series: readonly FigureSeries[] }[];
}

export interface BarsFigure extends Omit<BarsChart, 'bars'> {
  readonly groups: readonly {
    readonly label: string;
    readonly unit: Metric['unit'];
    readonly bars: readonly { readonly name: string; readonly colour: number; readonly estimate: Estimate }[];
  }[];
}

export type Figure = CurvesFigure | BarsFigure;

interface Owned<C extends FidelityChart> {
  readonly subject: number;
  readonly chart: C;
}

/** @param names of all subjects of the report, in their order */
export function figuresOf({ parts }: SectionGroup, names: readonly string[]): Figure[] {
  const owned = parts.flatMap(({ subject, section }) => section.charts.map((chart) => ({ subject, chart })));
  const keyOf = ({ chart }: Owned<FidelityChart>) => `${chart.kind} ${chart.title}`;
  return [...new Set(owned.map(keyOf))].map((key) => {
    const same = owned.filter((one) => keyOf(one) === key);
    return same[0].chart.kind === 'bars'
      ? barsFigure(same as Owned<BarsChart>[], names)
      : curvesFigure(same as Owned<LinesChart>[], names);
  });
}

function barsFigure(owned: readonly Owned<BarsChart>[], names: readonly string[]): BarsFigure {
  const { title, caption } = owned[0].chart;
  const labels = [...new Set(owned.flatMap(({ chart }) => chart.bars.map(({ label }) => label)))];
  const groups = labels.map((label) => {
    const bars = owned.flatMap(({ subject, chart }) =>
      chart.bars
        .filter((bar) => bar.label === label)
        .map(({ estimate, unit }) => ({ name: names[subject], colour: subject, estimate, unit })),
    );
    return { label, unit: bars[0].unit, bars };
  });
  return { kind: 'bars', title, caption, groups };
}

function curvesFigure(owned: readonly Owned<LinesChart>[], names: readonly string[]): CurvesFigure {
  const { series, ...about } = owned[0].chart;
  if (names.length === 1)
    return { ...about, panels: [{ title: '', series: series.map((one, colour) => ({ ...one, colour })) }] };
  const titles = [...new Set(owned.flatMap(({ chart }) => chart.series.map(({ name }) => name)))];
  const isOverlaid = owned.every(({ chart }) => chart.series.length <= 1);
  const panels = (isOverlaid ? [''] : titles).map((title) => ({
    title,
    series: owned.flatMap(({ subject, chart }) =>
      chart.series
        .filter(({ name }) => isOverlaid || name === title)
        .map(({ points }) => ({ name: names[subject], colour: subject, points })),
    ),
  }));
  return { ...about, panels };
}

/**
 * Tables of the same title and columns as one, with a column for the model after the first; rows that have the same first
 * cell stand together.
 *
 * @param names of all subjects of the report, in their order
 */
export function tablesOf({ parts }: SectionGroup, names: readonly string[]): FidelityTable[] {
  const owned = parts.flatMap(({ subject, section }) => section.tables.map((table) => ({ subject, table })));
  const keyOf = ({ title, columns }: FidelityTable) => JSON.stringify([title, columns]);
  return [...new Set(owned.map(({ table }) => keyOf(table)))].map((key) => {
    const same = owned.filter(({ table }) => keyOf(table) === key);
    const [{ table: first }] = same;
    if (names.length === 1) return first;
    const [name = '', ...columns] = first.columns;
    const rows = same.flatMap(({ subject, table }) =>
      table.rows.map(([label = '', ...cells]) => [label, names[subject], ...cells]),
    );
    const order = [...new Set(rows.map(([label]) => label))];
    const sorted = order.flatMap((label) => rows.filter((row) => row[0] === label));
    return { title: first.title, columns: [name, 'model', ...columns], rows: sorted };
  });
}

/** Each note once; `of` names those whose it is, and is empty where it is everybody's. */
export function notesOf({ parts }: SectionGroup, names: readonly string[]): { text: string; of: string[] }[] {
  const texts = [...new Set(parts.flatMap(({ section }) => section.notes))];
  return texts.map((text) => {
    const having = parts.filter(({ section }) => section.notes.includes(text));
    return { text, of: having.length === parts.length ? [] : having.map(({ subject }) => names[subject]) };
  });
}

// Measured numbers as people read them: the value in its unit, its interval, what a bound says.

type Unit = Metric['unit'];

const SUFFIX: Readonly<Record<Unit, string>> = { share: ' %', number: '', steps: ' steps', return: '' };

/** `95.2 %`, `0.0123`, `12 steps`; `not counted` for null. */
export function valueText(value: number | null, unit: Unit): string {
  if (value === null) return 'not counted';
  return `${bareText(value, unit)}${unit === 'steps' && value === 1 ? ' step' : SUFFIX[unit]}`;
}

/** `93.8 to 96.4`, `29 to no end seen` where nothing ended what was counted; empty where there is no interval. */
export function intervalText({ low, high }: Pick<Estimate, 'low' | 'high'>, unit: Unit): string {
  if (low === null) return '';
  return `${bareText(low, unit)} to ${high === null ? 'no end seen' : bareText(high, unit)}`;
}

/** `95.2 % (93.8 to 96.4)`. */
export function estimateText(estimate: Pick<Estimate, 'value' | 'low' | 'high'>, unit: Unit): string {
  return withInterval(valueText(estimate.value, unit), estimate, unit);
}

/** `+1.2 % (0.4 to 2.0)`: a difference has a sign; that of shares is in percentage points. */
export function differenceText(difference: Estimate, unit: Unit): string {
  const { value } = difference;
  if (value === null) return 'not counted';
  const text = unit === 'share' ? `${bareText(value, unit)} points` : valueText(value, unit);
  return withInterval(`${value > 0 ? '+' : ''}${text}`, difference, unit);
}

function withInterval(text: string, estimate: Pick<Estimate, 'low' | 'high'>, unit: Unit): string {
  const interval = intervalText(estimate, unit);
  return interval === '' ? text : `${text} (${interval})`;
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
