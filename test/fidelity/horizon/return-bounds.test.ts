// Bounds on returns, on small worlds whose values are exact: wrong transitions and rewards are put in by hand, and the real
// gap of every policy must lie below the bound.

import { describe, expect, it } from 'vitest';
import { Rng } from '../../../src/core/rng.js';
import {
  bestBranchLength,
  branchPenalty,
  largestReturnGap,
  probabilityOfLeaving,
  returnGapBound,
} from '../../../src/fidelity/horizon/return-bounds.js';
import { type TabularDynamics, valueIteration } from '../../controlled/gridworld.js';

const STATES = 5;
const ACTIONS = 2;
const GAMMA = 0.9;

/** A world without an end, drawn at random; rewards lie in [-1, 1]. */
function world(rng: Rng): TabularDynamics {
  const size = STATES * ACTIONS;
  const transition = new Float64Array(size * STATES);
  for (let pair = 0; pair < size; pair++) {
    const row = transition.subarray(pair * STATES, (pair + 1) * STATES);
    rng.fillUniform(row);
    const sum = row.reduce((total, value) => total + value, 0);
    row.forEach((value, i) => {
      row[i] = value / sum;
    });
  }
  const reward = rng.fillUniform(new Float64Array(size * STATES), -1, 1);
  return {
    states: STATES,
    actions: ACTIONS,
    transition,
    reward,
    terminal: new Uint8Array(STATES),
    start: new Float64Array(STATES).fill(1 / STATES),
  };
}

/** Moves mass `errorP` of every transition to state 0 (a total variation of at most that), and adds `errorR` to every reward. */
function dreamOf(real: TabularDynamics, errorP: number, errorR: number): TabularDynamics {
  const transition = real.transition.map((value, i) => (1 - errorP) * value + (i % STATES === 0 ? errorP : 0));
  // The same expected reward wherever transitions are the same: the reward of a pair is its mean, so that the error is exact.
  const reward = meanRewards(real).map((value) => value + errorR);
  return { ...real, transition, reward };
}

/** Reward of each pair, whatever follows. */
function meanRewards({ transition, reward }: TabularDynamics): Float64Array {
  return reward.map((_, i) => {
    const at = Math.floor(i / STATES) * STATES;
    let mean = 0;
    for (let next = 0; next < STATES; next++) mean += transition[at + next] * reward[at + next];
    return mean;
  });
}

/** Discounted return of a policy: value iteration in the world in which only its actions can be taken. */
function returnOf(dynamics: TabularDynamics, policy: readonly number[]): number {
  const pick = (table: Float64Array) =>
    Float64Array.from({ length: STATES * STATES }, (_, i) => {
      const state = Math.floor(i / STATES);
      return table[(state * ACTIONS + policy[state]) * STATES + (i % STATES)];
    });
  const own = { ...dynamics, actions: 1, transition: pick(dynamics.transition), reward: pick(dynamics.reward) };
  const { values } = valueIteration(own, GAMMA);
  return values.reduce((sum, value, state) => sum + value * dynamics.start[state], 0);
}

const POLICIES = Array.from({ length: ACTIONS ** STATES }, (_, i) =>
  Array.from({ length: STATES }, (_, state) => (i >> state) & 1),
);

