// What anyone understands at one glance: how far each model can be trusted, its headline figures, and which gates are shut.

import {
  gateText,
  headlineRows,
  intervalText,
  type MetricRow,
  type ShownReport,
  sectionGroups,
  valueText,
} from '../../../fidelity/index.js';
import { armColour } from '../chart.js';
import { escapeHtml } from '../escape.js';
import { measuresTable, nameHtml } from './measures.js';

export function verdictHtml(report: ShownReport): string {
  const rows = headlineRows(report);
  const trust = rows.find(({ name }) => name.startsWith('horizon.'));
  return `${cards(report, trust)}
${gatesHtml(report)}
${measuresTable(
  report,
  rows.filter((row) => row !== trust),
  true,
)}
${howToRead(report)}`;
}

function cards({ subjects }: ShownReport, trust: MetricRow | undefined): string {
  const items = subjects.map(({ name, kind, version, sections }, i) => {
    const estimate = trust?.estimates[i];
    const value = estimate?.value ?? null;
    const said = sections.find(({ id }) => id === 'horizon')?.summary ?? 'How far it can be trusted was not measured.';
    const figure = value === null ? '–' : valueText(value, trust!.metric.unit);
    const interval = estimate === undefined ? '' : intervalText(estimate, trust!.metric.unit);
    const label = trust?.metric.label ?? 'Trust horizon';
    return `<li style="border-color:${armColour(i)}">${nameHtml(name, i)}<b>${escapeHtml(figure)}</b>
<span class="of">${escapeHtml(label)}${interval === '' ? '' : `, ${escapeHtml(interval)}`}</span>
<p>${escapeHtml(said)}</p><small>${escapeHtml(kind)} <code title="${escapeHtml(version)}">${escapeHtml(shortened(version))}</code></small></li>`;
  });
  return `<ul class="trust">${items.join('\n')}</ul>`;
}

function gatesHtml(report: ShownReport): string {
  const { gates } = report;
  if (gates.length === 0) return '';
  const units = new Map(
    sectionGroups(report).flatMap(({ rows }) => rows.map(({ name, metric }) => [name, metric.unit])),
  );
  const shut = gates.filter(({ passed }) => !passed).length;
  const title = shut === 0 ? `All gates passed: ${gates.length}` : `${shut} of ${gates.length} gates failed`;
  const items = gates.map(
    (gate) =>
      `<li class="${gate.passed ? 'passed' : 'failed'}"><b>${gate.passed ? '✓ passed' : '✗ failed'}</b> <span>${escapeHtml(gateText(gate, units.get(gate.metric) ?? 'number'))}</span></li>`,
  );
  return `<section class="gates ${shut === 0 ? 'passed' : 'failed'}"><h2>${title}</h2><ul>${items.join('')}</ul></section>`;
}

function howToRead({ subjects, comparisons }: ShownReport): string {
  const turns =
    comparisons.length === 0
      ? ''
      : ` ▲ and ▼ mark differences from ${subjects[0].name} that hold at 5 % for all ${comparisons.length} comparisons of this report together (paired, Holm).`;
  return `<p class="note">${escapeHtml(`Bars are values, lines within them intervals of 95 %.${turns}`)}</p>`;
}

/** Characters of a version that a card has room for. */
const SHOWN_VERSION = 40;

/** What answers behind a router makes long names: the whole one is in `fidelity.json`, and in the page where one points. */
function shortened(version: string): string {
  return version.length > SHOWN_VERSION ? `${version.slice(0, SHOWN_VERSION)}…` : version;
}
