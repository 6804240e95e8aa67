// The horizon schedule: MBPO's values at and between its corners, and what it refuses.

import { expect, it } from 'vitest';
import { type HorizonSchedule, horizonSchedule } from '../../src/synth/rollout/plan.js';

it('is constant, then linear and rounded down, then constant', () => {
  const humanoid: HorizonSchedule = [20, 300, 1, 25];
  expect([0, 20, 31, 32, 160, 299, 300, 1e9].map((epoch) => horizonSchedule(epoch, humanoid))).toEqual([
    1, 1, 1, 2, 13, 24, 25, 25,
  ]);
});

it.each([[[5, 1, 1, 2]], [[0, 1, 0, 2]], [[0, 1, 1, 2.5]], [[Number.NaN, 1, 1, 2]]])('refuses %o', (schedule) => {
  expect(() => horizonSchedule(0, schedule as never)).toThrow(expect.objectContaining({ code: 'SETTING_INVALID' }));
});
