// Intervals and statistics: against scipy, scikit-learn and published numbers, by hand, and by how often they hold the truth.

import { describe, expect, it } from 'vitest';
import { Rng } from '../../src/core/rng.js';
import {
  auroc,
  bootstrapEstimate,
  calibrationError,
  type Estimate,
  meanEstimate,
  mmrv,
  mmrvShare,
  NOTHING,
  normalCdf,
  pearson,
  pitMixture,
  precisionRecall,
  ranks,
  regret,
  shareEstimate,
  spearman,
  studentQuantile,
} from '../../src/fidelity/statistics.js';

const rng = () => Rng.fromSeed(7);
const normals = (n: number, seed: number) => [...Rng.fromSeed(seed).fillNormal(new Float64Array(n))];

/** Share of 200 samples whose interval holds the truth. */
function held(truth: number, estimate: (seed: number) => Estimate): number {
  let hits = 0;
  for (let seed = 0; seed < 200; seed++) {
    const { low, high } = estimate(seed);
    if (low! <= truth && truth <= high!) hits++;
  }
  return hits / 200;
}

describe('an interval of the mean', () => {
  it('is scipy’s BCa interval, a little wider', () => {
    // python -c "import numpy as np; from scipy import stats; d=np.array([...]); print(stats.bootstrap((d,), np.mean,
    // n_resamples=200000, method='BCa', rng=np.random.default_rng(0)).confidence_interval)": 3.515 to 6.465
    const values = [
      3.1, 2.4, 5.9, 4.4, 1.2, 8.8, 3.3, 2.9, 4.1, 6.0, 2.2, 3.7, 15.2, 4.8, 2.6, 3.9, 5.1, 1.9, 4.0, 3.2,
    ];
    const { value, low, high, n, method } = meanEstimate(values, rng());
    expect([n, method]).toEqual([20, 'bootstrap']);
    expect(value).toBeCloseTo(4.435, 12);
    expect([low! > 3.3, low! < 3.515, high! > 6.465, high! < 7.3]).toEqual([true, true, true, true]);
    const average = (drawn: readonly number[]) => drawn.reduce((a, b) => a + b, 0) / drawn.length;
    const general = bootstrapEstimate(values, average, rng(), 20_000);
    expect(Math.abs(general.low! - low!)).toBeLessThan(0.2);
    expect(Math.abs(general.high! - high!)).toBeLessThan(0.4);
  });

  it.each([20])('holds the truth about 95 times in 100, of %i normal values', (n) => {
    const share = held(0, (seed) => meanEstimate(normals(n, seed), Rng.fromSeed(seed).split('draws')));
    expect([share > 0.92, share < 0.98]).toEqual([true, true]);
  });

  it('leaves out what is null, and says where there is no interval', () => {
    expect(meanEstimate([null, null], rng())).toEqual(NOTHING);
    expect(meanEstimate([null, 3], rng())).toEqual({ value: 3, low: null, high: null, n: 1, method: 'none' });
    expect(meanEstimate([null, 3, 5, null], rng())).toMatchObject({ value: 4, n: 2 });
    expect(meanEstimate([2, 2, 2], rng())).toMatchObject({ value: 2, low: 2, high: 2 });
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
    const share = held(0.8, (seed) =>
      bootstrapEstimate(pairs(40, seed), correlation, Rng.fromSeed(seed).split('draws'), 400),
    );
    expect([share > 0.9, share < 0.985]).toEqual([true, true]);
  });

  it('is left out where most draws say nothing', () => {
    const few = [
      [1, 1],
      [1, 2],
      [1, 3],
    ] as const;
    expect(bootstrapEstimate(few, correlation, rng())).toEqual({ ...NOTHING, n: 3 });
    const rare = (drawn: readonly number[]) => (new Set(drawn).size === 4 ? 1 : null);
    expect(bootstrapEstimate([1, 2, 3, 4], rare, rng())).toMatchObject({ value: 1, low: null, method: 'none' });
    expect(bootstrapEstimate([], () => 1, rng())).toEqual(NOTHING);
    expect(bootstrapEstimate([1], () => 1, rng())).toMatchObject({ value: 1, low: null, method: 'none' });
  });
});

