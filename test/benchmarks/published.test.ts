// The figure that is made of two sets of curves.

import { describe, expect, it } from 'vitest';
import { ratioOf } from '../../benchmarks/published.js';
import { areaOf } from '../../benchmarks/study-cases.js';

const curve = (...points: [number, number][]) => {
  return { body: 'b', arm: 'a', seed: 0, hash: '', wallSeconds: 1, points };
};

describe('curves against those of a reference', () => {
  it('are measured by their area over steps, which need not be evenly spaced', () => {
    const points = [
      [100, 0],
      [200, 10],
      [400, 10],
    ] as const;
    expect(areaOf(points)).toBeCloseTo((500 + 2000) / 300, 9);
  });

  it('are compared over all seeds, and only where they are of the same steps', () => {
    const reference = [curve([0, 0], [10, 10]), curve([0, 10], [10, 10])];
    const ours = [curve([0, 0], [10, 20]), curve([0, 20], [10, 20])];
    expect(ratioOf({ random: 0, ours, reference })).toMatchObject({ value: 2, low: 2, high: 2 });
    expect(ratioOf({ random: 5, ours, reference })?.value).toBeCloseTo(10 / 2.5, 9);
    // Both are below a random policy: their quotient would praise the worse one.
    expect(ratioOf({ random: 30, ours, reference })).toBeUndefined();
    expect(() => ratioOf({ random: 0, ours: [curve([0, 0], [9, 20])], reference })).toThrow('0 to 9');
  });
});
