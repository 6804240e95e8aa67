// The trust horizon from errors and from drift, and the section that is made of other sections.

import { describe, expect, it } from 'vitest';
import { trustHorizon } from '../../src/core/statistics.js';
import {
  driftRule,
  type HorizonRule,
  horizonFindings,
  horizonOfDrift,
  horizonOfErrors,
  realRatioAt,
  stepErrorRule,
} from '../../src/fidelity/horizon.js';
import type { SectionId } from '../../src/fidelity/report.js';
import type { Finding } from '../../src/fidelity/section.js';
import { type Estimate, shareEstimate } from '../../src/fidelity/statistics.js';

const TOOLS = { rule: stepErrorRule, tolerance: 0.2 } as const;
const VECTOR = { rule: driftRule, tolerance: 0.5 } as const;

function exactly(value: number): Estimate {
  return { value, low: value, high: value, n: 100, method: 'exact' };
}

function section(id: SectionId, figures: Record<string, Estimate>, drift?: Finding['drift']): Finding {
  const metrics = Object.entries(figures).map(([key, estimate]) => {
    return { key, label: key, estimate, better: 'higher', unit: 'share', meaning: key } as const;
  });
  return {
    section: { id, title: id, summary: '', metrics, charts: [], tables: [], worst: [], notes: [] },
    samples: {},
    drift,
  };
}

function horizonSection({ rule, tolerance }: { rule: HorizonRule; tolerance: number }, ...findings: Finding[]) {
  const found = horizonFindings(new Map(findings.map((one) => [one.section.id, one])), rule, tolerance)[0].section;
  return { found, figure: (key: string) => found.metrics.find((metric) => metric.key === key)?.estimate };
}

it('the horizon of errors is the largest H with 1 - (1 - e)^H within the tolerance, at the upper end', () => {
  for (const [wrong, of] of [
    [0, 50],
    [3, 200],
    [40, 100],
    [9, 9],
  ]) {
    const { cautious } = horizonOfErrors(shareEstimate(wrong, of), 0.2);
    expect(cautious).toBe(trustHorizon(wrong, of, 0.2));
  }
  expect(horizonOfErrors(shareEstimate(0, 50), 0.2).hopeful).toBeNull();
  expect(horizonOfErrors(exactly(0.05), 1 - 0.95 ** 4)).toEqual({ cautious: 4, hopeful: 4, atLeast: false });
  expect(horizonOfErrors({ ...exactly(0), low: null, high: null, value: null, n: 0 }, 0.2).cautious).toBe(0);
});

describe('the horizon of drift', () => {
  const drift = [0.1, 0.2, 0.45, 0.4, 0.9].map((value, i) => ({
    step: i + 1,
    value,
    low: value - 0.1,
    high: value + 0.1,
  }));

  it('ends before the upper edge first leaves the tolerance, even if it comes back', () => {
    expect(horizonOfDrift(drift, 0.5)).toEqual({ cautious: 2, hopeful: 4, atLeast: false });
    expect(horizonOfDrift(drift, 0.15).cautious).toBe(0);
  });

  it('is at least what was measured where nothing left it', () => {
    expect(horizonOfDrift(drift, 2)).toEqual({ cautious: 5, hopeful: 5, atLeast: true });
    expect(horizonOfDrift([], 2)).toEqual({ cautious: 0, hopeful: 0, atLeast: false });
  });
});

it('real rows grow as the horizon shrinks, up to real rows alone', () => {
  const ratios = [0, 1, 4, 9, 19, 100].map(realRatioAt);
  expect(ratios).toEqual([1, 0.5, 0.2, 0.1, 0.05, 0.05]);
});

describe('the section', () => {
  it('takes the horizon of tools from single steps', () => {
    const { figure } = horizonSection(TOOLS, section('one-step', { 'state-exact': shareEstimate(485, 500) }));
    const { high } = shareEstimate(15, 500);
    expect(figure('trusted-steps')?.value).toBe(Math.floor(Math.log(0.8) / Math.log(1 - high!)));
    expect(figure('real-ratio')?.value).toBeCloseTo(1 / (1 + figure('trusted-steps')!.value!), 12);
  });

  it('takes the horizon of vectors from drift', () => {
    const drift = [1, 2, 3, 4].map((step) => ({ step, value: 0.15 * step, low: 0.1 * step, high: 0.2 * step }));
    const oneStep = section('one-step', {
      'state-within': shareEstimate(900, 1000),
      'state-exact': exactly(0),
      'reward-error': exactly(0.01),
    });
    const { figure } = horizonSection(VECTOR, oneStep, section('k-steps', {}, drift));
    expect(figure('trusted-steps')).toMatchObject({ value: 2, low: 2, high: 4 });
    expect(figure('step-error')?.value).toBeCloseTo(0.1, 12);
  });

  it('trusts nothing of single steps alone where drift is missing', () => {
    const { found, figure } = horizonSection(VECTOR, section('one-step', { 'state-within': shareEstimate(10, 10) }));
    expect(figure('trusted-steps')?.value).toBeNull();
    expect(found.summary).toMatch(/Not measured/);
  });
});
