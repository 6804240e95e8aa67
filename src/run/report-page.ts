// Reports as a page: one HTML file that needs nothing else and no script. All text is escaped.

import { join } from 'node:path';
import type { EvaluationSet } from '../core/evaluation-set.js';
import { writeFileAtomic } from '../core/files.js';
import type { Bar, Block, Cell, CurvesBlock, Report, TableBlock } from '../core/report.js';
import type { JobContext } from './job.js';
import { cellText, chartTable } from './report.js';
import { ARM_COLOURS, armColour, coloursOf, drawCurves } from './report-chart.js';
import type { AnyScenario } from './scenario.js';
import { provenanceBlock } from './versions.js';

/** Shows a job's report, and writes it with where its figures come from; answers the page's file. */
export async function publish(
  context: JobContext<AnyScenario>,
  report: Report,
  evaluationSet?: EvaluationSet,
): Promise<string> {
  const file = join(context.out, 'report.html');
  context.show(report);
  await writeReport(file, { ...report, blocks: [...report.blocks, provenanceBlock(context, evaluationSet)] });
  return file;
}

/** Writes the report to `file`. */
export async function writeReport(file: string, report: Report): Promise<void> {
  await writeFileAtomic(file, await reportPage(report));
}

/** Parts from which on a page has contents. */
const CONTENTS_FROM = 5;

/** The whole page as text. */
export async function reportPage({ title, blocks }: Report): Promise<string> {
  const curves = blocks.flatMap((block) => (block.kind === 'curves' ? block.curves : []));
  const names = [...new Set(curves.map(({ name }) => name))];
  const body: string[] = [];
  for (const [i, block] of blocks.entries()) body.push(await blockHtml(block, names, `b${i}`));
  const parts = blocks.flatMap((block, i) =>
    block.kind === 'heading' && block.level !== 3 ? [`<li><a href="#b${i}">${escapeHtml(block.text)}</a></li>`] : [],
  );
  const contents = parts.length < CONTENTS_FROM ? '' : `<nav aria-label="Contents"><ol>${parts.join('')}</ol></nav>`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${escapeHtml(title)}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>${escapeHtml(title)}</h1>
${contents}
${body.join('\n')}
</main>
</body>
</html>
`;
}

/** Text safe in HTML content and in quoted attributes. */
function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (mark) => `&#${mark.charCodeAt(0)};`);
}

async function blockHtml(block: Block, names: readonly string[], id: string): Promise<string> {
  switch (block.kind) {
    case 'heading':
      return block.level === 3 ? `<h3>${escapeHtml(block.text)}</h3>` : `<h2 id="${id}">${escapeHtml(block.text)}</h2>`;
    case 'paragraph':
      return `<p${block.tone === undefined ? '' : ` class="${block.tone}"`}>${escapeHtml(block.text)}</p>`;
    case 'list': {
      const title = block.title === undefined ? '' : `<b>${escapeHtml(block.title)}</b>`;
      const items = block.items.map((item) => `<li>${escapeHtml(item)}</li>`).join('');
      return `<div class="list ${block.tone ?? ''}">${title}<ul>${items}</ul></div>`;
    }
    case 'facts': {
      const rows = block.rows.map(
        ([label, value]) => `<dt>${escapeHtml(label.replace(/^ +/, '\u2003'))}</dt><dd>${escapeHtml(value)}</dd>`,
      );
      return `<dl class="facts">${rows.join('')}</dl>`;
    }
    case 'figures': {
      const items = block.items.map(
        ({ value, label, text }) =>
          `<li><b>${escapeHtml(value)}</b><span>${escapeHtml(label)}</span>${text === undefined ? '' : `<p>${escapeHtml(text)}</p>`}</li>`,
      );
      return `<ul class="figures">${items.join('')}</ul>`;
    }
    case 'table':
      return tableHtml(block);
    case 'curves':
      return curvesHtml(block, names, id);
    case 'details': {
      const inner: string[] = [];
      for (const [i, one] of block.blocks.entries()) inner.push(await blockHtml(one, names, `${id}-${i}`));
      return `<details><summary>${escapeHtml(block.title)}</summary>${inner.join('\n')}</details>`;
    }
    case 'transcript': {
      const items = block.lines.map(({ role, text, note }) => {
        const aside = note === undefined ? '' : `<small>${escapeHtml(note)}</small>`;
        return `<li class="${role}"><span>${role}${aside}</span><pre>${escapeHtml(text)}</pre></li>`;
      });
      return `<ol class="transcript">${items.join('')}</ol>`;
    }
    case 'code':
      return `<pre class="code">${escapeHtml(block.text)}</pre>`;
  }
}

/** Characters; what is longer is a sentence, which may break. */
const LONGEST_VALUE = 24;

