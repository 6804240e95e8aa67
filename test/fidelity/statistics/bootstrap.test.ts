// Bootstrap intervals: against scipy, and by how often they hold the truth.

import { describe, expect, it } from 'vitest';
import { Rng } from '../../../src/core/rng.js';
import { pearson } from '../../../src/fidelity/statistics/agreement.js';
import {
  bootstrapEstimate,
  meanEstimate,
  pairedDifference,
  studentQuantile,
} from '../../../src/fidelity/statistics/bootstrap.js';
import { type Estimate, NOTHING, shareEstimate } from '../../../src/fidelity/statistics/estimate.js';

const rng = () => Rng.fromSeed(7);
const normals = (n: number, seed: number) => [...Rng.fromSeed(seed).fillNormal(new Float64Array(n))];

/** Share of 400 samples whose interval holds the truth. */
function held(truth: number, estimate: (seed: number) => Estimate): number {
  let hits = 0;
  for (let seed = 0; seed < 400; seed++) {
    const { low, high } = estimate(seed);
    if (low! <= truth && truth <= high!) hits++;
  }
  return hits / 400;
}

describe('an interval of the mean', () => {
  it('is scipy’s BCa interval, a little wider', () => {
    // python -c "import numpy as np; from scipy import stats; d=np.array([...]); print(stats.bootstrap((d,), np.mean,
    // n_resamples=200000, method='BCa', rng=np.random.default_rng(0)).confidence_interval)": 3.515 to 6.465
    const values = [
      3.1, 2.4, 5.9, 4.4, 1.2, 8.8, 3.3, 2.9, 4.1, 6.0, 2.2, 3.7, 15.2, 4.8, 2.6, 3.9, 5.1, 1.9, 4.0, 3.2,
    ];
    const { value, low, high, n, method } = meanEstimate(values, rng(), { draws: 20000 });
    expect([n, method]).toEqual([20, 'bootstrap']);
    expect(value).toBeCloseTo(4.435, 12);
    expect(low).toBeGreaterThan(3.35);
    expect(low).toBeLessThan(3.515);
    expect(high).toBeGreaterThan(6.465);
    expect(high).toBeLessThan(7.1);
    const general = bootstrapEstimate(values, (drawn) => drawn.reduce((a, b) => a + b, 0) / drawn.length, rng(), {
      draws: 20000,
    });
    expect(general.low).toBeCloseTo(low!, 1);
    expect(Math.abs(general.high! - high!)).toBeLessThan(0.15);
  });

  it.each([8, 20, 100])('holds the truth about 95 times in 100, of %i normal values', (n) => {
    const share = held(0, (seed) => meanEstimate(normals(n, seed), Rng.fromSeed(seed).split('draws')));
    expect(share).toBeGreaterThan(0.92);
    expect(share).toBeLessThan(0.98);
  });

  it('holds the truth about 95 times in 100, of 60 skewed values', () => {
    const skewed = (seed: number) => normals(60, seed).map((value) => value * value);
    const share = held(1, (seed) => meanEstimate(skewed(seed), Rng.fromSeed(seed).split('draws')));
    expect(share).toBeGreaterThan(0.91);
    expect(share).toBeLessThan(0.98);
  });

  it('holds the truth about 80 times in 100 if asked for 80 %', () => {
    const options = { confidence: 0.8, draws: 500 };
    const share = held(0, (seed) => meanEstimate(normals(40, seed), Rng.fromSeed(seed).split('draws'), options));
    expect(share).toBeGreaterThan(0.74);
    expect(share).toBeLessThan(0.86);
  });

  it('leaves out what is null, and says where there is no interval', () => {
    expect(meanEstimate([], rng())).toEqual(NOTHING);
    expect(meanEstimate([null, null], rng())).toEqual(NOTHING);
    expect(meanEstimate([null, 3], rng())).toEqual({ value: 3, low: null, high: null, n: 1, method: 'none' });
    expect(meanEstimate([null, 3, 5, null], rng())).toMatchObject({ value: 4, n: 2 });
    expect(meanEstimate([2, 2, 2], rng())).toMatchObject({ value: 2, low: 2, high: 2 });
    expect(() => meanEstimate([1, Number.NaN], rng())).toThrow('number 1 is NaN');
  });

  it('is the same for the same generator', () => {
    expect(meanEstimate(normals(50, 1), rng())).toEqual(meanEstimate(normals(50, 1), rng()));
  });
});

