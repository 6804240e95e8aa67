// One section of the report, of all models.

import type { Json } from '../../../core/canonical-json.js';
import type { FidelityTable, WorstTransition } from '../../../fidelity/report/fidelity-report.js';
import {
  type BarsFigure,
  type CurvesFigure,
  type Figure,
  figuresOf,
  notesOf,
  tablesOf,
} from '../../../fidelity/report/figures.js';
import { type MetricRow, type SectionGroup, type ShownReport, turnOf } from '../../../fidelity/report/shown-report.js';
import { differenceText, estimateText, intervalText, valueText } from '../../../fidelity/report/wording.js';
import { armColour } from '../chart.js';
import { escapeHtml } from '../escape.js';
import { barHtml, barRange } from './bar.js';
import { drawable, drawPanel } from './curve-drawing.js';

/** Further metrics are shown when they are asked for. */
const SHOWN_METRICS = 8;

export async function sectionHtml(report: ShownReport, group: SectionGroup): Promise<string> {
  const names = report.subjects.map(({ name }) => name);
  const figures: string[] = [];
  for (const [i, figure] of figuresOf(group, names).entries())
    figures.push(await figureHtml(figure, `${group.id}-${i}`));
  return `<section class="aspect" id="${group.id}"><h2>${escapeHtml(group.title)}</h2>
${summaries(report, group)}
${measuresTable(report, group.rows.slice(0, SHOWN_METRICS))}
${furtherMeasures(report, group)}
${figures.join('\n')}
${tablesOf(group, names)
  .map((table) => tableHtml(table, names))
  .join('\n')}
${worstOf(report, group)}
${notesHtml(group, names)}</section>`;
}

function furtherMeasures(report: ShownReport, { rows }: SectionGroup): string {
  const further = rows.slice(SHOWN_METRICS);
  if (further.length === 0) return '';
  const title = further.length === 1 ? '1 more metric' : `${further.length} more metrics`;
  return `<details class="rest"><summary>${title}</summary>${measuresTable(report, further)}</details>`;
}

function summaries({ subjects }: ShownReport, { parts }: SectionGroup): string {
  const said = new Set(parts.map(({ section }) => section.summary));
  if (said.size === 1) return `<p>${escapeHtml(parts[0].section.summary)}</p>`;
  const items = parts.map(
    ({ subject, section }) =>
      `<li>${nameHtml(subjects[subject].name, subject)} <span>${escapeHtml(section.summary)}</span></li>`,
  );
  return `<ul class="said">${items.join('')}</ul>`;
}

function tableHtml({ title, columns, rows }: FidelityTable, names: readonly string[]): string {
  const head = columns.map((column) => `<th scope="col">${escapeHtml(column)}</th>`).join('');
  const body = rows.map(([label = '', ...cells], i) => {
    const isSame = names.length > 1 && rows[i - 1]?.[0] === label;
    const data = cells.map((cell, at) => {
      const place = names.length > 1 && at === 0 ? names.indexOf(cell) : -1;
      return `<td>${place < 0 ? escapeHtml(cell) : nameHtml(cell, place)}</td>`;
    });
    const shown = isSame ? `<span class="sr">${escapeHtml(label)}</span>` : escapeHtml(label);
    return `<tr${isSame ? ' class="same"' : ''}><th scope="row">${shown}</th>${data.join('')}</tr>`;
  });
  return `<h3>${escapeHtml(title)}</h3><div class="scroll"><table class="cells"><thead><tr>${head}</tr></thead><tbody>${body.join('')}</tbody></table></div>`;
}

function worstOf({ subjects }: ShownReport, { parts }: SectionGroup): string {
  const told = parts.filter(({ section }) => section.worst.length > 0);
  if (told.length === 0) return '';
  const lists = told.map(({ subject, section }) => {
    const whose = subjects.length === 1 ? '' : `<p class="whose">${nameHtml(subjects[subject].name, subject)}</p>`;
    return `${whose}${section.worst.map(worstHtml).join('\n')}`;
  });
  return `<h3>What it got most wrong</h3>${lists.join('\n')}`;
}

