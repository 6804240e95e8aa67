// What each statistic does not see: the examples of docs/fidelity-metrics.md, and beside each the statistic that does see it.

import { describe, expect, it } from 'vitest';
import { Rng } from '../../../src/core/rng.js';
import { kendall, mmrv, pearson, regretAt, spearman } from '../../../src/fidelity/statistics/agreement.js';
import { bootstrapEstimate, meanEstimate } from '../../../src/fidelity/statistics/bootstrap.js';
import { precisionRecall, shareEstimate } from '../../../src/fidelity/statistics/estimate.js';
import {
  auroc,
  crpsMixture,
  gaussianNll,
  jointMixtureNll,
  reliability,
  selectiveRisk,
} from '../../../src/fidelity/statistics/scores.js';
import { coverage, crpsGaussian, pitGaussian } from './single.js';

const rng = () => Rng.fromSeed(1);
const mean = (values: readonly number[]) => meanEstimate(values, rng()).value!;
const times = <T>(n: number, value: (i: number) => T) => Array.from({ length: n }, (_, i) => value(i));
const normals = (n: number, seed: number) => [...Rng.fromSeed(seed).fillNormal(new Float64Array(n))];

describe('intervals', () => {
  it('of a share take steps of one episode for independent', () => {
    // Ten episodes of 100 steps, each right or wrong as a whole: Wilson's interval is far too narrow, that over episodes is not.
    let steps = 0;
    let episodes = 0;
    for (let seed = 0; seed < 200; seed++) {
      const source = Rng.fromSeed(seed);
      const right = times(10, () => (source.uniform() < 0.5 ? 1 : 0));
      const share = shareEstimate(100 * right.reduce<number>((a, b) => a + b, 0), 1000);
      if (share.low! <= 0.5 && share.high! >= 0.5) steps++;
      const whole = meanEstimate(right, source);
      if (whole.low! <= 0.5 && whole.high! >= 0.5) episodes++;
    }
    expect(steps / 200).toBeLessThan(0.35);
    expect(episodes / 200).toBeGreaterThan(0.85);
  });

  it('by bootstrap have no width where all units agree', () => {
    expect(meanEstimate(new Float64Array(20), rng())).toMatchObject({ low: 0, high: 0 });
    expect(shareEstimate(0, 20).high).toBeGreaterThan(0.15);
    const policies = times(8, (i) => [i, i + 100] as const);
    const order = (drawn: readonly (readonly [number, number])[]) =>
      spearman(
        drawn.map(([real]) => real),
        drawn.map(([, dreamt]) => dreamt),
      );
    expect(bootstrapEstimate(policies, order, rng())).toMatchObject({ value: 1, low: 1, high: 1, n: 8 });
  });
});

describe('one step', () => {
  it('exact match is high where most steps change nothing', () => {
    const changes = times(100, (i) => i % 20 === 0);
    const dreamt = times(100, () => false);
    expect(shareEstimate(changes.filter((change, i) => change === dreamt[i]).length, 100).value).toBe(0.95);
    expect(precisionRecall(dreamt, changes).recall.value).toBe(0);
  });

  it('error is small where the dream turns a stable system into an unstable one', () => {
    const real = (x: number) => 0.99 * x;
    const dreamt = (x: number) => 1.02 * x;
    const afterSteps = (step: (x: number) => number) => times(100, () => step).reduce((x, next) => next(x), 1);
    expect(Math.abs(dreamt(1) - real(1))).toBeCloseTo(0.03, 12);
    expect(afterSteps(dreamt) / afterSteps(real)).toBeGreaterThan(19);
  });

  it('likelihood is ruled by one step of too much confidence, which CRPS hardly counts', () => {
    const steps = times(100, (i) => (i === 0 ? { error: 0.1, std: 1e-4 } : { error: 0.01, std: 0.01 }));
    const nll = steps.map(({ error, std }) => gaussianNll(error, 0, std));
    expect(mean(nll)).toBeGreaterThan(4000);
    expect(mean(nll.slice(1))).toBeLessThan(-3);
    expect(mean(steps.map(({ error, std }) => crpsGaussian(error, 0, std)))).toBeLessThan(0.01);
  });

  it('CRPS of each element is blind to which elements go together; joint likelihood is not', () => {
    const together = [
      [0, 0],
      [1, 1],
    ];
    const apart = [
      [0, 1],
      [1, 0],
    ];
    const std = [0.1, 0.1];
    const truth = [1, 1];
    const crps = (members: number[][]) =>
      mean(
        truth.map((x, d) =>
          crpsMixture(
            x,
            members.map((member) => member[d]),
            std,
          ),
        ),
      );
    expect(crps(together)).toBe(crps(apart));
    expect(jointMixtureNll(truth, apart, [std, std]) - jointMixtureNll(truth, together, [std, std])).toBeGreaterThan(
      40,
    );
  });

  it('mean CRPS hides one fall among a hundred good steps', () => {
    const oneFall = times(100, (i) => crpsGaussian(i === 0 ? 10 : 0.001, 0, 0));
    const alwaysOff = times(100, () => crpsGaussian(0.2, 0, 0));
    expect(mean(oneFall)).toBeLessThan(mean(alwaysOff));
    expect(Math.max(...oneFall)).toBe(10);
  });
});

