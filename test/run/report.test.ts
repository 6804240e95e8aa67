// Reports as pages, as Markdown and on a terminal: one content, safe and alike in each.

import { describe, expect, it } from 'vitest';
import type { Block, CurvesBlock, Report } from '../../src/core/report.js';
import { fidelityDocument } from '../../src/fidelity/document.js';
import { markdownText, terminalText } from '../../src/run/report.js';
import { seedBand } from '../../src/run/report-chart.js';
import { reportPage } from '../../src/run/report-page.js';
import { inventedReport } from '../fidelity/report/invented-report.js';

const EVIL = '<img src=x onerror="alert(1)">& a | b\n```\n*x*';
const point = { x: 0, y: 1, low: 0.5, high: 2, label: EVIL };
const evil: Report = {
  title: EVIL,
  blocks: [
    { kind: 'heading', text: EVIL },
    { kind: 'paragraph', text: EVIL, tone: 'warning' },
    { kind: 'list', title: EVIL, items: [EVIL], tone: 'failed' },
    { kind: 'facts', rows: [[EVIL, EVIL]] },
    { kind: 'figures', items: [{ value: EVIL, label: EVIL, text: EVIL }] },
    {
      kind: 'table',
      title: EVIL,
      columns: [EVIL, EVIL],
      rows: [[EVIL, { text: EVIL, about: EVIL, bar: { value: -1, low: -2, high: 1, range: [-2, 1] } }]],
      note: EVIL,
    },
    {
      kind: 'curves',
      ...{ title: EVIL, caption: EVIL, xTitle: EVIL, yTitle: EVIL, isScatter: true, diagonal: true },
      curves: [{ name: EVIL, points: [point] }],
      threshold: { value: 1, label: EVIL },
    },
    { kind: 'details', title: EVIL, blocks: [{ kind: 'code', text: EVIL }] },
  ],
};

const REPORTS = { fidelity: fidelityDocument(inventedReport), hostile: evil };
const chartsIn = (blocks: readonly Block[]) => blocks.filter(({ kind }) => kind === 'curves').length;

describe.each(Object.entries(REPORTS))('the page of %s', (name, report) => {
  it('is one file that asks for nothing else, the same bytes for the same report', async () => {
    const page = await reportPage(report);
    expect(page).not.toMatch(/<script|<link|<img|@import/);
    expect(page).toContain("default-src 'none'");
    expect(page).not.toContain('NaN');
    if (name !== 'hostile') expect(page).not.toMatch(/(?:src|href)="[^#]/);
    expect(await reportPage(report)).toBe(page);
  });

  it('draws every chart with ids that do not clash', async () => {
    const page = await reportPage(report);
    expect(page.match(/<svg /g)).toHaveLength(chartsIn(report.blocks));
    const ids = [...page.matchAll(/ id="([^"]*)"/g)].map((match) => match[1]);
    expect(new Set(ids).size).toBe(ids.length);
    const used = [...page.matchAll(/(?:url\(#|href="#)([^)"]*)/g)].map((match) => match[1]);
    expect(used.filter((id) => !ids.includes(id))).toEqual([]);
  });

  it('is Markdown with tables of equal width, in which nothing of anyone is a mark', () => {
    const text = markdownText(report);
    expect(text.match(/^```/gm)?.length ?? 0).toSatisfy((fences: number) => fences % 2 === 0);
    expect(text.replaceAll(/^```json\n.*?^```$/gms, '')).not.toContain('<img');
    for (const block of text.split('\n\n').filter((one) => one.startsWith('|'))) {
      const widths = block.split('\n').map((line) => line.replaceAll('\\|', '').split('|').length);
      expect(new Set(widths).size).toBe(1);
    }
  });

  it('fits a terminal of any width', () => {
    for (const columns of [40, 80, 120]) {
      const lines = terminalText(report, columns).split('\n');
      // A column of a table keeps its least width.
      const text = lines.filter((line) => !line.includes('   '));
      expect(Math.max(...text.map((line) => [...line].length))).toBeLessThanOrEqual(columns);
    }
  });
});

it('charts without points, with one point and of shares are drawn', async () => {
  const chart: CurvesBlock = { kind: 'curves', title: 't', xTitle: 'x', yTitle: 'y', curves: [] };
  const one = { name: 'a', points: [{ x: 1, y: 0.01 }] };
  const blocks = [chart, { ...chart, curves: [one] }, { ...chart, curves: [one], yScale: 'share' as const }];
  const page = await reportPage({ title: 't', blocks });
  expect(page.match(/<svg /g)).toHaveLength(3);
  expect(page).not.toContain('NaN');
});

describe('the band of several seeds', () => {
  const points = (...pairs: [number, number][]) => pairs.map(([x, y]) => ({ x, y }));

  it('is of every place where all seeds have a point', () => {
    expect(seedBand([points([0, 0], [10, 10], [20, 20]), points([0, 2], [10, 12])])).toEqual([
      { x: 0, y: 1, low: 0, high: 2 },
      { x: 10, y: 11, low: 10, high: 12 },
    ]);
  });

  it('ignores seeds without points', () => {
    expect(seedBand([[], points([0, 1])])).toEqual([{ x: 0, y: 1, low: 1, high: 1 }]);
    expect(seedBand([])).toEqual([]);
  });
});
