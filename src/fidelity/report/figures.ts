// Which curves and bars are drawn together. Of several models charts of the same title become one figure in which a colour is
// a model: laid over each other where each has one curve, else a panel for each curve. Of one model a colour is a curve.

import type { BarsChart, FidelityChart, FidelityTable, LinesChart, Metric, Point } from './fidelity-report.js';
import type { SectionGroup } from './shown-report.js';

export interface FigureSeries {
  readonly name: string;
  /** Place among the page's colours. */
  readonly colour: number;
  readonly points: readonly Point[];
}

export interface CurvesFigure extends Omit<LinesChart, 'series'> {
  readonly panels: readonly {
    /** Empty where there is one panel. */ readonly title: string;
    readonly series: readonly FigureSeries[];
  }[];
}

export interface BarsFigure extends Omit<BarsChart, 'bars'> {
  readonly groups: readonly {
    readonly label: string;
    readonly unit: Metric['unit'];
    readonly bars: readonly { readonly name: string; readonly colour: number; readonly estimate: Metric['estimate'] }[];
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
    return isBars(same) ? barsFigure(same, names) : curvesFigure(same as Owned<LinesChart>[], names);
  });
}

function isBars(owned: readonly Owned<FidelityChart>[]): owned is readonly Owned<BarsChart>[] {
  return owned[0].chart.kind === 'bars';
}

function barsFigure(owned: readonly Owned<BarsChart>[], names: readonly string[]): BarsFigure {
  const [{ chart: first }] = owned;
  const labels = [...new Set(owned.flatMap(({ chart }) => chart.bars.map(({ label }) => label)))];
  const groups = labels.map((label) => {
    const bars = owned.flatMap(({ subject, chart }) =>
      chart.bars
        .filter((bar) => bar.label === label)
        .map(({ estimate, unit }) => ({ name: names[subject], colour: subject, estimate, unit })),
    );
    return { label, unit: bars[0].unit, bars };
  });
  return { kind: 'bars', title: first.title, caption: first.caption, groups };
}

function curvesFigure(owned: readonly Owned<LinesChart>[], names: readonly string[]): CurvesFigure {
  const [{ chart }] = owned;
  const { series: _, ...about } = chart;
  return { ...about, panels: names.length === 1 ? [ownColours(chart)] : panelsOf(owned, names) };
}

function ownColours({ series }: LinesChart): CurvesFigure['panels'][number] {
  return { title: '', series: series.map(({ name, points }, colour) => ({ name, colour, points })) };
}

function panelsOf(owned: readonly Owned<LinesChart>[], names: readonly string[]): CurvesFigure['panels'] {
  const titles = [...new Set(owned.flatMap(({ chart }) => chart.series.map(({ name }) => name)))];
  const isOverlaid = owned.every(({ chart }) => chart.series.length <= 1);
  const isIn = (title: string) => (name: string) => isOverlaid || name === title;
  return (isOverlaid ? [''] : titles).map((title) => ({
    title,
    series: owned.flatMap(({ subject, chart }) =>
      chart.series
        .filter(({ name }) => isIn(title)(name))
        .map(({ points }) => ({ name: names[subject], colour: subject, points })),
    ),
  }));
}

// Tables and notes of several models as one: what all of them say is said once.

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
