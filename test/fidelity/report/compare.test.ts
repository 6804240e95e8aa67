import { describe, expect, it } from 'vitest';
import { Rng } from '../../../src/core/rng.js';
import { compareSubjects, holm, signFlipP } from '../../../src/fidelity/gates.js';
import type { SubjectReport } from '../../../src/fidelity/report.js';
import { inventedSubjects } from './invented-report.js';

const rng = () => Rng.fromSeed(5);

/** A model right with `skill` at each of 200 questions, whose difficulty all models share. */
function model(name: string, skill: number, seed = 1): SubjectReport {
  const [first] = inventedSubjects;
  const difficulty = Rng.fromSeed(seed).split('difficulty');
  const exact = Array.from({ length: 200 }, () => (difficulty.uniform() < skill ? 1 : 0));
  return { ...first, name, samples: { 'one-step.state-exact': exact } };
}

describe('a comparison', () => {
  it('is paired unit by unit, the second minus the first', () => {
    const [comparison] = compareSubjects([model('a', 0.8), model('b', 0.9)], rng());
    expect(comparison).toMatchObject({ metric: 'one-step.state-exact', first: 'a', second: 'b', better: 'higher' });
    // The same difficulties: b is right wherever a is, so that far fewer units prove it than two independent shares need.
    const { value, low, high, n } = comparison.difference;
    expect([value! > 0.05 && value! < 0.15, low! > 0, high! < 0.2, n]).toEqual([true, true, true, 200]);
    expect(comparison.adjustedP).toBeLessThan(0.001);
  });

  it('leaves out units that one of them has no value for, and metrics of other lengths', () => {
    const a = model('a', 0.8);
    const b = model('b', 0.9);
    const holes = b.samples['one-step.state-exact'].map((value, i) => (i < 50 ? null : value));
    const [comparison] = compareSubjects([a, { ...b, samples: { 'one-step.state-exact': holes } }], rng());
    expect(comparison.difference.n).toBe(150);
    expect(compareSubjects([a, { ...b, samples: { 'one-step.state-exact': [1, 0] } }], rng())).toEqual([]);
    expect(compareSubjects([a, { ...b, samples: { 'one-step.unknown': [] } }], rng())).toEqual([]);
    const none = compareSubjects([a, { ...b, samples: { 'one-step.state-exact': holes.map(() => null) } }], rng());
    expect(none).toMatchObject([{ difference: { value: null, n: 0 }, adjustedP: null, isSignificant: false }]);
  });
});

describe('the paired randomisation test', () => {
  it('agrees with the exact count of signs', () => {
    // All six differences of one sign and size: only 2 of 64 choices of signs are as extreme.
    expect(signFlipP([1, 1, 1, 1, 1, 1], rng())).toBeCloseTo(2 / 64, 2);
    // |sum| = 6 is reached by all alike (2) or by all but the 2 (0): 2 of 16.
    expect(signFlipP([1, 1, 2, 2], rng())).toBeCloseTo(2 / 16, 2);
    expect(signFlipP([0, 0, 0], rng())).toBe(1);
    expect(signFlipP([], rng())).toBeNull();
  });

  it('goes over into its normal limit', () => {
    const mixed = Array.from({ length: 500 }, (_, i) => (i < 275 ? 1 : -1));
    const drawn = signFlipP(mixed, rng())!;
    // One more difference, of no weight, takes the other way.
    const limit = signFlipP([...mixed, 1e-9], rng())!;
    expect(limit).toBeCloseTo(0.0253, 3);
    expect(Math.abs(drawn - limit)).toBeLessThan(0.006);
  });
});

describe('the correction for many', () => {
  it('multiplies the smallest by their number, the next by one less, and never falls', () => {
    expect(holm([0.01, 0.04, null, 0.03])).toEqual([0.03, 0.06, null, 0.06]);
    expect(holm([0.5, 0.9])).toEqual([1, 1]);
    expect(holm([])).toEqual([]);
  });
});