function tableHtml({ title, columns, rows, note, alignment = 'figures' }: TableBlock): string {
  const head = columns.map((column) => `<th scope="col">${escapeHtml(column)}</th>`).join('');
  const body = rows.map(([first, ...cells]) => {
    const data = cells.map((cell) => {
      const long = cellText(cell).length > LONGEST_VALUE ? ' class="long"' : '';
      return `<td${long}>${cellHtml(cell)}</td>`;
    });
    return `<tr><th scope="row">${cellHtml(first)}</th>${data.join('')}</tr>`;
  });
  const above = title === undefined ? '' : `<h3>${escapeHtml(title)}</h3>`;
  const below = note === undefined ? '' : `<p class="note">${escapeHtml(note)}</p>`;
  return `${above}<div class="scroll"><table class="of-${alignment}"><thead><tr>${head}</tr></thead><tbody>${body.join('\n')}</tbody></table></div>${below}`;
}

function cellHtml(cell: Cell): string {
  if (typeof cell === 'string') return escapeHtml(cell);
  const { text, about, bar } = cell;
  const below = about === undefined ? '' : `<small>${escapeHtml(about)}</small>`;
  return `${bar === undefined ? '' : barHtml(bar)}${escapeHtml(text)}${below}`;
}

/** Grows from zero, to the left for what is below it; a line within is the interval. */
function barHtml({ value, low, high, range: [from, to], colour = 0 }: Bar): string {
  const at = (number: number) => (100 * (Math.min(to, Math.max(from, number)) - from)) / (to - from || 1);
  const box = (a: number, b: number) => `left:${Math.min(a, b).toFixed(2)}%;width:${Math.abs(b - a).toFixed(2)}%`;
  const whisker = low === undefined || high === undefined ? '' : `<s style="${box(at(low), at(high))}"></s>`;
  const axis = from < 0 ? `<u style="left:${at(0).toFixed(2)}%"></u>` : '';
  return `<span class="bar"><i style="${box(at(0), at(value))};background:${armColour(colour)}"></i>${axis}${whisker}</span>`;
}

function captionHtml(title: string, caption: string | undefined): string {
  return `<figcaption><h3>${escapeHtml(title)}</h3>${caption === undefined ? '' : `<p>${escapeHtml(caption)}</p>`}</figcaption>`;
}

const WIDE = { width: 784, height: 330 };
const SQUARE = { width: 460, height: 430 };

async function curvesHtml(chart: CurvesBlock, names: readonly string[], id: string): Promise<string> {
  const drawing = await drawCurves(chart, names, chart.diagonal ? SQUARE : WIDE, id);
  const label = escapeHtml(`${chart.yTitle} against ${chart.xTitle}`);
  const colours = [...coloursOf(chart, names)];
  const items = colours.map(
    ([name, place]) => `<li><i style="background:${armColour(place)}"></i>${escapeHtml(name)}</li>`,
  );
  return `<figure>${captionHtml(chart.title, chart.caption)}
${colours.length < 2 ? '' : `<ul class="legend">${items.join('')}</ul>`}
<div class="scroll"${chart.diagonal ? ' style="max-width:29rem"' : ''} role="img" aria-label="${label}">${drawing}</div>
<details><summary>In numbers</summary>${tableHtml(chartTable(chart))}</details></figure>`;
}

/** As custom properties of CSS: `--arm-0: #…; --arm-1: …`. */
function armProperties(scheme: keyof typeof ARM_COLOURS): string {
  return ARM_COLOURS[scheme].map((colour, i) => `--arm-${i}: ${colour};`).join(' ');
}