it('a share has Wilson’s interval, also where all or none are hits', () => {
  // Wilson 1927: statsmodels' proportion_confint(0, 20, method='wilson') is 0 to 0.161125.
  expect(shareEstimate(0, 20)).toMatchObject({ value: 0, low: 0, n: 20, method: 'wilson' });
  expect(shareEstimate(0, 20).high).toBeCloseTo(0.161125, 5);
  expect(shareEstimate(20, 20).low).toBeCloseTo(1 - 0.161125, 5);
  expect(shareEstimate(0, 0)).toEqual(NOTHING);
});

it('quantiles of Student’s t are scipy’s', () => {
  // python -c "from scipy import stats; print([stats.t.ppf(.025, d) for d in (1,2,3,4,7,9,29,99,9999)])"
  const expected = [
    [1, -12.706204736174705],
    [3, -3.1824463052837086],
    [7, -2.3646242515927844],
    [29, -2.045229642132704],
    [9999, -1.9602012636213577],
  ];
  for (const [degrees, quantile] of expected) expect(studentQuantile(0.025, degrees)).toBeCloseTo(quantile, 3);
});

it('the normal distribution function is scipy’s to fifteen digits', () => {
  // python -c "from scipy import stats; print([stats.norm.cdf(z) for z in (...)])"
  const expected = [
    [-10, 7.61985302416047e-24],
    [-3, 0.0013498980316300933],
    [0, 0.5],
    [2, 0.9772498680518208],
  ];
  for (const [z, cdf] of expected) expect(Math.abs(normalCdf(z) / cdf - 1), `at ${z}`).toBeLessThan(1e-8);
  for (const [z, cdf] of expected) expect(Math.abs(normalCdf(z) - cdf), `at ${z}`).toBeLessThan(2e-15);
  expect([normalCdf(-40), normalCdf(40)]).toEqual([0, 1]);
});

describe('precision and recall', () => {
  const bools = (digits: string) => [...digits].map((digit) => digit === '1');

  it('are scikit-learn’s', () => {
    // precision_recall_fscore_support([0,1,0,1,1,0,1,0,0,1], [0,1,1,1,0,0,1,0,1,1], average='binary')
    const { precision, recall, falsePositive } = precisionRecall(bools('0111001011'), bools('0101101001'));
    expect(precision).toMatchObject({ value: 4 / 6, n: 6 });
    expect(recall).toMatchObject({ value: 0.8, n: 5 });
    expect(falsePositive).toEqual(shareEstimate(2, 5));
  });
});

describe('scores of mixtures', () => {
  // m=[0,.4,2.5]; s=[.3,.05,1.2]; PIT: mean(norm.cdf(x,m,s)).
  const [means, stds] = [
    [0, 0.4, 2.5],
    [0.3, 0.05, 1.2],
  ];
  it.each([
    { x: 0.45, pit: 0.6061082665356948 },
    { x: -3, pit: 7.627027623193709e-7 },
    { x: 6, pit: 0.9994103439202963 },
  ])('are scipy’s at $x', ({ x, pit }) => {
    expect(Math.abs(pitMixture(x, means, stds) / pit - 1)).toBeLessThan(1e-8);
  });

  it('of a point are 0, 1/2 or 1', () => {
    expect([-1, 0, 1].map((x) => pitMixture(x, [0], [0]))).toEqual([0, 0.5, 1]);
  });
});

describe('confidence', () => {
  const SCORE = [0.9, 0.8, 0.8, 0.8, 0.7, 0.6, 0.6, 0.5, 0.4, 0.3, 0.3, 0.1];
  const LABEL = [1, 1, 0, 1, 1, 0, 1, 0, 0, 1, 0, 0].map((label) => label === 1);

  it('has an error that is the gap that was put in', () => {
    const confidence = Rng.fromSeed(1).split('confidence').fillUniform(new Float64Array(20_000), 0.5, 1);
    const luck = Rng.fromSeed(1).split('luck');
    const ece = calibrationError(
      confidence,
      Array.from(confidence, (c) => luck.uniform() < c - 0.2),
    );
    expect([ece! > 0.18, ece! < 0.22]).toEqual([true, true]);
    expect([calibrationError([], []), calibrationError([1, 0], [true, false])]).toEqual([null, 0]);
  });

  it('has scikit-learn’s AUROC, by its order alone', () => {
    // sklearn.metrics.roc_auc_score(LABEL, SCORE)
    expect(auroc(SCORE, LABEL)).toBeCloseTo(0.7777777777777778, 14);
    expect(auroc([5, 5, 5, 5], [true, false, true, false])).toBe(0.5);
    const scaled = SCORE.map((score) => Math.exp(9 * score) - 4);
    expect(auroc(scaled, LABEL)).toBe(auroc(SCORE, LABEL));
    expect([auroc([1, 2], [true, true]), auroc([], [])]).toEqual([null, null]);
  });
});