function notesHtml(group: SectionGroup, names: readonly string[]): string {
  const items = notesOf(group, names).map(({ text, of }) => {
    const whose = of.length === 0 || names.length === 1 ? '' : `<b>${escapeHtml(of.join(', '))}:</b> `;
    return `<li>${whose}${escapeHtml(text)}</li>`;
  });
  return items.length === 0 ? '' : `<ul class="remarks">${items.join('')}</ul>`;
}

// Transitions that were got most wrong, in full: what differs first, then all of both.

/** Letters of one JSON text; a state may be a whole database. */
const MOST_LETTERS = 20_000;
const ONE_LINE = 72;

/** Closed until it is opened; works without a script. */
function worstHtml(worst: WorstTransition): string {
  const { title, badness, backend, confidence, differences, context, action, real, dreamt } = worst;
  const facts = [
    ...(backend === undefined ? [] : [`answered by ${backend}`]),
    ...(confidence === undefined ? [] : [`confidence ${valueText(confidence, 'number')}`]),
    `badness ${valueText(badness, 'number')}`,
  ];
  return `<details class="worst"><summary>${escapeHtml(title)} <small>${escapeHtml(facts.join(' · '))}</small></summary>
<h4>What differs</h4>${differencesHtml(differences)}
<h4>What was done</h4>${block(action)}
<h4>Where</h4>${block(context)}
<div class="both"><div><h4>Real, in full</h4>${block(real)}</div><div><h4>Dreamt, in full</h4>${block(dreamt)}</div></div></details>`;
}

function differencesHtml(differences: WorstTransition['differences']): string {
  if (differences.length === 0) return '<p class="note">No place of it is named.</p>';
  const items = differences.map(
    ({ path, real, dreamt }) =>
      `<li><code>${escapeHtml(path)}</code>${side('real', real)}${side('dreamt', dreamt)}</li>`,
  );
  return `<ul class="diff">${items.join('')}</ul>`;
}

function side(of: 'real' | 'dreamt', value: Json | undefined): string {
  const text =
    value === undefined ? '<span class="note">nothing there</span>' : `<span>${escapeHtml(jsonText(value))}</span>`;
  return `<div class="${of}"><b>${of}</b>${text}</div>`;
}

function block(value: Json): string {
  return `<pre>${escapeHtml(jsonText(value))}</pre>`;
}

/** Short on one line, long indented, too long cut. */
function jsonText(value: Json): string {
  const short = JSON.stringify(value);
  if (short.length <= ONE_LINE) return short;
  const text = JSON.stringify(value, null, 2);
  const more = text.length - MOST_LETTERS;
  return more <= 0 ? text : `${text.slice(0, MOST_LETTERS)}\n… ${more} more letters, in fidelity.json`;
}

// Metrics as a table: a block a metric, in it a line a model with its bar, value, interval and whether it differs from the first.

const BETTER = { higher: 'higher is better', lower: 'lower is better', neither: '' };
const MARKS = { better: '▲ better', worse: '▼ worse', different: '◆ different' };

/** A share is drawn as a part of the whole. */
const WHOLE = { low: 0, high: 1 };

/** Names lead to their section where `areLinks`, and else are explained. */
export function measuresTable(report: ShownReport, rows: readonly MetricRow[], areLinks = false): string {
  if (rows.length === 0) return '';
  const bodies = rows.map((row) => measure(report, row, areLinks));
  return `<table class="measures${report.subjects.length === 1 ? ' alone' : ''}">${bodies.join('\n')}</table>`;
}

