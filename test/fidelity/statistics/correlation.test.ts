// Correlations against scipy 1.17.1.

import { describe, expect, it } from 'vitest';
import { kendall, pearson, ranks, spearman } from '../../../src/fidelity/statistics/agreement.js';

// python -c "from scipy import stats; x=[1,2,2,3,5,8,8,8,13,21]; y=[2,1,2,5,3,9,7,9,8,30];
// print(stats.pearsonr(x,y)[0], stats.spearmanr(x,y)[0], stats.kendalltau(x,y)[0])"
const X = [1, 2, 2, 3, 5, 8, 8, 8, 13, 21];
const Y = [2, 1, 2, 5, 3, 9, 7, 9, 8, 30];

describe('correlation', () => {
  it('is scipy’s, ties included', () => {
    expect(pearson(X, Y)).toBeCloseTo(0.9254362839250656, 13);
    expect(spearman(X, Y)).toBeCloseTo(0.9009676546491147, 13);
    expect(kendall(X, Y)).toBeCloseTo(0.7621208131672655, 13);
  });

  it('is scipy’s for 10,000 numbers with many ties', () => {
    // python -c "import numpy as np; from scipy import stats; i=np.arange(10000); a=(i*7919)%1009+i//100;
    // b=(i*104729)%997+i//50; print(stats.pearsonr(a,b)[0], stats.spearmanr(a,b)[0], stats.kendalltau(a,b)[0])"
    const a = Float64Array.from({ length: 10000 }, (_, i) => ((i * 7919) % 1009) + Math.floor(i / 100));
    const b = Float64Array.from({ length: 10000 }, (_, i) => ((i * 104729) % 997) + Math.floor(i / 50));
    expect(pearson(a, b)).toBeCloseTo(0.022418602871968805, 12);
    expect(spearman(a, b)).toBeCloseTo(0.020827612677959417, 12);
    expect(kendall(a, b)).toBeCloseTo(0.015351840210547165, 12);
  });

  it.each([pearson, spearman, kendall])('is 1 of itself, -1 of its negative, and symmetric: %o', (correlation) => {
    const negative = X.map((x) => -x);
    expect(correlation(X, X)).toBeCloseTo(1, 14);
    expect(correlation(X, negative)).toBeCloseTo(-1, 14);
    expect(correlation(Y, X)).toBeCloseTo(correlation(X, Y)!, 14);
  });

  it.each([pearson, spearman, kendall])('is null where nothing varies or there is nothing: %o', (correlation) => {
    expect(correlation([0.1, 0.1, 0.1], [1, 2, 3])).toBeNull();
    expect(correlation([1, 2, 3], [0.3, 0.3, 0.3])).toBeNull();
    expect(correlation([1], [1])).toBeNull();
    expect(correlation([], [])).toBeNull();
  });

  it('refuses unlike lengths and numbers that are none', () => {
    expect(() => pearson([1, 2], [1])).toThrow('2 of one kind and 1 of the other');
    expect(() => kendall([1, Number.NaN], [1, 2])).toThrow('number 1 is NaN');
    expect(() => spearman([1, 2], [1, Number.POSITIVE_INFINITY])).toThrow('number 1 is Infinity');
  });

  it('gives equals their mean rank', () => {
    expect([...ranks([30, 10, 20, 10, 10])]).toEqual([5, 2, 4, 2, 2]);
  });
});
