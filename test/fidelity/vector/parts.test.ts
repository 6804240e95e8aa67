// Units of intervals: stretches of episodes.

import { expect, it } from 'vitest';
import { stepsFrom, unitsOf } from '../../../src/fidelity/vector/ground.js';
import { truthOf, WORLD } from './known-world.js';

it('units are episodes, long ones in about equal stretches', () => {
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
