import { expect, test } from 'vitest';
import { Gridworld, gridDynamics, valueIteration } from '../controlled/gridworld.js';

const MAP = ['S..', '.#H', '..G'];

test('every transition row is a distribution and terminal cells keep the agent', () => {
  const { states, actions, transition, terminal } = gridDynamics({ map: MAP, slip: 0.2, stepReward: 0 });
  for (let row = 0; row < states * actions; row++) {
    const probabilities = transition.subarray(row * states, (row + 1) * states);
    expect(probabilities.reduce((total, value) => total + value, 0)).toBeCloseTo(1, 12);
    const state = Math.floor(row / actions);
    if (terminal[state]) expect(probabilities[state]).toBe(1);
  }
});

test('value iteration solves a corridor by hand', () => {
  const solution = valueIteration(gridDynamics({ map: ['S.G'], slip: 0, stepReward: -0.1 }), 0.5);
  expect(solution.values[1]).toBeCloseTo(0.9, 10);
  expect(solution.values[0]).toBeCloseTo(-0.1 + 0.5 * 0.9, 10);
  expect(solution.values[2]).toBe(0);
  expect(Array.from(solution.policy.subarray(0, 2))).toEqual([1, 1]);
});

test('lived frequencies and returns agree with the tables', async () => {
  const env = new Gridworld({ map: MAP, slip: 0.3, stepReward: -0.05 }, 100);
  const { policy, values } = valueIteration(env.dynamics, 0.95);
  const episodes = 4000;
  let total = 0;
  env.reset({ seed: 9 });
  for (let episode = 0; episode < episodes; episode++) {
    let state = env.reset().observation[0];
    for (let discount = 1; ; discount *= 0.95) {
      const result = env.step(Float32Array.of(policy[state]));
      total += discount * result.reward;
      state = result.observation[0];
      if (result.terminated || result.truncated) break;
    }
  }
  expect(total / episodes).toBeCloseTo(values[0], 1);
  expect(Math.abs(total / episodes - values[0])).toBeLessThan(0.04);
});

test.each([
  [['S.', '.'], /differ in length/],
  [['..G'], /no start/],
  [['S?G'], /cells are/],
])('a wrong map is refused: %j', (map, message) => {
  expect(() => gridDynamics({ map, slip: 0, stepReward: 0 })).toThrow(message);
});