describe('the bound on the gap of returns', () => {
  it.each([
    [0, 0],
    [0, 0.3],
    [0.05, 0],
    [0.1, 0.05],
    [0.5, 0.2],
  ])('holds for every policy of random worlds: e_P %f, e_R %f', (errorP, errorR) => {
    for (let seed = 0; seed < 8; seed++) {
      const drawn = world(Rng.fromSeed(seed));
      const real = { ...drawn, reward: meanRewards(drawn) };
      const dream = dreamOf(drawn, errorP, errorR);
      const scale = { gamma: GAMMA, largestReward: 1 + errorR };
      const bound = returnGapBound({ transition: errorP, reward: errorR }, scale);
      const gaps = POLICIES.map((policy) => Math.abs(returnOf(real, policy) - returnOf(dream, policy)));
      for (const gap of gaps) expect(gap).toBeLessThanOrEqual(bound + 1e-9);
      if (errorP === 0) expect(Math.max(...gaps)).toBeCloseTo(errorR / (1 - GAMMA), 9);
    }
  });

  it('is nearly reached by a world made for it: mass goes from the best state to the worst', () => {
    // State 0 pays 1 for ever, state 1 pays -1 for ever: V differs by 2 / (1 - g).
    const dynamics = (stay: number): TabularDynamics => ({
      ...{ states: 2, actions: 1, transition: Float64Array.of(stay, 1 - stay, 0, 1), start: Float64Array.of(1, 0) },
      ...{ reward: Float64Array.of(1, 1, -1, -1), terminal: new Uint8Array(2) },
    });
    const value = (stay: number) => valueIteration(dynamics(stay), GAMMA).values[0];
    const gap = value(1) - value(1 - 0.001);
    const bound = returnGapBound({ transition: 0.001, reward: 0 }, { gamma: GAMMA, largestReward: 1 });
    expect(gap).toBeLessThanOrEqual(bound);
    expect(gap / bound).toBeGreaterThan(0.98);
  });

  // Blind spot: means where the theorem has the largest. docs/fidelity-metrics.md tells it with this example.
  it('is fooled by errors where nobody went: they are in no mean', () => {
    // State 0 pays 1 a step while one stays; action 1 leaves it for state 1, which pays nothing, for real but not in the dream.
    const world = (leave: number): TabularDynamics => ({
      ...{ states: 2, actions: 2, transition: Float64Array.of(1, 0, 1 - leave, leave, 0, 1, 0, 1) },
      ...{ reward: Float64Array.of(1, 1, 1, 1, 0, 0, 0, 0), terminal: new Uint8Array(2), start: Float64Array.of(1, 0) },
    });
    const leaving = (dynamics: TabularDynamics) => {
      const { transition, reward } = dynamics;
      const own = { ...dynamics, actions: 1, transition: Float64Array.of(...transition.slice(2, 4), 0, 1) };
      return valueIteration({ ...own, reward: Float64Array.of(...reward.slice(2, 4), 0, 0) }, GAMMA).values[0];
    };
    expect(leaving(world(0)) - leaving(world(1))).toBeCloseTo(9, 9);
    // Judged by a policy that always stays both worlds are the same.
    expect(returnGapBound({ transition: 0, reward: 0 }, { gamma: GAMMA, largestReward: 1 })).toBe(0);
  });

  it('is vacuous from where it allows more than any two worlds differ by', () => {
    const scale = { gamma: 0.99, largestReward: 1 };
    expect(largestReturnGap(scale)).toBeCloseTo(200, 9);
    expect(returnGapBound({ transition: 0.0101, reward: 0 }, scale)).toBeLessThan(200);
    expect(returnGapBound({ transition: 0.0102, reward: 0 }, scale)).toBeGreaterThan(200);
  });
});

describe('leaving the real', () => {
  it('is the complement of no step being wrong, to the last digits of small errors', () => {
    expect(probabilityOfLeaving(0.1, 7)).toBeCloseTo(1 - 0.9 ** 7, 12);
    expect(probabilityOfLeaving(1e-12, 3)).toBeCloseTo(3e-12, 20);
    expect(probabilityOfLeaving(0, 1000)).toBe(0);
    expect(probabilityOfLeaving(1, 1)).toBe(1);
    expect(probabilityOfLeaving(1, 0)).toBe(0);
  });
});

describe('the length of branches', () => {
  it.each([
    [0.02, 0.2],
    [0.1, 0.11],
    [0.2, 0.2],
    [0.3, 0.1],
    [0.001, 0.5],
  ])('is the one whose penalty is least: model error %f, policy moved by %f', (model, policy) => {
    const scale = { gamma: GAMMA, largestReward: 3 };
    const lengths = Array.from({ length: 400 }, (_, k) => branchPenalty({ model, policy }, scale, k));
    expect(bestBranchLength({ model, policy }, scale)).toBe(lengths.indexOf(Math.min(...lengths)));
  });

  it('is 0 for a policy that has not moved, and has no limit for a model without error', () => {
    expect(bestBranchLength({ model: 0.1, policy: 0 }, { gamma: GAMMA })).toBe(0);
    expect(bestBranchLength({ model: 0, policy: 0.1 }, { gamma: GAMMA })).toBe(Number.POSITIVE_INFINITY);
  });
});
