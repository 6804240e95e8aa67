// What the instruments are made of: survival where simulations are not watched to the end, and units.

import { describe, expect, it } from 'vitest';
import { stepsFrom, unitsOf } from '../../../src/fidelity/vector/ground.js';
import { meanSteps } from '../../../src/fidelity/vector/k-steps.js';
import { truthOf, WORLD } from './known-world.js';

describe('time to divergence', () => {
  it('counts simulations as long as they were watched', () => {
    // By hand: of 4, one diverges at step 1 (3/4); one is watched for 1 step; of the 2 left one diverges at step 2 (3/8).
    const runs = [
      { steps: 0, hasDiverged: true },
      { steps: 1, hasDiverged: false },
      { steps: 1, hasDiverged: true },
      { steps: 3, hasDiverged: false },
    ];
    expect(meanSteps(runs)).toBeCloseTo(0.75 + 0.375 + 0.375, 12);
    expect(meanSteps([])).toBeNull();
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
