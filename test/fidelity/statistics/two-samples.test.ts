// Tests of two samples: against scikit-learn's kernels, and by how they behave where the truth is known.

import { describe, expect, it } from 'vitest';
import { Rng } from '../../../src/core/rng.js';
import { NOTHING } from '../../../src/fidelity/statistics/estimate.js';
import { c2st, mmd2 } from '../../../src/fidelity/statistics/two-samples.js';

const normals = (n: number, seed: number, shift = 0, scale = 1) =>
  Rng.fromSeed(seed)
    .fillNormal(new Float64Array(n))
    .map((value) => shift + scale * value);

describe('maximum mean discrepancy', () => {
  it('is what scikit-learn’s kernel gives', () => {
    // X=[[((i*7+d*3)%11)/3 for d in range(3)] for i in range(40)]; Y=[[((i*5+d*4)%13)/3+.2*d for d in range(3)] for i in
    // range(30)]; Z=vstack, standardised; w = median of squared distances above 1e-20; K=rbf_kernel(Z, gamma=1/(2*w));
    // (A.sum()-40)/(40*39) + (B.sum()-30)/(30*29) - 2*C.mean() of its blocks
    const rows = (n: number, value: (i: number, d: number) => number) =>
      Array.from({ length: 3 * n }, (_, at) => value(Math.floor(at / 3), at % 3));
    const x = rows(40, (i, d) => ((i * 7 + d * 3) % 11) / 3);
    const y = rows(30, (i, d) => ((i * 5 + d * 4) % 13) / 3 + 0.2 * d);
    const { value, rows: used } = mmd2(x, y, 3, Rng.fromSeed(1));
    expect(value).toBeCloseTo(0.03582400647461648, 10);
    expect(used).toEqual([40, 30]);
  });

  it('has p-values that are uniform where the samples are alike', () => {
    const pValues = Array.from({ length: 120 }, (_, seed) => {
      const rng = Rng.fromSeed(seed);
      const x = rng.split('x').fillNormal(new Float64Array(60));
      const y = rng.split('y').fillNormal(new Float64Array(80));
      return mmd2(x, y, 2, rng).pValue!;
    });
    for (const level of [0.1, 0.25, 0.5, 0.75]) {
      const share = pValues.filter((p) => p <= level).length / pValues.length;
      expect(Math.abs(share - level)).toBeLessThan(3.2 * Math.sqrt((level * (1 - level)) / pValues.length));
    }
  });

  it('sees a shift and a change of spread, and grows with it', () => {
    const at = (shift: number, scale: number) =>
      mmd2(normals(600, 1), normals(600, 2, shift, scale), 2, Rng.fromSeed(3));
    expect(at(0, 1).pValue).toBeGreaterThan(0.01);
    expect(at(0.5, 1).pValue).toBeLessThan(0.01);
    expect(at(0, 2).pValue).toBeLessThan(0.01);
    expect(at(1, 1).value).toBeGreaterThan(at(0.5, 1).value!);
  });

  it('puts elements of unlike units on the same footing, and looks at 500 rows at most', () => {
    const mixed = (seed: number, shift: number) =>
      normals(2400, seed).map((value, i) => (i % 2 ? 1e6 * value : value + shift));
    const { pValue, rows } = mmd2(mixed(1, 0), mixed(2, 0.8), 2, Rng.fromSeed(4));
    expect(pValue).toBeLessThan(0.01);
    expect(rows).toEqual([500, 500]);
  });

  it('says nothing of fewer than two rows, and is 0 of rows that are all the same', () => {
    expect(mmd2([1, 2], [1, 2, 3, 4], 2, Rng.fromSeed(1))).toEqual({ value: null, pValue: null, rows: [1, 2] });
    expect(mmd2([1, 1, 1], [1, 1], 1, Rng.fromSeed(1))).toMatchObject({ value: 0, pValue: 1 });
    expect(() => mmd2([1, 2, 3], [1, 2], 2, Rng.fromSeed(1))).toThrow('3 numbers are no rows of 2');
  });
});

describe('a classifier of two samples', () => {
  it('cannot tell like from like, and its interval says so', () => {
    const inside = Array.from({ length: 30 }, (_, seed) => {
      const { low, high } = c2st(normals(800, 2 * seed), normals(800, 2 * seed + 1), 4, Rng.fromSeed(seed));
      return low! <= 0.5 && high! >= 0.5;
    });
    expect(inside.filter(Boolean).length).toBeGreaterThanOrEqual(26);
  });

  it('tells far samples always, and differences that no linear rule sees', () => {
    expect(c2st(normals(400, 1), normals(400, 2, 9), 2, Rng.fromSeed(1)).value).toBe(1);
    // A ring around a blob: the same mean.
    const angle = Rng.fromSeed(5).fillUniform(new Float64Array(300), 0, 2 * Math.PI);
    const ring = Float64Array.from({ length: 600 }, (_, i) => 3 * (i % 2 ? Math.sin : Math.cos)(angle[i >> 1]));
    expect(c2st(normals(600, 6), ring, 2, Rng.fromSeed(2)).low).toBeGreaterThan(0.85);
  });

  it('recovers the accuracy that is best for two Gaussians', () => {
    // A shift of 2: the best rule is right with the chance of N(0, 1) below 1, 0.841.
    const { low, high, n } = c2st(normals(1000, 7), normals(1000, 8, 2), 1, Rng.fromSeed(3));
    expect(n).toBe(1000);
    expect(low).toBeLessThan(0.8413);
    expect(high).toBeGreaterThan(0.82);
  });

  it('counts a tied vote half, takes equally many of both, and says nothing of few', () => {
    expect(c2st(new Float64Array(100), new Float64Array(60), 1, Rng.fromSeed(1))).toMatchObject({ value: 0.5, n: 60 });
    expect(c2st([1, 2, 3], [1, 2, 3, 4], 1, Rng.fromSeed(1))).toEqual(NOTHING);
  });
});