describe('k steps', () => {
  it('drift explodes for a perfect model of a chaotic system, whose states are distributed alike', () => {
    const orbit = (start: number) => {
      let x = start;
      return times(600, () => {
        x = 4 * x * (1 - x);
        return x;
      });
    };
    const real = orbit(0.3);
    const dreamt = orbit(0.3 + 1e-9);
    const gap = real.map((x, i) => Math.abs(x - dreamt[i]));
    expect(Math.max(...gap.slice(0, 10))).toBeLessThan(1e-5);
    expect(mean(gap.slice(100))).toBeGreaterThan(0.3);
    // The states of both are distributed alike.
    expect(Math.abs(mean(real) - mean(dreamt))).toBeLessThan(0.05);
  });
});

describe('reward and end', () => {
  it('one false end in a hundred steps ends most episodes of a hundred', () => {
    const ended = precisionRecall(
      times(1000, (i) => i % 100 === 50),
      times(1000, () => false),
    );
    expect(ended.falsePositive.value).toBe(0.01);
    expect(1 - (1 - ended.falsePositive.value!) ** 100).toBeGreaterThan(0.63);
  });

  it('F1 does not count what was rightly left out', () => {
    const some = precisionRecall([true, true, false], [true, false, true]);
    const many = precisionRecall(
      [true, true, ...times(998, () => false)],
      [true, false, true, ...times(997, () => false)],
    );
    expect(many.f1).toEqual(some.f1);
    expect(many.falsePositive.value).toBeLessThan(some.falsePositive.value!);
  });

  it('optimism is 0 where half is praised too much and half too little', () => {
    const real = [1, 2, 3, 4];
    const dreamt = [11, 12, -7, -6];
    expect(mean(dreamt.map((value, i) => value - real[i]))).toBe(0);
    expect(spearman(real, dreamt)).toBeLessThan(0);
  });
});

