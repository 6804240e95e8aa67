// The report page: one HTML file that needs nothing else, made from a ReportInput. All text is escaped.

import { writeFileAtomic } from '../../core/files.js';
import { armColour, armsOf, drawChart } from './chart.js';
import { escapeHtml } from './escape.js';
import { PAGE_STYLE } from './page-style.js';
import type {
  ReportBars,
  ReportChart,
  ReportInput,
  ReportLink,
  ReportProvenance,
  ReportSection,
  ReportTable,
  ReportTranscript,
} from './report-input.js';

const WIDE = { width: 784, height: 330 };
const NARROW = { width: 358, height: 250 };

/** Writes the report of `input` to `file`. */
export async function writeReport(file: string, input: ReportInput): Promise<void> {
  await writeFileAtomic(file, await reportPage(input));
}

/** The whole page as text. */
export async function reportPage(input: ReportInput): Promise<string> {
  const arms = [...new Set(input.charts.flatMap(armsOf))];
  const figures: string[] = [];
  for (const [index, chart] of input.charts.entries()) figures.push(await chartFigure(chart, arms, index));
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${escapeHtml(input.title)}</title>
<style>${PAGE_STYLE}</style>
</head>
<body>
<main>
<h1>${escapeHtml(input.title)}</h1>
${input.lead === undefined ? '' : `<p class="lead">${escapeHtml(input.lead)}</p>`}
${figureRow(input.figures ?? [])}
${table(input.summary)}
${(input.links ?? []).map(link).join('\n')}
${figures.join('\n')}
${(input.bars ?? []).map(barsFigure).join('\n')}
${(input.sections ?? []).map(section).join('\n')}
${transcripts(input)}
${notes(input.notes ?? [])}
${provenance(input.provenance)}
</main>
</body>
</html>
`;
}

function figureRow(figures: readonly { value: string; label: string }[]): string {
  if (figures.length === 0) return '';
  const items = figures.map(
    ({ value, label }) => `<li><b>${escapeHtml(value)}</b><span>${escapeHtml(label)}</span></li>`,
  );
  return `<ul class="figures">${items.join('')}</ul>`;
}

/** Characters; what is longer is a sentence, which may break. */
const LONGEST_VALUE = 24;

function table({ columns, rows, note }: ReportTable): string {
  const head = columns.map((column) => `<th scope="col">${escapeHtml(column)}</th>`).join('');
  const body = rows.map(([name, ...cells]) => {
    const data = cells.map(
      (cell) => `<td${cell.length > LONGEST_VALUE ? ' class="text"' : ''}>${escapeHtml(cell)}</td>`,
    );
    return `<tr><th scope="row">${escapeHtml(name)}</th>${data.join('')}</tr>`;
  });
  const below = note === undefined ? '' : `<p class="note">${escapeHtml(note)}</p>`;
  return `<div class="scroll"><table><thead><tr>${head}</tr></thead><tbody>${body.join('\n')}</tbody></table></div>${below}`;
}

/** Two drawings, as letters of one would be unreadable when shrunk to a phone. */
async function chartFigure(chart: ReportChart, arms: readonly string[], index: number): Promise<string> {
  const wide = await drawChart(chart, arms, WIDE, `w${index}`);
  const narrow = await drawChart(chart, arms, NARROW, `n${index}`);
  const label = escapeHtml(`${chart.yTitle} against ${chart.xTitle}`);
  const caption = chart.caption === undefined ? '' : `<p>${escapeHtml(chart.caption)}</p>`;
  return `<figure><figcaption><h2>${escapeHtml(chart.title)}</h2>${caption}</figcaption>
${legend(armsOf(chart), arms)}
<div class="wide" role="img" aria-label="${label}">${wide}</div>
<div class="narrow" role="img" aria-label="${label}">${narrow}</div></figure>`;
}

function legend(shown: readonly string[], arms: readonly string[]): string {
  if (shown.length < 2) return '';
  const items = shown.map(
    (arm) => `<li><i style="background:${armColour(arms.indexOf(arm))}"></i>${escapeHtml(arm)}</li>`,
  );
  return `<ul class="legend">${items.join('')}</ul>`;
}

function link({ file, title, about }: ReportLink): string {
  return `<p class="link"><a href="${escapeHtml(encodeURI(file))}" target="_blank">${escapeHtml(title)}</a> ${escapeHtml(about)}</p>`;
}

function transcripts({ transcripts = [] }: ReportInput): string {
  if (transcripts.length === 0) return '';
  return `<section><h2>Episodes</h2>${transcripts.map(transcriptDetails).join('\n')}</section>`;
}

function notes(lines: readonly string[]): string {
  if (lines.length === 0) return '';
  return `<section class="notes"><h2>Notes</h2><ul>${lines.map((line) => `<li>${escapeHtml(line)}</li>`).join('')}</ul></section>`;
}

function provenance(from: ReportProvenance): string {
  const versions = Object.entries(from.versions).map(([name, version]) => `${name} ${version}`);
  const rows = [
    ['Command', `<code>${escapeHtml(from.command)}</code>`],
    ['Scenario', `${escapeHtml(from.scenario)} <code>${escapeHtml(from.scenarioHash.slice(0, 12))}</code>`],
    ['Seeds', escapeHtml(from.seeds.join(', '))],
    ...(from.panel === undefined ? [] : [['Panel', `<code>${escapeHtml(from.panel)}</code>`]]),
    ['Machine', escapeHtml(from.machine)],
    ['Versions', escapeHtml(versions.join(' · '))],
    ['Made', escapeHtml(from.date)],
  ];
  return `<dl class="provenance">${rows.map(([name, value]) => `<dt>${name}</dt><dd>${value}</dd>`).join('')}</dl>`;
}

// An episode as it was lived, to be read: who said what, which calls were made, who answered them and how surely.

/** Closed until it is opened; works without a script. */
function transcriptDetails({ title, lines }: ReportTranscript): string {
  return `<details class="transcript"><summary>${escapeHtml(title)}</summary>${transcriptLines(lines)}</details>`;
}

function transcriptLines(lines: ReportTranscript['lines']): string {
  const items = lines.map(({ role, text, note }) => {
    const aside = note === undefined ? '' : `<small>${escapeHtml(note)}</small>`;
    return `<li class="${escapeHtml(role)}"><span>${escapeHtml(role)}${aside}</span><pre>${escapeHtml(text)}</pre></li>`;
  });
  return `<ol>${items.join('')}</ol>`;
}

/** Groups are closed until they are opened, and then show all that is in them. */
function section({ title, caption, table: figures, groups }: ReportSection): string {
  const lead = caption === undefined ? '' : `<p>${escapeHtml(caption)}</p>`;
  const details = groups.map(({ title, transcripts }) => {
    const shown = transcripts.map(({ title, lines }) => `<h3>${escapeHtml(title)}</h3>${transcriptLines(lines)}`);
    return `<details class="transcript"><summary>${escapeHtml(title)}</summary>${shown.join('\n')}</details>`;
  });
  return `<section><h2>${escapeHtml(title)}</h2>${lead}${table(figures)}${details.join('\n')}</section>`;
}

// Amounts side by side: one horizontal bar each, drawn by the page's own boxes, so that words stay words.

/** The figure as HTML; bars are scaled to the largest. */
function barsFigure({ title, caption, bars }: ReportBars): string {
  const largest = Math.max(...bars.map(({ value, high }) => high ?? value), Number.MIN_VALUE);
  const rows = bars.map(({ label, value, text, low, high }) => {
    const width = (part: number) => `${((100 * part) / largest).toFixed(2)}%`;
    const whisker =
      low === undefined || high === undefined
        ? ''
        : `<s style="left:${width(low)};width:${width(Math.max(0, high - low))}"></s>`;
    return `<dt>${escapeHtml(label)}</dt><dd><span><i style="width:${width(value)}"></i>${whisker}</span><b>${escapeHtml(text)}</b></dd>`;
  });
  const below = caption === undefined ? '' : `<p>${escapeHtml(caption)}</p>`;
  return `<figure><figcaption><h2>${escapeHtml(title)}</h2>${below}</figcaption><dl class="bars">${rows.join('')}</dl></figure>`;
}
