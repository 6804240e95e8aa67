// The page on how far dreams are from the real: one HTML file that needs nothing else. All text is escaped.

import { type SectionGroup, type ShownReport, sectionGroups, truthText } from '../../../fidelity/index.js';
import { escapeHtml } from '../escape.js';
import { PAGE_STYLE } from '../page-style.js';
import { FIDELITY_STYLE } from './fidelity-style.js';
import { sectionHtml } from './section.js';
import { verdictHtml } from './verdict.js';

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
${incompleteHtml(report)}${verdictHtml(report)}
${contents(groups)}
${sections.join('\n')}
${provenance(report)}
</main>
</body>
</html>
`;
}

function incompleteHtml({ incomplete }: ShownReport): string {
  return incomplete === undefined ? '' : `<p class="incomplete"><b>${escapeHtml(incomplete)}</b></p>\n`;
}

function contents(groups: readonly SectionGroup[]): string {
  const links = groups.map(({ id, title }) => `<a href="#${id}">${escapeHtml(title)}</a>`);
  return `<nav aria-label="Sections">${links.join(' ')}</nav>`;
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