/** One column of text, tabular figures, light and dark, down to a phone's width. */
const STYLE = `
:root {
  color-scheme: light dark;
  --paper: #fdfcfa; --panel: #ffffff; --ink: #1d1c1a; --ink-soft: #6b6862; --rule: #ebe8e2; --rule-strong: #cfcbc2;
  --good: #2c7a40; --bad: #b93a12; --shade: #f4f1eb;
  ${armProperties('light')}
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #161615; --panel: #1d1d1b; --ink: #ece9e2; --ink-soft: #a19d94; --rule: #2c2b29; --rule-strong: #4a4844;
    --good: #74c686; --bad: #f58a55; --shade: #232220;
    ${armProperties('dark')}
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
main { max-width: 56rem; margin: 0 auto; padding: 3.5rem 1.5rem 4rem; }
h1 { font-size: 2.1rem; line-height: 1.15; letter-spacing: -0.015em; margin: 0 0 0.8rem; text-wrap: balance; }
h2 { font-size: 1.4rem; line-height: 1.3; margin: 3.2rem 0 0.8rem; padding-top: 1.2rem; border-top: 1px solid var(--rule-strong); }
h3 { font-size: 1.05rem; line-height: 1.3; margin: 2rem 0 0.5rem; }
p { margin: 0 0 1rem; text-wrap: pretty; }
a { color: inherit; text-decoration-color: var(--rule-strong); text-underline-offset: 3px; }
.lead { font-size: 1.15rem; line-height: 1.5; max-width: 42rem; }
.note { color: var(--ink-soft); font-size: 0.82rem; line-height: 1.45; }
.warning { border-left: 4px solid var(--bad); background: var(--shade); padding: 0.7rem 1rem; font-weight: 600; }
nav { margin: 1.4rem 0; padding: 0.7rem 1rem; background: var(--panel); border: 1px solid var(--rule); border-radius: 8px; font-size: 0.86rem; }
nav ol { list-style: none; margin: 0; padding: 0; display: flex; flex-wrap: wrap; gap: 0.2rem 1.2rem; }
.list { margin: 1.2rem 0; font-size: 0.92rem; overflow-wrap: anywhere; }
.list ul { padding-left: 1.1rem; margin: 0.3rem 0 0; }
.list li { margin-bottom: 0.3rem; }
.list.passed, .list.failed, .list.note { border-left: 4px solid var(--rule-strong); padding: 0.4rem 1rem; }
.list.passed { border-color: var(--good); background: var(--shade); }
.list.failed { border-color: var(--bad); background: var(--shade); }
.list.failed b { color: var(--bad); }
.figures { display: flex; flex-wrap: wrap; gap: 1rem 3rem; margin: 2rem 0; padding: 0; list-style: none; }
.figures b { display: block; font-size: 2.4rem; line-height: 1.1; font-weight: 600; letter-spacing: -0.02em; font-variant-numeric: tabular-nums; }
.figures span { color: var(--ink-soft); font-size: 0.85rem; }
.figures p { font-size: 0.9rem; line-height: 1.45; margin: 0.5rem 0 0; }
.scroll { overflow-x: auto; margin: 1rem 0 0.5rem; }
table { border-collapse: collapse; width: 100%; font-size: 0.86rem; font-variant-numeric: tabular-nums; }
th, td { padding: 0.5rem 0 0.5rem 1.2rem; text-align: right; vertical-align: baseline; border-bottom: 1px solid var(--rule); white-space: nowrap; }
table.of-text :is(th, td), .long { text-align: left; white-space: normal; }
th:first-child { padding-left: 0; text-align: left; }
thead th { color: var(--ink-soft); font-weight: 500; border-bottom-color: var(--rule-strong); white-space: normal; vertical-align: bottom; line-height: 1.3; }
tbody th { font-weight: 600; white-space: normal; min-width: 9rem; }
th small, td small { display: block; font-weight: 400; color: var(--ink-soft); font-size: 0.8rem; line-height: 1.35; overflow-wrap: anywhere; }
.long { min-width: 10rem; overflow-wrap: anywhere; }
td:has(> .bar) { text-align: left; }
.bar { position: relative; display: inline-block; vertical-align: middle; width: 8rem; height: 0.85rem; margin-right: 0.7rem; background: var(--shade); border-radius: 2px; }
.bar i { position: absolute; top: 0; bottom: 0; border-radius: 2px; min-width: 1px; }
.bar s { position: absolute; top: calc(50% - 1px); height: 2px; background: var(--ink); min-width: 1px; }
.bar u { position: absolute; top: -2px; bottom: -2px; width: 1px; background: var(--ink-soft); }
figure { margin: 2.4rem 0 0; }
figcaption h3 { margin: 0; }
figcaption p { color: var(--ink-soft); font-size: 0.92rem; margin: 0.2rem 0 0; max-width: 42rem; }
.legend { display: flex; flex-wrap: wrap; gap: 0.25rem 1.4rem; margin: 0.7rem 0 0.4rem; padding: 0; list-style: none; font-size: 0.83rem; }
.legend i { display: inline-block; width: 1.3em; height: 3px; border-radius: 2px; margin-right: 0.5em; vertical-align: 0.25em; }
svg { display: block; width: 100%; min-width: 30rem; height: auto; }
dl.facts { display: grid; grid-template-columns: max-content 1fr; gap: 0.3rem 1.4rem; margin: 1.5rem 0 0; font-size: 0.8rem; }
dl.facts dt { color: var(--ink-soft); }
dl.facts dd { margin: 0; overflow-wrap: anywhere; }
details { border-top: 1px solid var(--rule); padding: 0.5rem 0; }
summary { cursor: pointer; font-size: 0.92rem; }
pre { margin: 0; white-space: pre-wrap; overflow-wrap: anywhere; font: inherit; font-size: .92rem; }
pre.code { padding: 0.5rem 0.7rem; background: var(--shade); border-radius: 5px; font: 0.8rem/1.45 ui-monospace, "SF Mono", Menlo, Consolas, monospace; max-height: 26rem; overflow-y: auto; }
.transcript { list-style: none; padding: 0; margin: .7rem 0; }
.transcript li { display: grid; grid-template-columns: 6.5rem 1fr; gap: .8rem; padding: .35rem 0; }
.transcript span { color: var(--ink-soft); font-size: .85rem; }
.transcript small { display: block; font-size: .78rem; overflow-wrap: anywhere; }
.assistant pre { border-left: 3px solid var(--arm-0); padding-left: .6rem; }
.tool pre { border-left: 3px solid var(--arm-1); padding-left: .6rem; font-family: ui-monospace, monospace; font-size: .82rem; }
@media (max-width: 36rem) {
  main { padding: 2rem 1.1rem 3rem; }
  h1 { font-size: 1.65rem; }
  dl.facts, .transcript li { grid-template-columns: 1fr; gap: .1rem; }
  .bar { width: 4rem; }
}
`;
