// The page on how far dreams are from the real: one HTML file that needs nothing else. All text is escaped.

import {
  constructionOf,
  headlineRows,
  type MetricRow,
  type SectionGroup,
  type ShownReport,
  sectionGroups,
  truthText,
} from '../../../fidelity/report/shown-report.js';
import { gateText, intervalText, valueText } from '../../../fidelity/report/wording.js';
import { armColour } from '../chart.js';
import { escapeHtml } from '../escape.js';
import { PAGE_STYLE } from '../page-style.js';
import { measuresTable, nameHtml, sectionHtml } from './section.js';

/** The whole page as text. */
export async function fidelityPage(report: ShownReport): Promise<string> {
  const groups = sectionGroups(report);
  const sections: string[] = [];
  for (const group of groups) sections.push(await sectionHtml(report, group));
  const title = `How far the dream of ${report.scenario} is from the real`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${escapeHtml(title)}</title>
<style>${PAGE_STYLE}${FIDELITY_STYLE}</style>
</head>
<body>
<main class="fidelity">
<h1>${escapeHtml(title)}</h1>
<p class="lead">${escapeHtml(truthText(report))}</p>
${incompleteHtml(report)}${contents(groups)}
<div class="report">
<section id="summary" aria-label="At a glance">
${verdictHtml(report)}
</section>
${sections.join('\n')}
${provenance(report)}
</div>
<a class="to-contents" href="#contents">Contents</a>
</main>
</body>
</html>
`;
}

function incompleteHtml({ incomplete }: ShownReport): string {
  return incomplete === undefined ? '' : `<p class="incomplete"><b>${escapeHtml(incomplete)}</b></p>\n`;
}

/** Beside the report where there is room, and stays there; above it on a phone. */
function contents(groups: readonly SectionGroup[]): string {
  const places = [
    { id: 'summary', title: 'At a glance' },
    ...groups,
    { id: 'provenance', title: 'Where this is from' },
  ];
  const links = places.map(({ id, title }) => `<li><a href="#${id}">${escapeHtml(title)}</a></li>`);
  return `<nav id="contents" aria-labelledby="contents-title"><h2 id="contents-title">Contents</h2><ol>${links.join('')}</ol></nav>`;
}

function provenance({ truth, subjects, provenance: from }: ShownReport): string {
  const rows = [
    ...subjects.map(({ name, kind, version }) => [name, `${kind} ${version}`]),
    ['truth', `${truth.kind}: ${truth.description}, version ${truth.version}`],
    ...Object.entries(from).map(([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value)]),
  ];
  const list = rows.map(([name, value]) => `<dt>${escapeHtml(name)}</dt><dd>${escapeHtml(value)}</dd>`);
  return `<section id="provenance"><h2>Where this is from</h2><dl class="provenance">${list.join('')}</dl></section>`;
}

// What anyone understands at one glance: how far each model can be trusted, its headline figures, and which gates are shut.

function verdictHtml(report: ShownReport): string {
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
    const count = estimate === undefined || estimate.n === 0 ? '' : `, n = ${estimate.n.toLocaleString('en-US')}`;
    const label = trust?.metric.label ?? 'Trust horizon';
    return `<li style="border-color:${armColour(i)}">${nameHtml(name, i)}<b>${escapeHtml(figure)}</b>
<span class="of">${escapeHtml(label)}${escapeHtml(`${interval === '' ? '' : `, ${interval}`}${count}`)}</span>
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
  const items = gates.map((gate) => {
    const construction = constructionOf(report, gate.metric);
    const hollow = construction === undefined ? '' : `<small>Proves nothing: ${escapeHtml(construction)}</small>`;
    const text = escapeHtml(gateText(gate, units.get(gate.metric) ?? 'number'));
    return `<li class="${gate.passed ? 'passed' : 'failed'}"><b>${gate.passed ? '✓ passed' : '✗ failed'}</b> <span>${text}${hollow}</span></li>`;
  });
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

// What the page on fidelity adds to the style of reports.

const FIDELITY_STYLE = `
:root { --good: #2c7a40; --bad: #b93a12; --real: #e9f5ec; --dreamt: #fbece7; --shade: #f4f1eb; }
@media (prefers-color-scheme: dark) { :root { --good: #74c686; --bad: #f58a55; --real: #1a3021; --dreamt: #3a2219; --shade: #232220; } }
html { scroll-behavior: smooth; scroll-padding-top: 1rem; }
main.fidelity { max-width: 63rem; }
.fidelity h1 { font-size: 1.8rem; }
.fidelity h3 { font-size: 1.02rem; line-height: 1.3; margin: 2.2rem 0 0.5rem; }
.fidelity h4 { font-size: 0.8rem; font-weight: 600; color: var(--ink-soft); margin: 0.9rem 0 0.3rem; }
.fidelity .aspect { border-top: 1px solid var(--rule-strong); margin-top: 3.2rem; padding-top: 0.2rem; }
.fidelity .aspect > h2, #provenance > h2 { font-size: 1.45rem; margin: 1.4rem 0 0.7rem; letter-spacing: -0.01em; }
.fidelity .lead { font-size: 1rem; color: var(--ink-soft); }
.fidelity .incomplete { border-left: 4px solid var(--bad); background: var(--dreamt); border-radius: 0 8px 8px 0; padding: 0.7rem 1rem; font-size: 0.9rem; }
.fidelity nav { margin: 1.6rem 0; padding: 0.8rem 1rem; background: var(--panel); border: 1px solid var(--rule); border-radius: 8px; font-size: 0.86rem; }
.fidelity nav h2 { font-size: 0.8rem; font-weight: 600; color: var(--ink-soft); margin: 0 0 0.35rem; }
.fidelity nav ol { list-style: none; margin: 0; padding: 0; display: flex; flex-wrap: wrap; gap: 0.2rem 1.2rem; }
.fidelity nav a { text-decoration: none; display: inline-block; padding: 0.12rem 0; }
.fidelity nav a:hover { text-decoration: underline; }
.to-contents { position: fixed; right: 1rem; bottom: 1rem; padding: 0.35rem 0.8rem; border-radius: 99px; background: var(--panel); border: 1px solid var(--rule-strong); font-size: 0.8rem; text-decoration: none; }
@media (min-width: 76rem) {
  main.fidelity { max-width: 76rem; display: grid; grid-template-columns: 10.5rem minmax(0, 1fr); column-gap: 2.5rem; }
  .fidelity > h1, .fidelity > .lead, .fidelity > .incomplete { grid-column: 1 / -1; }
  .fidelity nav { position: sticky; top: 1.2rem; align-self: start; margin: 1.8rem 0 0; padding: 0; background: none; border: 0; }
  .fidelity nav ol { display: block; }
  .to-contents { display: none; }
}
@media print { .to-contents { display: none; } }
.fidelity a { color: inherit; text-decoration-color: var(--rule-strong); text-underline-offset: 3px; }
.who { display: inline-flex; align-items: baseline; gap: 0.45em; overflow-wrap: anywhere; }
.who i { flex: none; width: 0.62em; height: 0.62em; border-radius: 50%; }
.trust, .said, .gates ul, .remarks, .diff { list-style: none; padding: 0; }
.trust { display: grid; grid-template-columns: repeat(auto-fit, minmax(14rem, 1fr)); gap: 1.2rem; margin: 1.8rem 0; }
.trust li { border-top: 4px solid; background: var(--panel); border-radius: 0 0 8px 8px; padding: 0.8rem 1rem 0.9rem; box-shadow: 0 0 0 1px var(--rule); min-width: 0; }
.trust .of { display: block; line-height: 1.3; }
.trust .who { font-weight: 600; font-size: 0.95rem; }
.trust .who i { display: none; }
.trust b { display: block; font-size: 2.3rem; line-height: 1.15; font-weight: 600; letter-spacing: -0.02em; font-variant-numeric: tabular-nums; margin-top: 0.35rem; }
.trust .of, .trust small { color: var(--ink-soft); font-size: 0.82rem; }
.trust p { font-size: 0.88rem; line-height: 1.4; margin: 0.6rem 0 0.5rem; }
.trust small { overflow-wrap: anywhere; }
.gates { border-left: 4px solid var(--good); background: var(--real); border-radius: 0 8px 8px 0; padding: 0.7rem 1rem; margin: 1.6rem 0; font-size: 0.88rem; }
.gates.failed { border-color: var(--bad); background: var(--dreamt); }
.gates h2 { margin: 0 0 0.35rem; font-size: 1rem; }
.gates ul { margin: 0; }
.gates li { display: flex; gap: 0.7rem; padding: 0.12rem 0; }
.gates li b { flex: none; width: 5rem; }
.gates li.failed b, em.worse { color: var(--bad); }
.gates li.passed b, em.better { color: var(--good); }
.gates li span { overflow-wrap: anywhere; min-width: 0; }
.gates li small { display: block; color: var(--ink-soft); }
table.measures { margin: 1.4rem 0 0.6rem; font-size: 0.86rem; }
table.measures tbody { border-bottom: 1px solid var(--rule); }
table.measures th, table.measures td { border: 0; padding: 0.12rem 0 0.12rem 0.9rem; text-align: left; white-space: normal; min-width: 0; }
table.measures tr:first-child > * { padding-top: 0.6rem; }
table.measures tr:last-child > * { padding-bottom: 0.6rem; }
table.measures th.label { width: 15.5rem; padding-left: 0; padding-bottom: 0.6rem; vertical-align: top; font-weight: 600; }
table.measures.alone th.label { width: 27rem; }
table.measures th.label > span, table.measures th.label > small { display: block; font-weight: 400; color: var(--ink-soft); font-size: 0.8rem; line-height: 1.35; }
table.measures th.label > span { margin: 0.1rem 0 0.15rem; }
table.measures tbody th[scope="row"] { font-weight: 400; width: 11.5rem; }
table.measures .drawn { vertical-align: middle; }
table.measures .value { font-weight: 600; white-space: nowrap; width: 5.8rem; }
table.measures .interval { color: var(--ink-soft); white-space: nowrap; width: 8.6rem; }
table.measures .turn { width: 4.9rem; }
table.measures .count { color: var(--ink-soft); font-size: 0.78rem; white-space: nowrap; text-align: right; width: 4.6rem; }
table.measures em { font-style: normal; white-space: nowrap; font-weight: 600; font-size: 0.8rem; }
.bar { position: relative; display: block; height: 0.85rem; background: var(--shade); border-radius: 2px; }
.bar i { position: absolute; top: 0; bottom: 0; border-radius: 2px; min-width: 1px; }
.bar s { position: absolute; top: calc(50% - 1px); height: 2px; background: var(--ink); text-decoration: none; min-width: 1px; }
.bar u { position: absolute; top: -2px; bottom: -2px; width: 1px; background: var(--ink-soft); }
.bar.none { background: none; border-bottom: 1px dashed var(--rule-strong); height: 0.5rem; }
.said { margin: 0 0 1rem; }
.said li { display: grid; grid-template-columns: 10rem 1fr; gap: 1rem; padding: 0.15rem 0; }
.said .who { font-size: 0.86rem; }
.fidelity figure { margin: 2.2rem 0 0; }
.fidelity figcaption h3 { margin: 0; }
.panels { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 17rem), 1fr)); gap: 0.6rem 1.4rem; }
.panels > .wide, .panels > .narrow { grid-column: 1 / -1; }
.panels > .square { max-width: 29rem; }
.panel h4 { margin-bottom: 0; }
dl.grouped { margin: 0.6rem 0 0; font-size: 0.86rem; }
dl.grouped > div { display: grid; grid-template-columns: minmax(7rem, 22%) 1fr; gap: 0.15rem 1rem; padding: 0.4rem 0; border-bottom: 1px solid var(--rule); align-items: center; }
dl.grouped dt { overflow-wrap: anywhere; align-self: start; }
dl.grouped dd { grid-column: 2; margin: 0; display: grid; grid-template-columns: 1fr 11.5rem; gap: 1rem; align-items: center; }
dl.grouped dd b { font-weight: 400; font-variant-numeric: tabular-nums; }
details > summary { cursor: pointer; font-size: 0.86rem; }
.rest { margin: 0.6rem 0; color: var(--ink-soft); }
.rest table { color: var(--ink); }
.figures-of { margin-top: 0.4rem; color: var(--ink-soft); }
.figures-of .scroll { max-height: 22rem; overflow-y: auto; margin-top: 0.4rem; color: var(--ink); }
.fidelity .scroll { margin: 0.4rem 0 0; }
table.cells { width: auto; min-width: min(100%, 28rem); }
table.cells td, table.cells th, table.cells td + td:last-child { white-space: normal; text-align: left; min-width: 0; overflow-wrap: anywhere; }
table.cells thead th { white-space: nowrap; overflow-wrap: normal; }
table.cells tr.same > * { border-top: 0; }
table.cells tr:has(+ tr.same) > * { border-bottom: 0; }
.whose { margin: 0.9rem 0 0.3rem; font-size: 0.9rem; }
.worst { border-top: 1px solid var(--rule); padding: 0.5rem 0; }
.worst summary { font-weight: 600; }
.worst summary small { font-weight: 400; color: var(--ink-soft); margin-left: 0.4rem; }
.worst pre { margin: 0; padding: 0.5rem 0.7rem; background: var(--shade); border-radius: 5px; white-space: pre-wrap; overflow-wrap: anywhere; font: 0.8rem/1.45 ui-monospace, "SF Mono", Menlo, Consolas, monospace; max-height: 26rem; overflow-y: auto; }
.worst .both { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 18rem), 1fr)); gap: 0 1.2rem; }
.diff { margin: 0; font: 0.8rem/1.45 ui-monospace, "SF Mono", Menlo, Consolas, monospace; }
.diff li { padding: 0.2rem 0; }
.diff code { color: var(--ink-soft); overflow-wrap: anywhere; }
.diff div { display: grid; grid-template-columns: 4rem 1fr; gap: 0.6rem; padding: 0.05rem 0.5rem; border-radius: 3px; white-space: pre-wrap; overflow-wrap: anywhere; }
.diff div.real { background: var(--real); }
.diff div.dreamt { background: var(--dreamt); margin-top: 1px; }
.diff b { font-weight: 400; color: var(--ink-soft); }
.remarks { margin: 1.2rem 0 0; border-left: 3px solid var(--rule-strong); padding-left: 0.9rem; font-size: 0.92rem; }
.remarks li { margin-bottom: 0.3rem; }
.sr { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
#provenance .provenance { margin-top: 1rem; }
@media (max-width: 44rem) {
  table.measures, table.measures tbody { display: block; }
  table.measures tbody { padding: 0.5rem 0; }
  table.measures tr { display: grid; grid-template-columns: minmax(0, 1fr) auto; gap: 0 0.7rem; padding: 0.25rem 0; }
  table.measures tr:first-child { padding-top: 0; }
  table.measures th, table.measures td, table.measures tr:first-child > *, table.measures tr:last-child > * { padding: 0; }
  table.measures th.label, table.measures.alone th.label { grid-column: 1 / -1; width: auto; padding-bottom: 0.3rem; }
  table.measures tbody th[scope="row"] { width: auto; }
  table.measures .drawn { grid-column: 1 / -1; grid-row: 3; width: auto; padding: 0.1rem 0; }
  table.measures .value { text-align: right; }
  table.measures .value, table.measures .interval, table.measures .turn, table.measures .count { width: auto; }
  table.measures .interval { grid-row: 4; font-size: 0.78rem; }
  table.measures .count { grid-row: 4; }
  table.measures .turn { grid-row: 5; grid-column: 1 / -1; }
  table.measures .turn:empty { display: none; }
  table.measures.alone .value { grid-row: 4; grid-column: 1; text-align: left; }
  table.measures.alone .interval { grid-row: 4; grid-column: 2; text-align: right; font-size: 0.86rem; }
  table.measures.alone .count, table.measures.alone .turn { display: none; }
  .said li { grid-template-columns: 1fr; gap: 0; padding: 0.3rem 0; }
  dl.grouped > div { grid-template-columns: 1fr; }
  dl.grouped dt { grid-row: auto !important; font-weight: 600; }
  dl.grouped dd { grid-column: 1; grid-template-columns: 1fr 9.8rem; gap: 0.6rem; }
  .trust { grid-template-columns: 1fr; gap: 0.8rem; }
  .gates li { display: block; padding: 0.25rem 0; }
  .worst summary small { display: block; margin-left: 1.1rem; }
}
`;
