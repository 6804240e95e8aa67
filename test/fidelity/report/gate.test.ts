import { describe, expect, it } from 'vitest';
import type { ShownSubject } from '../../../src/fidelity/document.js';
import { judgeGates, parseGates } from '../../../src/fidelity/gates.js';
import type { Metric } from '../../../src/fidelity/report.js';
import { NOTHING } from '../../../src/fidelity/statistics.js';

const estimate = { value: 0.96, low: 0.93, high: 0.98, n: 200, method: 'wilson' as const };

function metric(key: string, better: Metric['better'], own: Partial<Metric['estimate']> = {}): Metric {
  return { key, label: key, estimate: { ...estimate, ...own }, better, unit: 'share', meaning: key };
}

const subject: ShownSubject = {
  name: 'judged',
  kind: 'exact',
  version: '1',
  sections: [
    {
      id: 'one-step',
      title: 'One step',
      summary: '',
      metrics: [
        metric('state-exact', 'higher'),
        metric('state-distance', 'lower'),
        metric('counted', 'neither'),
        { ...metric('nothing', 'higher'), estimate: NOTHING },
        metric('bare', 'higher', { low: null, high: null, method: 'exact' }),
      ],
      charts: [],
      tables: [],
      worst: [],
      notes: [],
    },
  ],
};

const judged = (...texts: string[]) => judgeGates(parseGates(texts), subject);
const refusal = (act: () => unknown) => {
  try {
    act();
  } catch (error) {
    return `${(error as { code: string }).code} ${(error as Error).message} ${(error as { hint: string }).hint}`;
  }
  return 'none';
};

describe('a gate', () => {
  it('holds the worse end of the interval against its limit', () => {
    expect(judged('one-step.state-exact=0.94', 'one-step.state-exact=0.93')).toMatchObject([
      { metric: 'one-step.state-exact', limit: 0.94, bound: 'at-least', end: 'low', value: 0.93, passed: false },
      { limit: 0.93, passed: true },
    ]);
    expect(judged('one-step.state-distance=0.97', 'one-step.state-distance=0.98')).toMatchObject([
      { bound: 'at-most', end: 'high', value: 0.98, passed: false },
      { passed: true },
    ]);
  });

  it('holds the value itself where that is asked for, or there is no interval', () => {
    expect(judged('value:one-step.state-exact=0.95')).toMatchObject([{ end: 'value', value: 0.96, passed: true }]);
    expect(judged('one-step.bare=0.97')).toMatchObject([{ end: 'value', value: 0.96, passed: false }]);
  });

  it('is shut where nothing was counted', () => {
    expect(judged('one-step.nothing=0')).toMatchObject([{ value: null, passed: false }]);
  });

  it('takes limits in per cent, below zero and in powers of ten', () => {
    const limits = parseGates(['one-step.a=95%', 'one-step.a=-1.5', 'one-step.a=1e-3']).map(({ limit }) => limit);
    expect(limits).toEqual([0.95, -1.5, 0.001]);
  });

  it('names the nearest metric where it is unknown', () => {
    expect(refusal(() => judged('one-step.state-exakt=0.9'))).toMatch(
      /^SETTING_INVALID .*"one-step.state-exakt".*Did you mean "one-step.state-exact"/,
    );
  });

  it.each([
    ['state-exact=0.9', 'not of the form'],
    ['one-stop.state-exact=0.9', 'no section "one-stop"'],
    ['one-step.state-exact=', 'not of the form'],
    ['one-step.state-exact=high', '"high" is no number'],
  ])('refuses %s before anything is measured', (text, problem) => {
    expect(refusal(() => parseGates([text]))).toMatch(new RegExp(`^SETTING_INVALID .*${problem}`));
  });

  it('has no say over what is better neither way', () => {
    expect(refusal(() => judged('one-step.counted=1'))).toMatch(/^SETTING_INVALID .*neither/);
  });
});
