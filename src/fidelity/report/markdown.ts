// The report as Markdown: to be read in a pull request, a terminal, a wiki. Charts become tables of their numbers.

import type { BarsChart, FidelityChart, LinesChart, WorstTransition } from './fidelity-report.js';
import { bullets, fencedJson, markdownTable, paragraphs, plain } from './markdown-text.js';
import {
  headlineRows,
  type MetricRow,
  type SectionGroup,
  type ShownReport,
  sectionGroups,
  truthText,
  turnOf,
} from './shown-report.js';
import { differenceText, estimateText, gateText, valueText } from './wording.js';

/** Rows of a curve's table; more are thinned, first and last stay. */
const CURVE_ROWS = 12;

export function fidelityMarkdown(report: ShownReport): string {
  const parts = [
    `# Fidelity: ${plain(report.scenario)}`,
    plain(truthText(report)),
    report.incomplete === undefined ? '' : `**${plain(report.incomplete)}**`,
    metricTable(report, headlineRows(report)),
    gates(report),
    comparisons(report),
    ...sectionGroups(report).map((group) => sectionText(report, group)),
    provenance(report),
  ];
  return `${paragraphs(parts)}\n`;
}

function metricTable({ subjects }: ShownReport, rows: readonly MetricRow[]): string {
  const body = rows.map(({ name, metric, estimates, comparisons }) => [
    `${metric.label}${arrow(metric.better)}`,
    ...estimates.map((estimate, i) => {
      if (estimate === undefined) return 'not measured';
      const turn = turnOf(comparisons[i]);
      return `${estimateText(estimate, metric.unit)}${turn === undefined ? '' : `, ${turn}`}`;
    }),
    name,
  ]);
  return rows.length === 0 ? '' : markdownTable(['', ...subjects.map(({ name }) => name), 'key'], body);
}

function arrow(better: MetricRow['metric']['better']): string {
  return better === 'neither' ? '' : better === 'higher' ? ' ↑' : ' ↓';
}

function gates(report: ShownReport): string {
  if (report.gates.length === 0) return '';
  const rows = headlineAndAll(report);
  const lines = report.gates.map((gate) => {
    const unit = rows.find(({ name }) => name === gate.metric)?.metric.unit ?? 'number';
    return `**${gate.passed ? 'passed' : 'FAILED'}** ${plain(gateText(gate, unit))}`;
  });
  return paragraphs([`## Gates`, `Held against ${plain(report.subjects[0].name)}.`, bullets(lines)]);
}

function comparisons(report: ShownReport): string {
  if (report.comparisons.length === 0) return '';
  const rows = headlineAndAll(report);
  const body = report.comparisons.map((comparison) => {
    const { metric, second, difference } = comparison;
    const unit = rows.find(({ name }) => name === metric)?.metric.unit ?? 'number';
    return [metric, second, differenceText(difference, unit), turnOf(comparison) ?? 'no difference found'];
  });
  const about = `Each minus ${plain(report.subjects[0].name)}, over the same units. What counts as found was decided for all ${body.length} differences together (Holm, 5 %).`;
  return paragraphs(['## Compared', about, markdownTable(['metric', 'model', 'difference', 'found'], body)]);
}

function headlineAndAll(report: ShownReport): MetricRow[] {
  return sectionGroups(report).flatMap(({ rows }) => rows);
}

function sectionText(report: ShownReport, { title, rows, parts }: SectionGroup): string {
  const isAlone = report.subjects.length === 1;
  const told = parts.map(({ subject, section }) =>
    paragraphs([
      isAlone ? '' : `### ${plain(report.subjects[subject].name)}`,
      plain(section.summary),
      ...section.charts.map(chartText),
      ...section.tables.map((table) =>
        paragraphs([`**${plain(table.title)}**`, markdownTable(table.columns, table.rows)]),
      ),
      ...section.worst.map(worstText),
      bullets(section.notes.map((note) => `Note: ${plain(note)}`)),
    ]),
  );
  const meanings = rows.map(({ metric }) => `${plain(metric.label)}: ${plain(metric.meaning)}`);
  return paragraphs([`## ${plain(title)}`, metricTable(report, rows), bullets(meanings), ...told]);
}

function chartText(chart: FidelityChart): string {
  const table = chart.kind === 'bars' ? barsTable(chart) : curvesTable(chart);
  return paragraphs([`**${plain(chart.title)}.** ${plain(chart.caption)}`, table]);
}

function barsTable({ bars }: BarsChart): string {
  return markdownTable(
    ['', 'value'],
    bars.map(({ label, estimate, unit }) => [label, estimateText(estimate, unit)]),
  );
}

function curvesTable({ kind, series, xTitle, yTitle }: LinesChart): string {
  const rows = series.flatMap(({ name, points }) => {
    const shown = kind === 'points' ? points : thinned(points, CURVE_ROWS);
    return shown.map(({ x, y, low, high, label }) => {
      const estimate = { value: y, low: low ?? null, high: high ?? null };
      const text = estimateText({ ...estimate, n: 0, method: 'none' }, 'number');
      return [label === undefined ? name : `${name}: ${label}`, valueText(x, 'number'), text];
    });
  });
  return markdownTable(['', xTitle, yTitle], rows);
}

/** At most `count` of them, evenly spread, the first and the last among them. */
function thinned<T>(items: readonly T[], count: number): T[] {
  if (items.length <= count) return [...items];
  const places = Array.from({ length: count }, (_, i) => Math.round((i * (items.length - 1)) / (count - 1)));
  return places.map((place) => items[place]);
}

function worstText({ title, differences, context, action, backend, confidence }: WorstTransition): string {
  const by = [
    ...(backend === undefined ? [] : [`answered by ${backend}`]),
    ...(confidence === undefined ? [] : [`confidence ${valueText(confidence, 'number')}`]),
  ].join(', ');
  return paragraphs([
    `**Worst: ${plain(title)}**${by === '' ? '' : ` (${plain(by)})`}`,
    fencedJson({ context, action, differences }),
  ]);
}

function provenance(report: ShownReport): string {
  const models = report.subjects.map(({ name, kind, version }) => ({ name, kind, version }));
  return paragraphs(['## Where this is from', fencedJson({ truth: report.truth, models, ...report.provenance })]);
}
