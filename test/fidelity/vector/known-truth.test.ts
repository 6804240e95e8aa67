// What was put into a model comes out of the metrics, within their intervals; what was not, stays clean.

import { describe, expect, it } from 'vitest';
import type { SectionId } from '../../../src/fidelity/report.js';
import type { Finding } from '../../../src/fidelity/section.js';
import { stepsFrom, type VectorTruth } from '../../../src/fidelity/vector/ground.js';
import { DIM, type Faults, judgedBy, meanNext, measured, metricOf, truthOf, WORLD, type World } from './known-world.js';

const truth = truthOf(WORLD);
const NOISY: World = { ...WORLD, noise: 0.1 };
const noisyTruth = truthOf(NOISY);

function find(id: SectionId, faults: Faults = {}, world = WORLD): Promise<Finding> {
  return measured(judgedBy(world, world === WORLD ? truth : noisyTruth, faults), id);
}

function expectHolds(finding: Finding, key: string, put: number): void {
  const { low, high } = metricOf(finding, key);
  expect(low, `${key} from below`).toBeLessThanOrEqual(put);
  expect(high, `${key} from above`).toBeGreaterThanOrEqual(put);
}

const value = (finding: Finding, key: string) => metricOf(finding, key).value;
const meanOf = (values: readonly number[]) => values.reduce((sum, one) => sum + one, 0) / values.length;
/** Recorded steps of each simulation. */
const watched = (of: VectorTruth) => of.starts.map((row) => stepsFrom(of, row, 12));

describe('a model without fault', () => {
  it('is right in every step', async () => {
    const finding = await find('one-step');
    expect(value(finding, 'state-within')).toBe(1);
    expect(value(finding, 'state-error')).toBeLessThan(1e-6);
    expect(value(finding, 'skill-persistence')).toBeCloseTo(1, 9);
  });

  it('never drifts, promises nothing and ends nothing falsely', async () => {
    const steps = await find('k-steps');
    expect(value(steps, 'drift')).toBeLessThan(1e-5);
    expect(steps.drift?.map(({ step }) => step)).toEqual(steps.drift?.map((_, i) => i + 1));
    expect(steps.drift?.at(-1)?.high).toBeLessThan(1e-5);
    expect(value(steps, 'divergence-steps')).toBeCloseTo(meanOf(watched(truth)), 9);
    expect(metricOf(steps, 'divergence-steps').high).toBeNull();
    const outcome = await find('reward-end');
    expect(value(outcome, 'reward-bias')).toBeCloseTo(0, 5);
    for (const key of ['end-precision', 'end-recall']) expect(value(outcome, key)).toBe(1);
    expect(value(outcome, 'false-done')).toBe(0);
  });

  it('says that it has no spread, and so no calibration', async () => {
    const finding = await find('calibration');
    expect(value(finding, 'coverage-90')).toBeNull();
    expect(finding.section.notes[0]).toMatch(/one thing only/);
  });
});

describe('an error of known size in the transition', () => {
  const error = 0.12;

  it('is the state error, and nothing else is', async () => {
    const finding = await find('one-step', { error });
    const { scales } = judgedBy(WORLD, truth).ground;
    const mean = scales.change.reduce((sum, scale) => sum + (error / scale) ** 2, 0) / DIM;
    expectHolds(finding, 'state-error', Math.sqrt(mean));
  });

  it('adds up over steps as arithmetic says, until it is beyond tolerance', async () => {
    // An integrator: a bias of b a step is off by b t after t steps.
    const world = { ...WORLD, keep: 1, limit: 100 };
    const integrated = truthOf(world);
    const { scales } = judgedBy(world, integrated).ground;
    const bias = 0.15;
    const unit = bias * Math.sqrt(scales.state.reduce((sum, scale) => sum + scale ** -2, 0) / DIM);
    const judged = judgedBy(world, integrated, { bias });
    const finding = await measured(judged, 'k-steps');
    const { points } = finding.section.charts[0].series[0];
    expect(points).toHaveLength(12);
    for (const { x, y } of points) expect(y).toBeCloseTo(unit * x, 3);
    expect(value(finding, 'divergence-steps')).toBeCloseTo(
      meanOf(watched(integrated).map((steps) => Math.min(steps, Math.floor(0.5 / unit)))),
      6,
    );
  });
});

describe('a reward that is too high by a known size', () => {
  const rewardBias = () => 0.05;

  it('is the bias of a step, while states stay right', async () => {
    const finding = await find('reward-end', { rewardBias });
    expect(value(finding, 'reward-bias')).toBeCloseTo(0.05, 6);
    expect(value(finding, 'reward-rmse')).toBeCloseTo(0.05, 6);
    const step = await find('one-step', { rewardBias });
    expect(value(step, 'state-error')).toBeLessThan(1e-6);
    expect(value(await find('k-steps', { rewardBias }), 'drift')).toBeLessThan(1e-5);
  });
});

it('ends that are said wrongly with a known chance are false ends and missed ends in that share', async () => {
  const finding = await find('reward-end', { flip: 0.08 });
  expectHolds(finding, 'false-done', 0.08);
  expectHolds(finding, 'end-recall', 0.92);
  expect(value(finding, 'reward-bias')).toBeCloseTo(0, 6);
  const step = await find('one-step', { flip: 0.08 });
  expect(value(step, 'state-error')).toBeLessThan(1e-6);
});

describe('disagreement of known size', () => {
  const scales = () => judgedBy(NOISY, noisyTruth).ground.scales.change.map((scale) => NOISY.noise / scale);

  it('that is honest is calibrated', async () => {
    const finding = await find('calibration', {}, NOISY);
    expectHolds(finding, 'coverage-90', 0.9);
    expectHolds(finding, 'std-factor', 1);
    const step = await find('one-step', {}, NOISY);
    expectHolds(step, 'state-error', Math.sqrt(meanOf(scales().map((std) => std ** 2))));
  });

  it('that is too small by a factor is found to be', async () => {
    const faults = { stated: () => 1 / 2.5 };
    const finding = await find('calibration', faults, NOISY);
    expectHolds(finding, 'std-factor', 2.5);
    // Chance that a normal is within 1.6449 / 2.5 standard deviations.
    expectHolds(finding, 'coverage-90', 0.48944);
    const [honest, sure] = [await find('one-step', {}, NOISY), await find('one-step', faults, NOISY)];
    expect(value(sure, 'state-error')).toBe(value(honest, 'state-error'));
  });

  it('that goes with the errors warns of them, and disagreement on nothing does not', async () => {
    const quiet: World = { ...WORLD, noise: 0.02 };
    const quietTruth = truthOf(quiet);
    const isHard = (obs: Float32Array, at: number) => obs[at + 1] > 0;
    const coin = (obs: Float32Array, at: number) => Math.floor(Math.abs(obs[at + 1]) * 1e4) % 2 === 0;
    const next = (obs: Float32Array, at: number, action: number) =>
      meanNext(WORLD, obs, at, action).map((mean) => (isHard(obs, at) ? mean + 1 : mean));
    const judge = (apart: Faults['apart']) => measured(judgedBy(quiet, quietTruth, { next, apart }), 'calibration');
    const wise = await judge((obs, at) => (isHard(obs, at) ? 0.5 : 0.1));
    expect(metricOf(wise, 'doubt-auroc').low).toBeGreaterThan(0.95);
    const blind = await judge((obs, at) => (coin(obs, at) ? 0.5 : 0.1));
    expectHolds(blind, 'doubt-auroc', 0.5);
  });
});
