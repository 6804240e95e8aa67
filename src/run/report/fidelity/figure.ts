// A figure of the report: its drawings, what the colours are, and its numbers for those who want to read them.

import { type BarsFigure, type CurvesFigure, estimateText, type Figure, valueText } from '../../../fidelity/index.js';
import { armColour } from '../chart.js';
import { escapeHtml } from '../escape.js';
import { barHtml, barRange } from './bar.js';
import { drawable, drawPanel } from './curve-drawing.js';

/** Drawings of a figure of one panel, for a desk and for a phone. */
const ALONE = { wide: { width: 960, height: 340 }, narrow: { width: 358, height: 250 } };
/** Both axes are the same. */
const SQUARE = { wide: { width: 460, height: 430 }, narrow: { width: 358, height: 345 } };
/** Of several panels three stand side by side, on a phone one. */
const PANEL = { width: 340, height: 250 };
const SQUARE_PANEL = { width: 340, height: 325 };

/** @param id unique in the page */
export async function figureHtml(figure: Figure, id: string): Promise<string> {
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
