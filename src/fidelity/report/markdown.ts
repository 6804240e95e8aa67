// The report as Markdown: to be read in a pull request, a terminal, a wiki. Charts become tables of their numbers.

import { stringify } from 'yaml';
import type { JsonObject } from '../../core/canonical-json.js';
import { kindNamed } from '../kinds.js';
import type { BarsChart, FidelityChart, LinesChart, WorstTransition } from './fidelity-report.js';
import {
  constructionOf,
  headlineMetrics,
  headlineRows,
  type MetricRow,
  type SectionGroup,
  type ShownReport,
  type ShownSubject,
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
    const construction = constructionOf(report, gate.metric);
    const hollow = construction === undefined ? '' : ` (proves nothing: ${construction})`;
    return `**${gate.passed ? 'passed' : 'FAILED'}** ${plain(`${gateText(gate, unit)}${hollow}`)}`;
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

// A model card (README.md) of a judged world model: what it is, what it was held against, what it can be trusted with.
// Front matter as Hugging Face reads it, with results as a `model-index`.

export interface ModelCardOptions {
  /** Place of the model among those of the report; 0 unless said. */
  readonly subject?: number;
  /** SPDX id in lower case, as Hugging Face has it; `unknown` unless said. */
  readonly license?: string;
}

/** The card as text; files of the model itself are none of its business. */
export function modelCard(report: ShownReport, { subject = 0, license = 'unknown' }: ModelCardOptions = {}): string {
  const model = report.subjects[subject];
  const body = [
    `# ${plain(model.name)}, a world model of ${plain(report.scenario)}`,
    whatItIs(report, model),
    report.incomplete === undefined ? '' : `**${plain(report.incomplete)}**`,
    trust(model),
    '## Headline numbers',
    plain(truthText({ ...report, subjects: [model] })),
    numbers(model),
    ...findings(model),
    limits(model),
    cardProvenance(report, model),
  ];
  return `---\n${stringify(frontMatter(report, model, license))}---\n\n${paragraphs(body)}\n`;
}

function frontMatter({ scenario, family }: ShownReport, model: ShownSubject, license: string): JsonObject {
  const metrics = headlineMetrics(model).flatMap(({ name: type, metric: { label: name, estimate } }) =>
    estimate.value === null ? [] : [{ type, name, value: Number(estimate.value.toPrecision(4)) }],
  );
  const task = { type: 'reinforcement-learning', name: 'world modelling' };
  const results = [{ task, dataset: { type: scenario, name: scenario }, metrics }];
  return {
    license,
    library_name: 'reverie',
    pipeline_tag: 'reinforcement-learning',
    tags: ['world-model', kindNamed(family)?.card.tag ?? family, 'reverie'],
    'model-index': [{ name: model.name, results }],
  };
}

function whatItIs({ scenario, family }: ShownReport, { kind, version }: ShownSubject): string {
  const world = kindNamed(family)?.card.world ?? family;
  return `A world model of kind \`${plain(kind)}\`, version \`${plain(version)}\`: it answers what would happen next in the scenario ${plain(scenario)} (${world}).`;
}

/** How far it may be dreamt with. */
function trust({ sections }: ShownSubject): string {
  const horizon = sections.find(({ id }) => id === 'horizon');
  const text =
    horizon === undefined
      ? 'Its trust horizon was not measured: do not dream with it for more than one step at a time.'
      : [
          horizon.summary,
          ...horizon.metrics.map(({ label, estimate, unit }) => `${label}: ${estimateText(estimate, unit)}.`),
        ].join(' ');
  return paragraphs(['## How far to trust it', plain(text)]);
}

function numbers(model: ShownSubject): string {
  const rows = headlineMetrics(model).map(({ name, metric: { label, estimate, unit, meaning } }) => [
    label,
    estimateText(estimate, unit),
    meaning,
    name,
  ]);
  return markdownTable(['', 'value (95 %)', 'what it means', 'key'], rows);
}

function findings({ sections }: ShownSubject): string[] {
  const lines = sections.map(({ title, summary }) => `**${plain(title)}.** ${plain(summary)}`);
  return ['## What was found', bullets(lines)];
}

/** What could not be measured, and what it gets most wrong. */
function limits({ sections }: ShownSubject): string {
  const notes = sections.flatMap(({ title, notes }) => notes.map((note) => `${plain(title)}: ${plain(note)}`));
  const worst = sections.flatMap(({ worst }) =>
    worst.slice(0, 1).map(({ title }) => `It got most wrong: ${plain(title)}.`),
  );
  const general = 'What was measured holds for states and actions like those it was held against, and for no others.';
  return paragraphs(['## Limits', bullets([general, ...worst, ...notes])]);
}

function cardProvenance({ truth, provenance: from }: ShownReport, { kind, version }: ShownSubject): string {
  return paragraphs(['## Where the numbers are from', fencedJson({ model: { kind, version }, truth, ...from })]);
}

// Pieces of Markdown in which text of anyone's stays text.

/** Text in which nothing is a mark: no emphasis, link, HTML, table cell or new line begins in it. */
function plain(text: string): string {
  return text
    .replace(/\s*[\r\n]+\s*/g, ' ')
    .replace(/[\\`*_[\]<>|#]/g, (mark) => (mark === '<' ? '&lt;' : `\\${mark}`));
}

/** A table whose first column names the row. Cells are text, not Markdown. */
function markdownTable(columns: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map(plain).join(' | ')} |`;
  return [line(columns), `| ${columns.map(() => '---').join(' | ')} |`, ...rows.map(line)].join('\n');
}

/** JSON in a fence that nothing within can close. */
function fencedJson(value: unknown): string {
  return `\`\`\`json\n${JSON.stringify(value, null, 2).replaceAll('```', '\\u0060\\u0060\\u0060')}\n\`\`\``;
}

/** Paragraphs, those that are empty left out. */
function paragraphs(parts: readonly string[]): string {
  return parts.filter((part) => part !== '').join('\n\n');
}

function bullets(lines: readonly string[]): string {
  return lines.map((line) => `- ${line}`).join('\n');
}
