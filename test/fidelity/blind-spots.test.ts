// What each statistic does not see: the examples of docs/fidelity-metrics.md, and beside each the statistic that does see it.

import { describe, expect, it } from 'vitest';
import { Rng } from '../../src/core/rng.js';
import {
  auroc,
  bootstrapEstimate,
  crpsMixture,
  meanEstimate,
  mmrv,
  pearson,
  pitMixture,
  precisionRecall,
  regret,
  reliability,
  shareEstimate,
  spearman,
} from '../../src/fidelity/statistics.js';

const rng = () => Rng.fromSeed(1);
const mean = (values: readonly number[]) => meanEstimate(values, rng()).value!;
const times = <T>(n: number, value: (i: number) => T) => Array.from({ length: n }, (_, i) => value(i));
const normals = (n: number, seed: number) => [...Rng.fromSeed(seed).fillNormal(new Float64Array(n))];
const crpsGaussian = (x: number, centre: number, std: number) => crpsMixture(x, [centre], [std]);
/** Share of truths inside the central predicted interval of 90 %. */
const coverage = (truths: readonly number[], std: (i: number) => number) =>
  truths.filter((truth, i) => Math.abs(pitMixture(truth, [0], [std(i)]) - 0.5) <= 0.45).length / truths.length;

describe('intervals', () => {
  it('of a share take steps of one episode for independent', () => {
    // Ten episodes of 100 steps, each right or wrong as a whole: Wilson's interval is far too narrow, that over episodes is not.
    let [steps, episodes] = [0, 0];
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
    const order = (drawn: readonly number[]) =>
      spearman(
        drawn,
        drawn.map((value) => value + 100),
      );
    const policies = times(8, (i) => i);
    expect(bootstrapEstimate(policies, order, rng())).toMatchObject({ value: 1, low: 1, high: 1, n: 8 });
  });
});

describe('one step', () => {
  it('exact match is high where most steps change nothing', () => {
    const changes = times(100, (i) => i % 20 === 0);
    const simulated = times(100, () => false);
    expect(shareEstimate(changes.filter((change, i) => change === simulated[i]).length, 100).value).toBe(0.95);
    expect(precisionRecall(simulated, changes).recall.value).toBe(0);
  });

  it('error is small where the simulation turns a stable system into an unstable one', () => {
    const grown = (factor: number, steps: number) => factor ** steps;
    expect(grown(1.02, 1) - grown(0.99, 1)).toBeCloseTo(0.03, 12);
    expect(grown(1.02, 100) / grown(0.99, 100)).toBeGreaterThan(19);
  });

  it('CRPS of each element is blind to which elements go together', () => {
    const crps = (members: number[][]) =>
      mean(
        [1, 1].map((x, d) =>
          crpsMixture(
            x,
            members.map((member) => member[d]),
            [0.1, 0.1],
          ),
        ),
      );
    const [together, apart] = [
      [
        [0, 0],
        [1, 1],
      ],
      [
        [0, 1],
        [1, 0],
      ],
    ];
    expect(crps(together)).toBe(crps(apart));
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
    const [real, simulated] = [orbit(0.3), orbit(0.3 + 1e-9)];
    const gap = real.map((x, i) => Math.abs(x - simulated[i]));
    expect(Math.max(...gap.slice(0, 10))).toBeLessThan(1e-5);
    expect(mean(gap.slice(100))).toBeGreaterThan(0.3);
    expect(Math.abs(mean(real) - mean(simulated))).toBeLessThan(0.05);
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

  it('optimism is 0 where half is praised too much and half too little', () => {
    const real = [1, 2, 3, 4];
    const simulated = [11, 12, -7, -6];
    expect(mean(simulated.map((value, i) => value - real[i]))).toBe(0);
    expect(spearman(real, simulated)).toBeLessThan(0);
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
    expect(auroc(confidence, correct)).toBe(0);
  });

  it('ECE of few answers is above 0 even for a source that is calibrated', () => {
    const found = times(100, (seed) => {
      const source = Rng.fromSeed(seed);
      const confidence = times(100, () => source.uniform());
      const right = confidence.map((c) => source.uniform() < c);
      return reliability(confidence, right).ece!;
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

  it('coverage is perfect for intervals as wide as all that ever happens', () => {
    const truths = normals(2000, 5);
    expect(Math.abs(coverage(truths, () => 1) - 0.9)).toBeLessThan(0.025);
    // The next state could be told almost exactly: the useless intervals show in CRPS.
    const useless = mean(truths.map((truth) => crpsGaussian(truth, 0, 1)));
    const knowing = mean(truths.map((truth) => crpsGaussian(truth + 0.01, truth, 0.01)));
    expect(useless / knowing).toBeGreaterThan(50);
  });

  it('coverage is perfect where nine in ten intervals are boundless and one is always missed', () => {
    expect(coverage(normals(1000, 6), (i) => (i % 10 === 0 ? 1e-9 : 1e9))).toBe(0.9);
  });
});

describe('policy rank', () => {
  const real = [0, 1, 2, 3, 4, 5, 6, 7];

  it('rank correlations, MMRV and regret do not see a large constant optimism', () => {
    const simulated = real.map((value) => value + 1000);
    expect([spearman(real, simulated), pearson(real, simulated)]).toEqual([1, 1]);
    expect([mmrv({ real, simulated }), regret({ real, simulated })]).toEqual([0, 0]);
    expect(mean(simulated.map((value, i) => value - real[i]))).toBe(1000);
  });

  it('Pearson is high for one policy far from all others', () => {
    const far = [1, 2, 3, 4, 5, 6, 7, 1000];
    const simulated = [7, 6, 5, 4, 3, 2, 1, 900];
    expect(pearson(far, simulated)).toBeGreaterThan(0.999);
    expect(spearman(far, simulated)).toBeLessThan(0);
  });

  it('MMRV charges a tie to the better policy alone, so telling nothing apart does better than a wrong order', () => {
    const few = [0, 1, 4];
    expect(mmrv({ real: few, simulated: [5, 5, 5] })).toBeCloseTo(5 / 3, 14);
    expect(mmrv({ real: few, simulated: [2, 1, 0] })).toBeCloseTo(11 / 3, 14);
  });

  it('MMRV takes the worst pair of each policy, so one policy out of place weighs almost as much as all', () => {
    const worstPraised = [8, 1, 2, 3, 4, 5, 6, 7];
    const reversed = [7, 6, 5, 4, 3, 2, 1, 0];
    expect([spearman(real, worstPraised)! > 0.3, spearman(real, reversed)]).toEqual([true, -1]);
    expect(mmrv({ real, simulated: worstPraised })).toBeCloseTo(35 / 8, 14);
    expect(mmrv({ real, simulated: reversed })).toBeCloseTo(44 / 8, 14);
  });

  it('regret is 0 as soon as the best policy comes first, whatever becomes of the others', () => {
    const simulated = [6, 5, 4, 3, 2, 1, 0, 7];
    expect(regret({ real, simulated })).toBe(0);
    expect(spearman(real, simulated)).toBeLessThan(0);
  });

  it('correlations fall for policies that are really alike, where MMRV does not', () => {
    const alike = [5, 5.001, 5.002, 5.003];
    const simulated = [4, 3, 2, 1];
    expect(spearman(alike, simulated)).toBeCloseTo(-1, 14);
    expect(mmrv({ real: alike, simulated })).toBeLessThan(0.003);
  });
});
