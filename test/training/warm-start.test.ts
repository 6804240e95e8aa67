// What a warm start saved, as numbers: medians over seeds, a run that never got there counting as the latest.

import { describe, expect, it } from 'vitest';
import {
  compareWarmStart,
  DREAM_ARM,
  MANY_UPDATES_ARM,
  SCRATCH_ARM,
  type TrainedArm,
  trainEveryArm,
} from '../../src/training/warm-start.js';

function run(arm: string, realStepsToThreshold: number | null, finalReturns = [1, 3], wallSeconds = 2): TrainedArm {
  return { arm, realStepsToThreshold, finalReturns, wallSeconds, simulatedTransitions: 100, dreamSeconds: 0.5 };
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
    expect(arms[1]).toMatchObject({
      finalReturn: { mean: 7, std: 0 },
      simulatedTransitions: 300,
      simulatedPerSecond: 200,
    });
  });
});

describe('the best baseline', () => {
  const arms = (scratch: number | null, many: number | null, dream: number | null, seconds: readonly number[]) =>
    compareWarmStart([
      run(SCRATCH_ARM, scratch, [1], seconds[0]),
      run(MANY_UPDATES_ARM, many, [1], seconds[1]),
      run(DREAM_ARM, dream, [1], seconds[2]),
    ]);

  it('is the one that needed the fewest real steps, and the dream is held against it', () => {
    expect(arms(5000, 2750, 625, [10, 60, 90])).toMatchObject({ best: MANY_UPDATES_ARM, ratio: 4.4 });
    expect(arms(500, 2750, 1000, [10, 60, 90])).toMatchObject({ best: SCRATCH_ARM, ratio: 0.5 });
    expect(arms(null, 2750, 625, [10, 60, 90])).toMatchObject({ best: MANY_UPDATES_ARM, ratio: 4.4 });
    expect(arms(null, null, 625, [10, 60, 90])).toMatchObject({ best: null, ratio: null });
    expect(arms(5000, 2750, null, [10, 60, 90])).toMatchObject({ best: MANY_UPDATES_ARM, ratio: null });
  });

  it('leaves a price of a real step from which the dream is cheaper than every baseline', () => {
    // From scratch: 80 s more for 4,000 steps fewer; many updates: 30 s more for 500 fewer, which is the dearer of the two.
    expect(arms(5000, 1500, 1000, [10, 60, 90]).breakEven).toEqual({ kind: 'from', secondsPerStep: 0.06 });
    expect(arms(5000, null, 1000, [10, 60, 90]).breakEven).toEqual({ kind: 'from', secondsPerStep: 0.02 });
    expect(arms(5000, 1500, 1000, [95, 96, 90]).breakEven).toEqual({ kind: 'always' });
    expect(arms(800, 1500, 1000, [10, 60, 90]).breakEven).toEqual({ kind: 'never' });
    expect(arms(800, 1500, null, [10, 60, 90]).breakEven).toEqual({ kind: 'unknown' });
  });
});

describe('the way whose policy is taken', () => {
  const taken = (...runs: TrainedArm[]) => compareWarmStart(runs).taken;

  it('is that of the fewest real steps, the dream or not', () => {
    expect(taken(run(SCRATCH_ARM, 5000), run(MANY_UPDATES_ARM, 800), run(DREAM_ARM, 1000))).toBe(MANY_UPDATES_ARM);
    expect(taken(run(SCRATCH_ARM, 5000), run(MANY_UPDATES_ARM, 2000), run(DREAM_ARM, 1000))).toBe(DREAM_ARM);
    expect(taken(run(SCRATCH_ARM, 900, [9]), run(DREAM_ARM, null, [99]))).toBe(SCRATCH_ARM);
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
