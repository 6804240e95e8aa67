import { describe, expect, it } from 'vitest';
import { estimateText, fidelityDocument, headlines, valueText } from '../../../src/fidelity/document.js';
import { NOTHING } from '../../../src/fidelity/statistics.js';
import { markdownText } from '../../../src/run/report.js';
import { inventedReport, inventedSingle } from './invented-report.js';

const [router] = inventedReport.subjects;
const oneStep = router.sections[0];

it('numbers in words have their unit and interval, and never round to all or nothing', () => {
  const estimate = { value: 0.952, low: 0.9379, high: 0.9641, n: 500, method: 'wilson' as const };
  expect(estimateText(estimate, 'share')).toBe('95.2 % (93.8 to 96.4)');
  expect([valueText(0.99999, 'share'), valueText(0.00001, 'share'), valueText(1, 'share')]).toEqual([
    '> 99.9 %',
    '< 0.01 %',
    '100 %',
  ]);
  expect([valueText(1 - 1e-15, 'share'), valueText(1e-17, 'share')]).toEqual(['100 %', '0 %']);
  expect([valueText(1, 'steps'), valueText(12, 'steps')]).toEqual(['1 step', '12 steps']);
  expect([valueText(-0.012345, 'number'), valueText(1e-7, 'number')]).toEqual(['−0.0123', '1.0e−7']);
  expect(estimateText(NOTHING, 'share')).toBe('not counted');
  const open = { value: 3.66, low: 3.2, high: null, n: 12, method: 'bootstrap' as const };
  expect(estimateText(open, 'steps')).toBe('3.66 steps (3.2 to no end seen)');
});

describe('headlines', () => {
  const subject = (change: Partial<typeof oneStep>) => ({ ...router, sections: [{ ...oneStep, ...change }] });
  const uncounted = oneStep.metrics.map((metric) => ({ ...metric, estimate: NOTHING }));

  it('say why nothing of a section was counted', () => {
    const missing = 'The domain has no rules.';
    expect(headlines(subject({ metrics: uncounted, missing }))).toEqual([
      { label: 'One step', text: `not measured: ${missing}` },
    ]);
    const metrics = uncounted.map((metric) => (metric.key === 'all-right' ? oneStep.metrics[3] : metric));
    const lines = headlines(subject({ metrics, missing }));
    expect(lines.find(({ label }) => label === 'All right')!.text).not.toContain(missing);
    expect(lines.find(({ label }) => label !== 'All right')!.text).toBe(`not counted: ${missing}`);
  });

  it('say what is right by construction', () => {
    const lines = headlines(subject({ byConstruction: 'all answers are the truth.' }));
    expect(lines.at(-1)).toEqual({ label: 'One step: by construction', text: 'all answers are the truth.' });
  });
});

describe('the document', () => {
  it('begins with the headline figures of all models, and has a part for each section', () => {
    const text = markdownText(fidelityDocument(inventedReport));
    expect(text).toMatch(/- \*\*3 steps\*\* trust horizon of router, 2 to 4/);
    expect(text).toContain('**FAILED** one-step.state-exact at least 95 %');
    expect(text.match(/^## /gm)!.length).toBe(router.sections.length + 2);
  });

  it('says of gates on what is right by construction that they prove nothing, and what is incomplete', () => {
    const sections = [{ ...oneStep, byConstruction: 'all answers are the truth itself.' }, ...router.sections.slice(1)];
    const report = { ...inventedSingle, subjects: [{ ...router, sections }], incomplete: 'Not all was measured.' };
    const text = markdownText(fidelityDocument(report));
    expect(text).toContain('(proves nothing: all answers are the truth itself.)');
    expect(text).toContain('Not all was measured.');
  });
});
