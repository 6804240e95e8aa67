import { describe, expect, it } from 'vitest';
import { seedBand } from '../../src/run/report/chart.js';
import { reportPage } from '../../src/run/report/report.js';
import { terminalTable } from '../../src/run/result-text.js';
import { inventedReport } from './invented-report.js';

describe('the report page', () => {
  it('is one file that asks for nothing else', async () => {
    const page = await reportPage(inventedReport);
    const addresses = [...page.matchAll(/(?:src|href|url)\s*[=(]\s*["']?([^"')\s>]*)/g)].map((match) => match[1]);
    expect(addresses.filter((address) => !address.startsWith('#'))).toEqual([]);
    expect(page).not.toMatch(/<script|<link|<img|@import/);
    expect(page).toContain("default-src 'none'");
  });

  it('draws every chart twice, for a desk and for a phone, with ids that do not clash', async () => {
    const page = await reportPage(inventedReport);
    expect(page.match(/<svg /g)).toHaveLength(2 * inventedReport.charts.length);
    const ids = [...page.matchAll(/ id="([^"]*)"/g)].map((match) => match[1]);
    expect(new Set(ids).size).toBe(ids.length);
    const used = [...page.matchAll(/url\(#([^)]*)\)/g)].map((match) => match[1]);
    for (const id of used) expect(ids).toContain(id);
  });

  it('escapes all text, in charts too', async () => {
    const evil = '<img src=x onerror="alert(1)">&';
    const page = await reportPage({
      ...inventedReport,
      title: evil,
      lead: evil,
      figures: [{ value: evil, label: evil }],
      summary: { columns: [evil, evil], rows: [[evil, evil]], note: evil },
      charts: [
        {
          title: evil,
          caption: evil,
          xTitle: evil,
          yTitle: evil,
          curves: [
            { arm: evil, seed: 0, points: [{ x: 0, y: 1 }] },
            { arm: `${evil}2`, seed: 0, points: [{ x: 0, y: 1 }] },
          ],
          threshold: { value: 1, label: evil },
        },
      ],
      notes: [evil],
      provenance: { ...inventedReport.provenance, command: evil, machine: evil, scenario: evil },
    });
    expect(page).not.toContain('<img');
    expect(page).not.toMatch(/<[^<>]*onerror="/);
  });

  it('is the same bytes for the same input', async () => {
    expect(await reportPage(inventedReport)).toBe(await reportPage(inventedReport));
  });

  it('draws charts without points, with one point, and on a log scale', async () => {
    const chart = { title: 't', xTitle: 'x', yTitle: 'y', curves: [] };
    const one = { arm: 'a', seed: 0, points: [{ x: 1, y: 0.01 }] };
    const charts = [chart, { ...chart, curves: [one] }, { ...chart, curves: [one], yScale: 'log' as const }];
    const page = await reportPage({ ...inventedReport, charts });
    expect(page.match(/<svg /g)).toHaveLength(6);
    expect(page).not.toContain('NaN');
  });
});

describe('the band of several seeds', () => {
  const curve = (seed: number, points: [number, number][]) => ({
    arm: 'a',
    seed,
    points: points.map(([x, y]) => ({ x, y })),
  });

  it('covers the stretch that all seeds cover, at every place where one has a point', () => {
    const long = curve(0, [
      [0, 0],
      [10, 10],
      [20, 20],
    ]);
    const short = curve(1, [
      [0, 2],
      [15, 17],
    ]);
    expect(seedBand([long, short])).toEqual([
      { x: 0, mean: 1, low: 0, high: 2 },
      { x: 10, mean: 11, low: 10, high: 12 },
      { x: 15, mean: 16, low: 15, high: 17 },
    ]);
  });

  it('holds values until the next point where curves are stepped', () => {
    const a = curve(0, [
      [0, 1],
      [10, 5],
      [20, 5],
    ]);
    const b = curve(1, [
      [0, 1],
      [5, 3],
      [20, 5],
    ]);
    expect(seedBand([a, b], true).find((point) => point.x === 5)).toEqual({ x: 5, mean: 2, low: 1, high: 3 });
  });

  it('ignores seeds without points', () => {
    expect(seedBand([curve(0, []), curve(1, [[0, 1]])])).toEqual([{ x: 0, mean: 1, low: 1, high: 1 }]);
    expect(seedBand([])).toEqual([]);
  });
});

describe('the terminal table', () => {
  it('aligns names to the left and figures to the right', () => {
    const text = terminalTable({
      columns: ['arm', 'steps'],
      rows: [
        ['cold', '20 250'],
        ['warm start', '2 750'],
      ],
      note: 'Medians.',
    });
    expect(text.split('\n')).toEqual([
      'arm           steps',
      '──────────   ──────',
      'cold         20 250',
      'warm start    2 750',
      '',
      'Medians.',
    ]);
  });
});