describe('correlation', () => {
  // python -c "from scipy import stats; x=[1,2,2,3,5,8,8,8,13,21]; y=[2,1,2,5,3,9,7,9,8,30];
  // print(stats.pearsonr(x,y)[0], stats.spearmanr(x,y)[0])"
  const X = [1, 2, 2, 3, 5, 8, 8, 8, 13, 21];
  const Y = [2, 1, 2, 5, 3, 9, 7, 9, 8, 30];

  it('is scipy’s, ties included', () => {
    expect(pearson(X, Y)).toBeCloseTo(0.9254362839250656, 13);
    expect(spearman(X, Y)).toBeCloseTo(0.9009676546491147, 13);
    expect([...ranks([30, 10, 20, 10, 10])]).toEqual([5, 2, 4, 2, 2]);
  });

  it.each([pearson, spearman])('is 1 of itself, -1 of its negative, null where nothing varies: %o', (correlation) => {
    const negative = X.map((x) => -x);
    expect(correlation(X, X)).toBeCloseTo(1, 14);
    expect(correlation(X, negative)).toBeCloseTo(-1, 14);
    expect([correlation([0.1, 0.1, 0.1], [1, 2, 3]), correlation([1], [1]), correlation([], [])]).toEqual([
      null,
      null,
      null,
    ]);
  });
});

describe('the order of policies', () => {
  // Success rates of RT-2-X, three RT-1 checkpoints, RT-1-X and Octo-Base on the robot and in simulation, as SIMPLER
  // (2405.05941) publishes them with its code; MMRV by its formula in numpy:
  // np.mean([max(abs(r[i]-r[j]) if (s[i]>s[j]) != (r[i]>r[j]) else 0 for j in range(6)) for i in range(6)])
  it.each([
    {
      task: 'pick coke can',
      real: [0.907, 0.853, 0.92, 0.76, 0.133, 0.293],
      simulated: [0.787, 0.857, 0.71, 0.567, 0.027, 0.17],
      expected: 0.03133333333333336,
      swapped: 0.06183333333333335,
      r: 0.975433978718709,
    },
  ])('has SIMPLER’s MMRV for $task, and another with real and simulated swapped', (each) => {
    const { real, simulated, expected, swapped, r } = each;
    expect(mmrv({ real, simulated })).toBeCloseTo(expected, 13);
    expect(mmrv({ real: simulated, simulated: real })).toBeCloseTo(swapped, 13);
    expect(pearson(simulated, real)).toBeCloseTo(r, 13);
  });

  it('has, reversed, the mean gap to the farther end, and of one policy none', () => {
    expect(mmrv({ real: [0, 1, 4], simulated: [2, 1, 0] })).toBeCloseTo((4 + 3 + 4) / 3, 14);
    expect(mmrvShare({ real: [0, 1, 4], simulated: [2, 1, 0] })).toBeCloseTo(11 / 12, 14);
    expect([mmrv({ real: [1], simulated: [2] }), mmrvShare({ real: [1, 1], simulated: [2, 3] })]).toEqual([null, null]);
  });

  it('costs what the simulation’s best falls short of the best, the worst of those that are tied', () => {
    const real = [10, 8, 5, 1];
    expect(regret({ real, simulated: [1, 2, 3, 4] })).toBe(9);
    expect(regret({ real, simulated: real })).toBe(0);
    expect(regret({ real, simulated: [3, 3, 3, 3] })).toBe(9);
    expect(regret({ real: [], simulated: [] })).toBeNull();
  });
});
