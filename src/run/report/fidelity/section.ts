// One section of the report, of all models.

import {
  type FidelityTable,
  figuresOf,
  notesOf,
  type SectionGroup,
  type ShownReport,
  tablesOf,
} from '../../../fidelity/index.js';
import { escapeHtml } from '../escape.js';
import { figureHtml } from './figure.js';
import { measuresTable, nameHtml } from './measures.js';
import { worstHtml } from './worst.js';

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