describe('an interval of any statistic', () => {
  const pairs = (n: number, seed: number) => {
    const noise = normals(2 * n, seed);
    return Array.from({ length: n }, (_, i) => [noise[i], 0.8 * noise[i] + 0.6 * noise[n + i]] as const);
  };
  const correlation = (drawn: readonly (readonly [number, number])[]) =>
    pearson(
      drawn.map(([x]) => x),
      drawn.map(([, y]) => y),
    );

  it('holds a correlation of 0.8 about 95 times in 100, of 40 pairs', () => {
    const options = { draws: 400 };
    const share = held(0.8, (seed) =>
      bootstrapEstimate(pairs(40, seed), correlation, Rng.fromSeed(seed).split('draws'), options),
    );
    expect(share).toBeGreaterThan(0.9);
    expect(share).toBeLessThan(0.985);
  });

  it('is left out where most draws say nothing', () => {
    const few = [
      [1, 1],
      [1, 2],
      [1, 3],
    ] as const;
    expect(bootstrapEstimate(few, correlation, rng())).toEqual({ ...NOTHING, n: 3 });
    const rare = (drawn: readonly number[]) => (new Set(drawn).size === 4 ? 1 : null);
    const { value, low, method } = bootstrapEstimate([1, 2, 3, 4], rare, rng());
    expect([value, low, method]).toEqual([1, null, 'none']);
    expect(bootstrapEstimate([], () => 1, rng())).toEqual(NOTHING);
    expect(bootstrapEstimate([1], () => 1, rng())).toMatchObject({ value: 1, low: null, method: 'none' });
  });
});

describe('a paired difference', () => {
  it('is second minus first over the units that have both', () => {
    const estimate = pairedDifference([1, null, 3, 4], [2, 5, null, 6], rng());
    expect(estimate).toMatchObject({ value: 1.5, n: 2 });
    expect(() => pairedDifference([1], [1, 2], rng())).toThrow('1 of one kind and 2 of the other');
  });

  it('sees a small difference that unpaired intervals do not', () => {
    const hard = normals(300, 3).map((value) => 10 * value);
    const noise = normals(300, 4);
    const second = hard.map((value, i) => value + 0.3 + noise[i]);
    const paired = pairedDifference(hard, second, rng());
    expect(paired.low).toBeGreaterThan(0);
    expect(meanEstimate(second, rng()).low).toBeLessThan(meanEstimate(hard, rng()).high!);
  });
});

describe('a share', () => {
  it('has Wilson’s interval, also where all or none are hits', () => {
    // Wilson 1927: statsmodels' proportion_confint(0, 20, method='wilson') is 0 to 0.161125.
    expect(shareEstimate(0, 20)).toMatchObject({ value: 0, low: 0, n: 20, method: 'wilson' });
    expect(shareEstimate(0, 20).high).toBeCloseTo(0.161125, 5);
    expect(shareEstimate(20, 20).low).toBeCloseTo(1 - 0.161125, 5);
    expect(shareEstimate(0, 0)).toEqual(NOTHING);
    expect(() => shareEstimate(3, 2)).toThrow('3 of 2');
  });
});

describe('quantiles of Student’s t', () => {
  it('are scipy’s', () => {
    // python -c "from scipy import stats; print([stats.t.ppf(.025, d) for d in (1,2,3,4,7,9,29,99,9999)])"
    const expected = [
      [1, -12.706204736174705],
      [2, -4.302652729749464],
      [3, -3.1824463052837086],
      [4, -2.7764451051977943],
      [7, -2.3646242515927844],
      [9, -2.2621571627982053],
      [29, -2.045229642132704],
      [99, -1.9842169515864176],
      [9999, -1.9602012636213577],
    ];
    for (const [degrees, quantile] of expected) expect(studentQuantile(0.025, degrees)).toBeCloseTo(quantile, 3);
    expect(studentQuantile(0.95, 7)).toBeCloseTo(1.8945786050900066, 3);
  });
});