describe('calibration', () => {
  it('ECE is 0 for a constant confidence of the base rate, which tells nothing apart', () => {
    const correct = times(1000, (i) => i % 10 < 7);
    const confidence = times(1000, () => 0.7);
    expect(reliability(confidence, correct).ece).toBeCloseTo(0, 12);
    expect(auroc(confidence, correct)).toBe(0.5);
  });

  it('ECE is 0 where too much and too little confidence meet in one bin', () => {
    const confidence = [...times(79, () => 0.7), ...times(30, () => 0.79)];
    const correct = times(109, (i) => i < 79);
    expect(reliability(confidence, correct).ece).toBeCloseTo(0, 12);
    expect(reliability(confidence, correct, 100).ece).toBeGreaterThan(0.4);
  });

  it('ECE of few answers is above 0 even for a source that is calibrated', () => {
    const found = times(100, (seed) => {
      const source = Rng.fromSeed(seed);
      const confidence = times(100, () => source.uniform());
      return reliability(
        confidence,
        confidence.map((c) => source.uniform() < c),
      ).ece!;
    });
    expect(mean(found)).toBeGreaterThan(0.08);
    expect(Math.min(...found)).toBeGreaterThan(0.02);
  });

  it('AUROC is 1 for confidences that are far too high, as long as their order is right', () => {
    const correct = times(100, (i) => i < 50);
    const confidence = correct.map((right) => (right ? 0.99 : 0.98));
    expect(auroc(confidence, correct)).toBe(1);
    expect(reliability(confidence, correct).ece).toBeGreaterThan(0.48);
  });

  it('the risk-coverage area prefers few errors to knowing which they are', () => {
    const seldomWrong = selectiveRisk(
      times(1000, () => 0.5),
      times(1000, (i) => i % 50 !== 0),
    );
    const knowing = times(1000, (i) => i % 5 !== 0);
    const oftenWrong = selectiveRisk(
      knowing.map((right) => (right ? 0.9 : 0.1)),
      knowing,
    );
    expect(seldomWrong.aurc).toBeLessThan(oftenWrong.aurc!);
    expect(oftenWrong.points[0].risk).toBe(0);
  });

  it('coverage is perfect for intervals as wide as all that ever happens', () => {
    const truths = normals(2000, 5);
    const level = coverage(
      truths.map((truth) => pitGaussian(truth, 0, 1)),
      0.9,
    );
    expect(level.value).toBeCloseTo(0.9, 1);
    expect(Math.abs(level.value! - 0.9)).toBeLessThan(0.025);
    // The next state could be told almost exactly: the useless intervals show in CRPS.
    const useless = mean(truths.map((truth) => crpsGaussian(truth, 0, 1)));
    const knowing = mean(truths.map((truth) => crpsGaussian(truth + 0.01, truth, 0.01)));
    expect(useless / knowing).toBeGreaterThan(50);
  });

  it('coverage is perfect where nine in ten intervals are boundless and one is always missed', () => {
    const pits = normals(1000, 6).map((truth, i) => pitGaussian(truth, 0, i % 10 === 0 ? 1e-9 : 1e9));
    expect(coverage(pits, 0.9).value).toBe(0.9);
  });
});

describe('policy rank', () => {
  const real = [0, 1, 2, 3, 4, 5, 6, 7];

  it('rank correlations, MMRV and regret do not see a large constant optimism', () => {
    const dreamt = real.map((value) => value + 1000);
    expect([spearman(real, dreamt), kendall(real, dreamt), pearson(real, dreamt)]).toEqual([1, 1, 1]);
    expect([mmrv({ real, dreamt }), regretAt(1, { real, dreamt })]).toEqual([0, 0]);
    expect(mean(dreamt.map((value, i) => value - real[i]))).toBe(1000);
  });

  it('Pearson is high for one policy far from all others', () => {
    const far = [1, 2, 3, 4, 5, 6, 7, 1000];
    const dreamt = [7, 6, 5, 4, 3, 2, 1, 900];
    expect(pearson(far, dreamt)).toBeGreaterThan(0.999);
    expect(spearman(far, dreamt)).toBeLessThan(0);
  });

  it('MMRV charges a tie to the better policy alone, so a dream that tells nothing apart does better than a wrong one', () => {
    const few = [0, 1, 4];
    expect(mmrv({ real: few, dreamt: [5, 5, 5] })).toBeCloseTo(5 / 3, 14);
    expect(mmrv({ real: few, dreamt: [2, 1, 0] })).toBeCloseTo(11 / 3, 14);
    expect(kendall(few, [5, 5, 5])).toBeNull();
  });

  it('MMRV takes the worst pair of each policy, so one policy out of place weighs almost as much as all', () => {
    const worstPraised = [8, 1, 2, 3, 4, 5, 6, 7];
    const reversed = [7, 6, 5, 4, 3, 2, 1, 0];
    expect(kendall(real, worstPraised)).toBeCloseTo(0.5, 14);
    expect(kendall(real, reversed)).toBe(-1);
    expect(mmrv({ real, dreamt: worstPraised })).toBeCloseTo(35 / 8, 14);
    expect(mmrv({ real, dreamt: reversed })).toBeCloseTo(44 / 8, 14);
  });

  it('regret is 0 as soon as the best policy comes first, whatever becomes of the others', () => {
    const dreamt = [6, 5, 4, 3, 2, 1, 0, 7];
    expect(regretAt(1, { real, dreamt })).toBe(0);
    expect(spearman(real, dreamt)).toBeLessThan(0);
  });

  it('correlations fall for policies that are really alike, where MMRV does not', () => {
    const alike = [5, 5.001, 5.002, 5.003];
    const dreamt = [4, 3, 2, 1];
    expect(spearman(alike, dreamt)).toBeCloseTo(-1, 14);
    expect(mmrv({ real: alike, dreamt })).toBeLessThan(0.003);
  });
});
