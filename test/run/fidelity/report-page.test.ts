import { describe, expect, it } from 'vitest';
import type { FidelityReport, LinesChart } from '../../../src/fidelity/report/fidelity-report.js';
import { fidelityPage } from '../../../src/run/report/fidelity/fidelity-page.js';
import { inventedReport, inventedSingle } from '../../fidelity/report/invented-report.js';

/** The report with another first section for each model. */
function withSection(change: Partial<FidelityReport['subjects'][number]['sections'][number]>): FidelityReport {
  const subjects = inventedReport.subjects.map((subject) => ({
    ...subject,
    sections: [{ ...subject.sections[0], charts: [], tables: [], worst: [], notes: [], ...change }],
  }));
  return { ...inventedReport, subjects, comparisons: [], gates: [] };
}

const curves = (over: Partial<LinesChart>): LinesChart => ({
  kind: 'lines',
  title: 'curves',
  caption: 'c',
  xTitle: 'x',
  yTitle: 'y',
  series: [],
  ...over,
});

describe('the page on fidelity', () => {
  it('is one file that asks for nothing else, the same bytes for the same report', async () => {
    const page = await fidelityPage(inventedReport);
    const addresses = [...page.matchAll(/(?:src|href|url)\s*[=(]\s*["']?([^"')\s>]*)/g)].map((match) => match[1]);
    expect(addresses.filter((address) => !address.startsWith('#'))).toEqual([]);
    expect(page).not.toMatch(/<script|<link|<img|@import/);
    expect(page).toContain("default-src 'none'");
    expect(await fidelityPage(inventedReport)).toBe(page);
  });

  it('leads to every section, and has ids that do not clash', async () => {
    const page = await fidelityPage(inventedReport);
    const ids = [...page.matchAll(/ id="([^"]*)"/g)].map((match) => match[1]);
    expect(new Set(ids).size).toBe(ids.length);
    const named = [...page.matchAll(/(?:href="#|url\(#)([^")]*)/g)].map((match) => match[1]);
    expect(named.filter((id) => !ids.includes(id))).toEqual([]);
    expect(ids).toEqual(expect.arrayContaining(['one-step', 'k-steps', 'rank', 'must-fail', 'horizon']));
  });

  it('has a list of contents before anything else, and a sans font throughout', async () => {
    const page = await fidelityPage(inventedReport);
    const [contents] = /<nav id="contents".*?<\/nav>/s.exec(page)!;
    expect(page.indexOf(contents)).toBeLessThan(page.indexOf('id="summary"'));
    const listed = [...contents.matchAll(/href="#([^"]*)"/g)].map((match) => match[1]);
    const sections = [...page.matchAll(/<section[^>]* id="([^"]*)"/g)].map((match) => match[1]);
    expect([...listed].sort()).toEqual([...sections].sort());
    expect(page.replaceAll('sans-serif', '')).not.toMatch(/serif|Georgia/);
  });

  it('says of gates on what is right by construction that they prove nothing', async () => {
    const [first, ...others] = inventedReport.subjects;
    const sections = first.sections.map((one) =>
      one.id === 'one-step' ? { ...one, byConstruction: 'all answers are the truth itself.' } : one,
    );
    const page = await fidelityPage({ ...inventedReport, subjects: [{ ...first, sections }, ...others] });
    expect(page).toContain('<small>Proves nothing: all answers are the truth itself.</small>');
    expect(await fidelityPage(inventedReport)).not.toContain('Proves nothing');
  });

  it('says at its top how far each model may be trusted and which gates are shut', async () => {
    const page = await fidelityPage(inventedReport);
    const top = page.slice(page.indexOf('<main'), page.indexOf('class="aspect"'));
    expect([...top.matchAll(/<b>(\d+ steps)<\/b>/g)].map((match) => match[1])).toEqual([
      '3 steps',
      '0 steps',
      '50 steps',
    ]);
    expect(top).toContain('1 of 3 gates failed');
    expect(top).toMatch(/class="failed"><b>✗ failed<\/b> <span>one-step.state-exact at least 95 %: the lower end/);
    expect(top).toMatch(/<em class="worse" title="−[\d.]+ points [^"]* against router">▼ worse<\/em>/);
  });

  it('escapes all text, in charts too', async () => {
    const evil = '<img src=x onerror="alert(1)">&';
    const chart = curves({
      title: evil,
      caption: evil,
      xTitle: evil,
      yTitle: evil,
      kind: 'points',
      series: [{ name: evil, points: [{ x: 0, y: 1, label: evil }] }],
    });
    const [{ sections }] = inventedSingle.subjects;
    const worst = {
      ...sections[0].worst[0],
      title: evil,
      backend: evil,
      action: evil,
      context: { [evil]: evil },
      differences: [{ path: evil, real: evil }],
    };
    const section = {
      ...sections[0],
      title: evil,
      summary: evil,
      metrics: sections[0].metrics.map((metric) => ({ ...metric, label: evil, meaning: evil })),
      charts: [
        chart,
        {
          ...chart,
          title: 'bars',
          kind: 'bars' as const,
          bars: [{ label: evil, unit: 'number' as const, estimate: sections[0].metrics[0].estimate }],
        },
      ],
      tables: [{ title: evil, columns: [evil], rows: [[evil]] }],
      worst: [worst],
      notes: [evil],
    };
    const subject = { ...inventedSingle.subjects[0], name: evil, kind: evil, version: evil, sections: [section] };
    const page = await fidelityPage({
      ...inventedSingle,
      scenario: evil,
      subjects: [subject, { ...subject, name: `${evil}2` }],
      gates: [{ ...inventedSingle.gates[0], metric: evil }],
      truth: { ...inventedSingle.truth, description: evil, version: evil },
      provenance: { [evil]: evil },
    });
    expect(page).not.toContain('<img');
    expect(page).not.toMatch(/<[^<>]*onerror="/);
  });

  it('lays one curve a model over each other, and gives each curve a panel where there are more', async () => {
    const line = (name: string) => ({
      name,
      points: [
        { x: 1, y: 0.5 },
        { x: 2, y: 0.7 },
      ],
    });
    const one = await fidelityPage(withSection({ charts: [curves({ series: [line('all')] })] }));
    expect(one.match(/class="panel"/g)).toBeNull();
    expect(one.match(/<svg /g)).toHaveLength(2);
    const more = await fidelityPage(withSection({ charts: [curves({ series: [line('rules'), line('llm')] })] }));
    expect([...more.matchAll(/<div class="panel"><h4>([^<]*)</g)].map((match) => match[1])).toEqual(['rules', 'llm']);
    // Three models in each panel, each in its own colour.
    const [panel] = more.split('<div class="panel">').slice(1);
    for (const arm of ['--arm-0', '--arm-1', '--arm-2']) expect(panel).toContain(`stroke="var(${arm})"`);
  });

  it('draws charts without points, with one point, with zeros on a log scale, and a model that nothing was measured of', async () => {
    const zeros = [
      { x: 0, y: 0 },
      { x: 1, y: 0.01 },
      { x: 2, y: 10, low: 0, high: 20 },
    ];
    const page = await fidelityPage(
      withSection({
        charts: [
          curves({ title: 'none' }),
          curves({ title: 'empty', series: [{ name: 'a', points: [] }] }),
          curves({ title: 'one', series: [{ name: 'a', points: [{ x: 1, y: 1 }] }], diagonal: true }),
          curves({ title: 'log', yScale: 'log', series: [{ name: 'a', points: zeros }] }),
        ],
      }),
    );
    expect(page).not.toMatch(/NaN|Infinity/);
    expect(page).toContain('3 points at 0 or below have no place on this scale.');
    const bare = await fidelityPage({
      ...inventedReport,
      subjects: inventedReport.subjects.map((subject) => ({ ...subject, sections: [] })),
      comparisons: [],
      gates: [],
    });
    expect(bare).toContain('How far it can be trusted was not measured.');
  });

  it('shows a worst transition in full, cut where it is a whole database', async () => {
    const [{ sections }] = inventedSingle.subjects;
    const long = { text: 'x'.repeat(30_000) };
    const worst = [{ ...sections[0].worst[0], real: long }];
    const page = await fidelityPage(withSection({ worst }));
    expect(page).toContain('<div class="real"><b>real</b><span>&#34;active&#34;</span></div>');
    expect(page).toContain('<div class="real"><b>real</b><span class="note">nothing there</span></div>');
    expect(page).toMatch(/x\n… \d+ more letters, in fidelity.json/);
    expect(page.length).toBeLessThan(200_000);
  });
});
