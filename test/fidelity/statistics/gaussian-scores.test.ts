// Proper scores against scipy 1.17.1: logpdf, logsumexp, and numerical integration of the CRPS.

import { describe, expect, it } from 'vitest';
import { Rng } from '../../../src/core/rng.js';
import {
  crpsMixture,
  gaussianNll,
  jointMixtureNll,
  normalCdf,
  pitMixture,
} from '../../../src/fidelity/statistics/scores.js';
import { coverage, crpsGaussian, mixtureNll, pitGaussian } from './single.js';

const MEANS = [0, 0.4, 2.5];
const STDS = [0.3, 0.05, 1.2];

// m=[0,.4,2.5]; s=[.3,.05,1.2]; NLL: -(logsumexp(norm.logpdf(x,m,s)) - log(3)); PIT: mean(norm.cdf(x,m,s));
// CRPS: integrate.quad(cdf**2, -30, x) + integrate.quad((1-cdf)**2, x, 40), cdf the mixture's.
const GOLDEN = [
  { x: 0.45, nll: -0.5781868230411509, crps: 0.21073572748947872, pit: 0.6061082665356948 },
  { x: -3, nll: 12.703344600888961, crps: 3.304428491590101, pit: 7.627027623193709e-7 },
  { x: 6, nll: 6.45334460088896, crps: 4.371503902503897, pit: 0.9994103439202963 },
];

describe('the normal distribution function', () => {
  it('is scipy’s to fifteen digits', () => {
    // python -c "from scipy import stats; print([stats.norm.cdf(z) for z in (...)])"
    const expected = [
      [-10, 7.61985302416047e-24],
      [-7.5, 3.1908916729108844e-14],
      [-3, 0.0013498980316300933],
      [-1, 0.15865525393145707],
      [-0.1, 0.460172162722971],
      [0, 0.5],
      [0.5, 0.6914624612740131],
      [2, 0.9772498680518208],
      [6, 0.9999999990134123],
    ];
    for (const [z, cdf] of expected) expect(Math.abs(normalCdf(z) / cdf - 1), `at ${z}`).toBeLessThan(1e-8);
    for (const [z, cdf] of expected) expect(Math.abs(normalCdf(z) - cdf), `at ${z}`).toBeLessThan(2e-15);
    expect([normalCdf(-40), normalCdf(40)]).toEqual([0, 1]);
  });
});

describe('negative log-likelihood', () => {
  it('is scipy’s', () => {
    expect(gaussianNll(1.3, 0.4, 0.25)).toBeCloseTo(6.012644172084782, 12);
    for (const { x, nll } of GOLDEN) expect(mixtureNll(x, MEANS, STDS)).toBeCloseTo(nll, 11);
    expect(mixtureNll(1.3, [0.4], [0.25])).toBe(gaussianNll(1.3, 0.4, 0.25));
  });

  it('does not underflow where stds are tiny', () => {
    const value = mixtureNll(1, [0, 0.5], [1e-6, 1e-6]);
    expect(value).toBeCloseTo(0.5 * (0.5 / 1e-6) ** 2 + Math.log(1e-6) + 0.5 * Math.log(2 * Math.PI) + Math.log(2), 2);
    expect(mixtureNll(1, [1, 0], [1e-150, 1e-150])).toBeCloseTo(
      Math.log(2) + Math.log(1e-150) + 0.5 * Math.log(2 * Math.PI),
      9,
    );
  });

  it('of a vector is the sum over elements for one member, and weighs whole members against one another', () => {
    expect(jointMixtureNll([1, 2], [[0, 0]], [[1, 2]])).toBeCloseTo(gaussianNll(1, 0, 1) + gaussianNll(2, 0, 2), 13);
    const joint = jointMixtureNll(
      [0, 1],
      [
        [0, 1],
        [1, 0],
      ],
      [
        [0.1, 0.1],
        [0.1, 0.1],
      ],
    );
    const apart = mixtureNll(0, [0, 1], [0.1, 0.1]) + mixtureNll(1, [1, 0], [0.1, 0.1]);
    expect(apart - joint).toBeCloseTo(Math.log(2), 9);
  });

  it('refuses a prediction without spread', () => {
    expect(() => gaussianNll(1, 1, 0)).toThrow('the standard deviation is 0');
    expect(() => mixtureNll(1, [1], [])).toThrow('1 of one kind and 0 of the other');
    expect(() => mixtureNll(1, [], [])).toThrow('there is no member');
    expect(() => jointMixtureNll([1, 2], [[1]], [[1]])).toThrow('2 of one kind and 1 of the other');
    expect(() => gaussianNll(Number.NaN, 1, 1)).toThrow('NaN was held against 1');
  });
});

