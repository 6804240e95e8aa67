// What each number on vectors does not see, and the number beside it that does. docs/fidelity-metrics.md tells of each.

import { describe, expect, it } from 'vitest';
import { judgedBy, meanNext, measured, metricOf, truthOf, WORLD, type World } from './known-world.js';

const CALM: World = { ...WORLD, limit: 100 };
const NOISY: World = { ...CALM, noise: 0.2 };
const calm = truthOf(CALM);
const noisy = truthOf(NOISY);

describe('optimism', () => {
  it('is 0 where rewards are wrong both ways; their root mean square is not', async () => {
    const isHigh = (obs: Float32Array, at: number) => obs[at] > 0;
    const up = Array.from({ length: calm.rows.rows }, (_, r) => isHigh(calm.rows.obs, 3 * r)).filter(Boolean).length;
    const share = up / calm.rows.rows;
    const rewardBias = (obs: Float32Array, at: number) => (isHigh(obs, at) ? 1 / share : -1 / (1 - share));
    const finding = await measured(judgedBy(CALM, calm, { rewardBias }), 'reward-end');
    const { low, high } = metricOf(finding, 'reward-bias');
    expect(low).toBeLessThan(0);
    expect(high).toBeGreaterThan(0);
    expect(metricOf(finding, 'reward-rmse').value).toBeGreaterThan(1.5);
  });

  it('is 0 where no recorded action finds the hole', async () => {
    const timid = truthOf({ ...CALM, alive: 1 }, { reach: 0.5 });
    const rewardBias = (_obs: Float32Array, _at: number, action: number) => (Math.abs(action) > 0.9 ? 10 : 0);
    const judged = judgedBy({ ...CALM, alive: 1 }, timid, { rewardBias });
    expect(metricOf(await measured(judged, 'reward-end'), 'optimism').value).toBeCloseTo(0, 4);
  });
});

describe('coverage of intervals', () => {
  it('is right in the mean over states where it is always wrong; CRPS knows', async () => {
    // Half of the states with twice the deviation, half with so much less that the mean is 90 %.
    const stated = (obs: Float32Array, at: number) => (Math.floor(Math.abs(obs[at]) * 1e4) % 2 === 0 ? 2 : 0.7806);
    const finding = await measured(judgedBy(NOISY, noisy, { stated }), 'calibration');
    expect(metricOf(finding, 'coverage-90').value).toBeCloseTo(0.9, 1.5);
    const crps = async (faults: object) =>
      metricOf(await measured(judgedBy(NOISY, noisy, faults), 'one-step'), 'crps').value!;
    expect(await crps({ stated })).toBeGreaterThan(1.02 * (await crps({})));
  });
});

describe('drift', () => {
  it('blames a right model for the noise of the world; calibration does not', async () => {
    const judged = judgedBy(NOISY, noisy);
    expect(metricOf(await measured(judged, 'k-steps'), 'drift').low).toBeGreaterThan(0.2);
    const { low, high } = metricOf(await measured(judged, 'calibration'), 'std-factor');
    expect([low! < 1, high! > 1]).toEqual([true, true]);
  });

  it('is small for a model that stands still where little happens; skill over persistence is not', async () => {
    const slow: World = { ...CALM, keep: 1, push: [0.01, 0.01, 0.01] };
    const truth = truthOf(slow);
    const next = (obs: Float32Array, at: number) => [obs[at], obs[at + 1], obs[at + 2]];
    const judged = judgedBy(slow, truth, { next });
    const steps = await measured(judged, 'k-steps');
    expect(metricOf(steps, 'drift').value).toBeLessThan(0.1);
    expect(metricOf(steps, 'divergence-steps').high).toBeNull();
    expect(metricOf(steps, 'better-than-persistence').value).toBe(0);
    expect(metricOf(await measured(judged, 'one-step'), 'skill-persistence').value).toBeCloseTo(0, 5);
  });
});

describe('state error', () => {
  it('is ruled by one element that is off by much; the chart by element shows which', async () => {
    const next = (obs: Float32Array, at: number, action: number) => {
      const [a, b, c] = meanNext(CALM, obs, at, action);
      return [a, b, c + 2];
    };
    const { section } = await measured(judgedBy(CALM, calm, { next }), 'one-step');
    const { points: model } = section.charts[0].series[0];
    expect(model.map(({ label }) => label)).toEqual(['a', 'b', 'c']);
    expect(model[0].y).toBeLessThan(1e-5);
    expect(model[2].y).toBeGreaterThan(1);
    expect(section.worst[0].differences.map(({ path }) => path)).toEqual(['c']);
  });
});
