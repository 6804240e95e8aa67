// A saturated policy stays within the action space: float32 tanh and scaling round, and must not round outwards.

import { expect, it } from 'vitest';
import { Rng } from '../../src/core/rng.js';
import { boxSpace, contains } from '../../src/env/space-values.js';
import { makeSac } from '../../src/rl/soft-actor-critic.js';

it.each([
  [-1, 1],
  [0.3, 0.7],
])('a saturated SAC policy keeps its actions in %f .. %f', async (low, high) => {
  const actionSpace = boxSpace(Array(6).fill(low), Array(6).fill(high));
  const learner = await makeSac(
    { hidden: [8] },
    { observationSpace: boxSpace(Array(3).fill(-1), Array(3).fill(1)), actionSpace },
    Rng.fromSeed(1),
  );
  const rows = 1024;
  // Far outside of anything normalised: means of many sizes, most of them deep in the flat parts of tanh.
  const obs = Rng.fromSeed(2).fillUniform(new Float32Array(rows * 3), -400, 400);
  for (const deterministic of [true, false]) {
    const { action } = await learner.policy().act(obs, rows, Rng.fromSeed(3), { deterministic });
    for (let row = 0; row < rows; row++) {
      const one = action.slice(row * 6, (row + 1) * 6);
      if (!contains(actionSpace, one)) expect.fail(`action ${one.join(', ')} lies outside`);
    }
    const extremes = [Math.min(...action), Math.max(...action)];
    expect(extremes[0]).toBeCloseTo(low, 2);
    expect(extremes[1]).toBeCloseTo(high, 2);
  }
  await learner.close();
});