describe('CRPS', () => {
  it('is what numerical integration gives', () => {
    expect(crpsGaussian(1.3, 0.4, 0.25)).toBeCloseTo(0.7589721596158343, 10);
    for (const { x, crps } of GOLDEN) expect(crpsMixture(x, MEANS, STDS)).toBeCloseTo(crps, 8);
    expect(crpsMixture(1.3, [0.4, 0.4], [0.25, 0.25])).toBeCloseTo(crpsGaussian(1.3, 0.4, 0.25), 13);
  });

  it('is, of random mixtures, the integral of the squared difference of distribution functions', () => {
    const rng = Rng.fromSeed(11);
    for (let round = 0; round < 10; round++) {
      const means = [rng.normal(), rng.normal(), rng.normal(), rng.normal()];
      const stds = means.map(() => 0.2 + rng.uniform());
      const x = 2 * rng.normal();
      expect(crpsMixture(x, means, stds)).toBeCloseTo(integratedCrps(x, means, stds), 4);
    }
  });

  it('of points is the absolute error, less half their spread', () => {
    expect(crpsGaussian(3, 1, 0)).toBe(2);
    expect(crpsMixture(3, [1, 2], [0, 0])).toBeCloseTo(1.5 - 1 / 4, 14);
    expect(() => crpsGaussian(1, 1, -1)).toThrow('member 0 is -1');
    expect(() => crpsMixture(1, [1], [Number.NaN])).toThrow('member 0 is NaN');
  });

  it('is least, on average, for the spread that is true', () => {
    const truths = Rng.fromSeed(12).fillNormal(new Float64Array(4000));
    const score = (std: number) => truths.reduce((sum, truth) => sum + crpsGaussian(truth, 0, std), 0);
    expect(score(1)).toBeLessThan(score(0.7));
    expect(score(1)).toBeLessThan(score(1.4));
  });
});

/** Midpoint rule, with the step of the truth on a boundary. */
function integratedCrps(x: number, means: readonly number[], stds: readonly number[]): number {
  const cells = 4000;
  const part = (from: number, to: number, after: number) => {
    let sum = 0;
    for (let i = 0; i < cells; i++) {
      const at = from + ((i + 0.5) * (to - from)) / cells;
      sum += (pitMixture(at, means, stds) - after) ** 2;
    }
    return (sum * (to - from)) / cells;
  };
  return part(-15, x, 0) + part(x, 15, 1);
}

describe('the place of the truth in its distribution', () => {
  it('is scipy’s', () => {
    for (const { x, pit } of GOLDEN) expect(Math.abs(pitMixture(x, MEANS, STDS) / pit - 1)).toBeLessThan(1e-8);
    expect([-1, 0, 1].map((x) => pitGaussian(x, 0, 0))).toEqual([0, 0.5, 1]);
    expect(pitGaussian(0.4, 0.4, 2)).toBeCloseTo(0.5, 12);
  });

  it('gives the coverage of intervals: right where the spread is, too little where it is too small', () => {
    const truths = Rng.fromSeed(13).fillNormal(new Float64Array(5000));
    const inside = (std: number, level: number) =>
      coverage(
        truths.map((truth) => pitGaussian(truth, 0, std)),
        level,
      );
    for (const level of [0.5, 0.9]) {
      const { value, low, high, n } = inside(1, level);
      expect(n).toBe(5000);
      expect(Math.abs(value! - level)).toBeLessThan(3.5 * Math.sqrt((level * (1 - level)) / n));
      expect(high! - low!).toBeCloseTo(2 * 1.96 * Math.sqrt((level * (1 - level)) / n), 3);
    }
    // Half the spread: the 90 % interval reaches 0.822 of the true spread, which holds 59 %.
    expect(inside(0.5, 0.9).value).toBeCloseTo(2 * normalCdf(1.6448536 / 2) - 1, 1);
    expect(inside(2, 0.9).low).toBeGreaterThan(0.98);
    expect(coverage([], 0.9).value).toBeNull();
  });
});