function measure({ subjects }: ShownReport, row: MetricRow, areLinks: boolean): string {
  const { metric, estimates } = row;
  const isShare = metric.unit === 'share';
  const own = barRange(estimates, metric.unit);
  const range = isShare && own.low === 0 && own.high <= 1 ? WHOLE : own;
  // Alone, what is no share has nothing that its length could be held against.
  const isDrawn = isShare || subjects.length > 1;
  const lines = subjects.map(({ name }, i) => {
    const estimate = estimates[i];
    const value = estimate === undefined ? 'not measured' : valueText(estimate.value, metric.unit);
    const interval = estimate === undefined ? '' : intervalText(estimate, metric.unit);
    const count = estimate === undefined || estimate.n === 0 ? '' : `n = ${estimate.n.toLocaleString('en-US')}`;
    const who = subjects.length === 1 ? '' : `<th scope="row">${nameHtml(name, i)}</th>`;
    return `${who}<td class="drawn">${isDrawn ? barHtml(estimate, i, range) : ''}</td><td class="value">${escapeHtml(value)}</td><td class="interval">${escapeHtml(interval)}</td><td class="turn">${turnHtml(row, i)}</td><td class="count">${count}</td>`;
  });
  const label = `<th class="label" scope="rowgroup" rowspan="${subjects.length}">${labelHtml(row, areLinks)}</th>`;
  return `<tbody>${lines.map((line, i) => `<tr>${i === 0 ? label : ''}${line}</tr>`).join('')}</tbody>`;
}

function labelHtml({ name, metric }: MetricRow, areLinks: boolean): string {
  const better = BETTER[metric.better] === '' ? '' : `<small>${BETTER[metric.better]}</small>`;
  const label = escapeHtml(metric.label);
  if (areLinks) return `<a href="#${escapeHtml(name.split('.')[0])}">${label}</a>${better}`;
  return `${label}<span>${escapeHtml(metric.meaning)}</span><small><code>${escapeHtml(name)}</code>${better === '' ? '' : ` · ${BETTER[metric.better]}`}</small>`;
}

function turnHtml({ metric, comparisons }: MetricRow, place: number): string {
  const comparison = comparisons[place];
  const turn = turnOf(comparison);
  if (comparison === undefined || turn === undefined) return '';
  const difference = `${differenceText(comparison.difference, metric.unit)} against ${comparison.first}`;
  return `<em class="${turn}" title="${escapeHtml(difference)}">${MARKS[turn]}</em>`;
}

/** A model's name with its colour. */
export function nameHtml(name: string, place: number): string {
  return `<span class="who"><i style="background:${armColour(place)}"></i>${escapeHtml(name)}</span>`;
}

// A figure of the report: its drawings, what the colours are, and its numbers for those who want to read them.

/** Drawings of a figure of one panel, for a desk and for a phone. */
const ALONE = { wide: { width: 960, height: 340 }, narrow: { width: 358, height: 250 } };
/** Both axes are the same. */
const SQUARE = { wide: { width: 460, height: 430 }, narrow: { width: 358, height: 345 } };
/** Of several panels three stand side by side, on a phone one. */
const PANEL = { width: 340, height: 250 };
const SQUARE_PANEL = { width: 340, height: 325 };

/** @param id unique in the page */
async function figureHtml(figure: Figure, id: string): Promise<string> {
  const body = figure.kind === 'bars' ? barsHtml(figure) : await curvesHtml(figure, id);
  return `<figure><figcaption><h3>${escapeHtml(figure.title)}</h3><p>${escapeHtml(figure.caption)}</p></figcaption>
${body}</figure>`;
}

function barsHtml({ groups }: BarsFigure): string {
  const units = new Set(groups.map(({ unit }) => unit));
  const estimates = groups.flatMap(({ bars }) => bars.map(({ estimate }) => estimate));
  const rows = groups.map(({ label, unit, bars }) => {
    // Bars of one unit can be compared across labels, those of several only within one.
    const range = barRange(units.size === 1 ? estimates : bars.map(({ estimate }) => estimate), unit);
    const lines = bars.map(
      ({ colour, estimate }) =>
        `<dd>${barHtml(estimate, colour, range)}<b>${escapeHtml(estimateText(estimate, unit))}</b></dd>`,
    );
    return `<div><dt style="grid-row:span ${bars.length}">${escapeHtml(label)}</dt>${lines.join('')}</div>`;
  });
  return `${legend(groups.flatMap(({ bars }) => bars))}<dl class="grouped">${rows.join('')}</dl>`;
}

