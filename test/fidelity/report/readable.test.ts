import { describe, expect, it } from 'vitest';
import { fidelityDocument, modelCard } from '../../../src/fidelity/document.js';
import {
  differenceText,
  estimateText,
  figuresOf,
  headlineRows,
  headlines,
  notesOf,
  sectionGroups,
  tablesOf,
  valueText,
} from '../../../src/fidelity/shown.js';
import { NOTHING } from '../../../src/fidelity/statistics/estimate.js';
import { markdownText } from '../../../src/run/report.js';
import { inventedReport, inventedSingle } from './invented-report.js';

const names = inventedReport.subjects.map(({ name }) => name);
const groupOf = (id: string) => sectionGroups(inventedReport).find((group) => group.id === id)!;

describe('numbers in words', () => {
  it('have their unit and interval, and never round to all or nothing', () => {
    const estimate = { value: 0.952, low: 0.9379, high: 0.9641, n: 500, method: 'wilson' as const };
    expect(estimateText(estimate, 'share')).toBe('95.2 % (93.8 to 96.4)');
    expect(valueText(0.99999, 'share')).toBe('> 99.9 %');
    expect(valueText(0.00001, 'share')).toBe('< 0.01 %');
    expect([valueText(1, 'share'), valueText(1 - 1e-15, 'share'), valueText(1e-17, 'share')]).toEqual([
      '100 %',
      '100 %',
      '0 %',
    ]);
    expect([valueText(1, 'steps'), valueText(12, 'steps')]).toEqual(['1 step', '12 steps']);
    expect([valueText(-0.012345, 'number'), valueText(1e-7, 'number')]).toEqual(['−0.0123', '1.0e−7']);
    expect(estimateText(NOTHING, 'share')).toBe('not counted');
    expect(differenceText(estimate, 'share')).toBe('+95.2 points (93.8 to 96.4)');
    const open = { value: 3.66, low: 3.2, high: null, n: 12, method: 'bootstrap' as const };
    expect(estimateText(open, 'steps')).toBe('3.66 steps (3.2 to no end seen)');
  });
});

describe('headlines', () => {
  const { sections } = inventedReport.subjects[0];
  const subject = (change: Partial<(typeof sections)[number]>) => ({
    ...inventedReport.subjects[0],
    sections: [{ ...sections.find(({ id }) => id === 'one-step')!, ...change }],
  });
  const uncounted = sections
    .find(({ id }) => id === 'one-step')!
    .metrics.map((metric) => ({ ...metric, estimate: NOTHING }));

  it('say why nothing of a section was counted', () => {
    const missing = 'The domain has no rules.';
    expect(headlines(subject({ metrics: uncounted, missing }))).toEqual([
      { label: 'One step', text: `not measured: ${missing}` },
    ]);
    const [counted, ...rest] = sections.find(({ id }) => id === 'one-step')!.metrics;
    const texts = headlines(subject({ metrics: [counted, ...uncounted.slice(1)], missing })).map(({ text }) => text);
    expect(texts[0]).not.toContain(missing);
    if (rest.length > 0) expect(texts.slice(1).every((text) => text === `not counted: ${missing}`)).toBe(true);
  });

  it('say what is right by construction', () => {
    const lines = headlines(subject({ byConstruction: 'all answers are the truth.' }));
    expect(lines.at(-1)).toEqual({ label: 'One step: by construction', text: 'all answers are the truth.' });
  });
});

describe('the Markdown', () => {
  it('begins with the headline figures of all models', () => {
    const text = markdownText(fidelityDocument(inventedReport));
    expect(text).toMatch(/- \*\*3 steps\*\* trust horizon of router, 2 to 4/);
    expect(text).toContain('**FAILED** one-step.state-exact at least 95 %');
    expect(text.match(/^## /gm)!.length).toBe(sectionGroups(inventedReport).length + 2);
  });

  it('says of gates on what is right by construction that they prove nothing', () => {
    const [first, ...others] = inventedReport.subjects;
    const sections = first.sections.map((one) =>
      one.id === 'one-step' ? { ...one, byConstruction: 'all answers are the truth itself.' } : one,
    );
    const text = markdownText(fidelityDocument({ ...inventedReport, subjects: [{ ...first, sections }, ...others] }));
    expect(text).toContain('(proves nothing: all answers are the truth itself.)');
  });
});

describe('the model card', () => {
  it('has front matter that Hugging Face reads, with the headline numbers', () => {
    const { frontMatter } = modelCard(inventedReport);
    expect(frontMatter).toMatchObject({
      library_name: 'reverie',
      tags: expect.arrayContaining(['world-model']),
      'model-index': [{ name: 'router', results: [{ dataset: { type: 'helpdesk' } }] }],
    });
    expect(JSON.stringify(frontMatter)).toContain('"type":"horizon.trusted-steps","name":"Trust horizon","value":3');
  });

  it('says what it may be trusted with, where it fails and where the numbers are from', () => {
    const { subjects } = inventedReport;
    const card = markdownText(modelCard({ ...inventedReport, subjects: [subjects[1]] }).card);
    expect(card).toMatch(/## How far to trust it\n\nUp to 0 steps/);
    expect(card).toContain('It may not mint rewards');
    expect(card).toContain('It got most wrong: restore\\_access unlocks somebody else');
    expect(card).toContain('llm:5f2c81d09a');
    const untold = { ...inventedSingle.subjects[0], sections: [] };
    expect(markdownText(modelCard({ ...inventedSingle, subjects: [untold] }).card)).toContain(
      'Its trust horizon was not measured',
    );
  });
});

describe('several models side by side', () => {
  it('have a colour each in every figure', () => {
    const [drift, backends] = figuresOf(groupOf('k-steps'), names);
    if (drift.kind === 'bars' || backends.kind === 'bars') throw new Error('these are curves');
    expect(drift.panels.map(({ series }) => series.map(({ name, colour }) => [name, colour]))).toEqual([
      names.map((name, i) => [name, i]),
    ]);
    expect(backends.panels.map(({ title, series }) => [title, series.length])).toEqual([
      ['rules', 3],
      ['replay', 3],
      ['llm', 3],
    ]);
    const [bars] = figuresOf(groupOf('one-step'), names);
    if (bars.kind !== 'bars') throw new Error('these are bars');
    expect(bars.groups.map(({ label, bars }) => [label, bars.length])).toEqual([
      ['0', 3],
      ['1', 3],
      ['2', 3],
      ['3 or more', 3],
    ]);
  });

  it('share a table and say a note once', () => {
    const [table] = tablesOf(groupOf('one-step'), names);
    expect(table.columns).toEqual(['tool', 'model', 'calls', 'state exact']);
    expect(table.rows.slice(0, 4).map(([tool, model]) => [tool, model])).toEqual([
      ...names.map((name) => ['get_employee', name]),
      ['restore_access', names[0]],
    ]);
    expect(notesOf(groupOf('one-step'), names)).toMatchObject([{ of: [] }]);
    expect(notesOf(groupOf('calibration'), names)).toMatchObject([{ of: ['rules'] }]);
  });

  it('show what one of them was not measured by', () => {
    const [first, second] = inventedReport.subjects;
    const subjects = [first, { ...second, sections: second.sections.slice(1) }];
    const row = headlineRows({ ...inventedReport, subjects }).find(({ name }) => name === 'one-step.state-exact')!;
    expect(row.estimates.map((estimate) => estimate === undefined)).toEqual([false, true]);
  });
});
