// What a warm start saved, as numbers: medians over seeds, a run that never got there counting as the latest.

import { describe, expect, it } from 'vitest';
import {
  compareWarmStart,
  DREAM_ARM,
  medianSteps,
  SCRATCH_ARM,
  type TrainedArm,
  trainEveryArm,
} from '../../src/algorithms/index.js';

function run(arm: string, realStepsToThreshold: number | null, finalReturns = [1, 3]): TrainedArm {
  return { arm, realStepsToThreshold, finalReturns, wallSeconds: 2, dreamtTransitions: 100, dreamSeconds: 0.5 };
}

describe('a warm start', () => {
  it('saves the ratio of the medians', () => {
    const scratch = [4000, 5000, null].map((steps) => run(SCRATCH_ARM, steps));
    const dream = [500, 1000, 1500].map((steps) => run(DREAM_ARM, steps, [7]));
    const { arms, ratio } = compareWarmStart([...scratch, ...dream]);
    expect(ratio).toBe(5);
    expect(arms[0]).toMatchObject({ realStepsToThreshold: [4000, 5000, null], wallSeconds: 2 });
    expect(arms[0].finalReturn.mean).toBe(2);
    expect(arms[0].finalReturn.std).toBeCloseTo(Math.sqrt(6 / 5));
    expect(arms[1]).toMatchObject({ finalReturn: { mean: 7, std: 0 }, dreamtTransitions: 300, dreamtPerSecond: 200 });
  });

  it('has no ratio where the middle run of an arm did not get there', () => {
    expect(medianSteps([null, null, 100])).toBeNull();
    expect(medianSteps([100, null])).toBeNull();
    expect(compareWarmStart([run(SCRATCH_ARM, null), run(DREAM_ARM, 100)]).ratio).toBeNull();
  });
});

describe('runs of several arms', () => {
  it('begin seed by seed, so that arms are given about the same', async () => {
    const begun: string[] = [];
    const train = async (arm: string, seed: number) => begun.push(`${arm}${seed}`);
    await trainEveryArm({ arms: ['a', 'b'], seeds: [1, 2], threads: 1, train, giveUp: () => {} });
    expect(begun).toEqual(['a1', 'b1', 'a2', 'b2']);
  });

  it('are given up with the first that fails, whose failure is told', async () => {
    const given: string[] = [];
    const train = async (arm: string) => {
      if (arm === 'b') throw new Error('diverged');
      return arm;
    };
    const request = { arms: ['a', 'b'], seeds: [1, 2], threads: 1, train, giveUp: () => given.push('up') };
    await expect(trainEveryArm(request)).rejects.toThrow('diverged');
    expect(given).toEqual(['up']);
  });
});
