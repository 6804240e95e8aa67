// What the instruments are made of: survival where dreams are not watched to the end, the linear model, units.

import { describe, expect, it } from 'vitest';
import { crossFitted, stepsFrom, unitsOf } from '../../../src/fidelity/vector/ground.js';
import { meanSteps, survival, watched } from '../../../src/fidelity/vector/k-steps.js';
import { meanNext, truthOf, WORLD } from './known-world.js';

describe('time to divergence', () => {
  it('is the number of steps before the first error beyond tolerance', () => {
    expect(watched([0.1, 0.2, 0.6, 0.1], 0.5)).toEqual({ steps: 2, hasDiverged: true });
    expect(watched([0.1, 0.5], 0.5)).toEqual({ steps: 2, hasDiverged: false });
  });

  it('counts dreams as long as they were watched', () => {
    // By hand: of 4, one diverges at step 1 (3/4); one is watched for 1 step; of the 2 left one diverges at step 2 (3/8).
    const dreams = [
      { steps: 0, hasDiverged: true },
      { steps: 1, hasDiverged: false },
      { steps: 1, hasDiverged: true },
      { steps: 3, hasDiverged: false },
    ];
    expect(survival(dreams)).toEqual([0.75, 0.375, 0.375]);
    expect(meanSteps(dreams)).toBeCloseTo(1.5, 12);
    expect(meanSteps([])).toBeNull();
  });
});

describe('the linear model', () => {
  it('finds a linear world, from units other than those it is asked about', () => {
    const truth = truthOf(WORLD);
    const next = new Float64Array(3);
    const linear = crossFitted(truth);
    for (const row of [0, 300, 600]) {
      const obs = truth.rows.obs.subarray(3 * row, 3 * row + 3);
      const action = truth.rows.action.subarray(row, row + 1);
      linear.predict(row, obs, action, next);
      meanNext(WORLD, obs, 0, action[0]).forEach((mean, j) => {
        expect(next[j]).toBeCloseTo(mean, 4);
      });
    }
  });
});

describe('units', () => {
  it('are episodes, long ones in about equal stretches', () => {
    const rows = { ...truthOf(WORLD).rows, rows: 290 };
    const episodes = [
      { first: 0, rows: 40 },
      { first: 40, rows: 250 },
    ];
    const { count, of } = unitsOf({ rows, episodes });
    expect(count).toBe(4);
    expect([of[39], of[40], of[123], of[124], of[289]]).toEqual([0, 1, 1, 2, 3]);
    const truth = { ...truthOf(WORLD), rows, episodes };
    expect([stepsFrom(truth, 35, 10), stepsFrom(truth, 40, 10), stepsFrom(truth, 285, 10)]).toEqual([5, 10, 5]);
  });
});
