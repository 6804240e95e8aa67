// Metrics as a table: a block a metric, in it a line a model with its bar, value, interval and whether it differs from the first.

import {
  differenceText,
  intervalText,
  type MetricRow,
  type ShownReport,
  turnOf,
  valueText,
} from '../../../fidelity/index.js';
import { armColour } from '../chart.js';
import { escapeHtml } from '../escape.js';
import { barHtml, barRange } from './bar.js';

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