async function curvesHtml(figure: CurvesFigure, id: string): Promise<string> {
  const { panels } = figure;
  const drawings: string[] = [];
  for (const [i, panel] of panels.entries()) {
    drawings.push(panels.length === 1 ? await twoDrawings(figure, id) : await panelHtml(figure, panel, `${id}-${i}`));
  }
  const series = panels.flatMap((panel) => panel.series);
  return `${legend(series)}<div class="panels">${drawings.join('')}</div>${leftOut(figure)}${numbers(figure)}`;
}

/** As letters of one would be unreadable when shrunk to a phone. */
async function twoDrawings(figure: CurvesFigure, id: string): Promise<string> {
  const [panel] = figure.panels;
  const label = drawingLabel(figure, '');
  const isSquare = figure.diagonal === true;
  const sizes = isSquare ? SQUARE : ALONE;
  const wide = await drawPanel(figure, panel, sizes.wide, `${id}w`);
  const narrow = await drawPanel(figure, panel, sizes.narrow, `${id}n`);
  return `<div class="wide${isSquare ? ' square' : ''}" role="img" aria-label="${label}">${wide}</div><div class="narrow" role="img" aria-label="${label}">${narrow}</div>`;
}

async function panelHtml(figure: CurvesFigure, panel: CurvesFigure['panels'][number], id: string): Promise<string> {
  const svg = await drawPanel(figure, panel, figure.diagonal === true ? SQUARE_PANEL : PANEL, id);
  const title = panel.title === '' ? '' : `<h4>${escapeHtml(panel.title)}</h4>`;
  return `<div class="panel">${title}<div role="img" aria-label="${drawingLabel(figure, panel.title)}">${svg}</div></div>`;
}

function drawingLabel({ yTitle, xTitle }: CurvesFigure, title: string): string {
  return escapeHtml(`${yTitle} against ${xTitle}${title === '' ? '' : `: ${title}`}`);
}

function legend(series: readonly { name: string; colour: number }[]): string {
  const named = new Map(series.map(({ name, colour }) => [name, colour]));
  if (named.size < 2) return '';
  const items = [...named].map(
    ([name, colour]) => `<li><i style="background:${armColour(colour)}"></i>${escapeHtml(name)}</li>`,
  );
  return `<ul class="legend">${items.join('')}</ul>`;
}

/** What a log scale cannot show. */
function leftOut(figure: CurvesFigure): string {
  const series = figure.panels.flatMap((panel) => panel.series);
  const missing = series.reduce((sum, one) => sum + one.points.length - drawable(figure, one).length, 0);
  return missing === 0 ? '' : `<p class="note">${missing} points at 0 or below have no place on this scale.</p>`;
}

function numbers({ panels, xTitle, yTitle }: CurvesFigure): string {
  const rows = panels.flatMap(({ title, series }) =>
    series.flatMap(({ name, points }) =>
      points.map(({ x, y, low, high, label }) => {
        const what = [title, name, label].filter((part) => part !== undefined && part !== '').join(', ');
        const estimate = { value: y, low: low ?? null, high: high ?? null, n: 0, method: 'none' as const };
        const cells = [valueText(x, 'number'), estimateText(estimate, 'number')];
        return `<tr><th scope="row">${escapeHtml(what)}</th>${cells.map((cell) => `<td>${cell}</td>`).join('')}</tr>`;
      }),
    ),
  );
  const head = ['', xTitle, yTitle].map((title) => `<th scope="col">${escapeHtml(title)}</th>`).join('');
  return `<details class="figures-of"><summary>In numbers</summary><div class="scroll"><table><thead><tr>${head}</tr></thead><tbody>${rows.join('')}</tbody></table></div></details>`;
}
