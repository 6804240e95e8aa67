import { describe, expect, it } from 'vitest';
import { Rng } from '../../../src/core/rng.js';
import { compareSubjects } from '../../../src/fidelity/gates.js';
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
    expect(none).toMatchObject([{ difference: { value: null, n: 0 } }]);
  });
});
