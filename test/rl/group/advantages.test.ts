// Advantages of groups against numbers worked out by hand.

import { describe, expect, it } from 'vitest';
import { type GroupOptions, groupEstimators, groupLessons } from '../../../src/rl/group-estimators.js';

const [grpo, gigpo, rloo, ppo] = ['grpo', 'gigpo', 'rloo', 'ppo'].map((name) => groupEstimators.get(name).estimate);
type GroupEpisode = Parameters<typeof grpo>[0][number];

const OPTIONS: GroupOptions = { normalise: true, gamma: 0.5 };
const episode = (rewards: number[], states = rewards.map((_, t) => `s${t}`)): GroupEpisode => ({ rewards, states });

// Returns 1, 0, 0, 1: mean 1/2, deviation of a sample sqrt(4 · 1/4 / 3) = 0.57735.
const GROUP = [episode([0, 1]), episode([0]), episode([0, 0, 0]), episode([1])];
const ONE = 0.5 / (Math.sqrt(1 / 3) + 1e-6);

const close = (found: number[][], wanted: number[][]) => {
  expect(found.map(({ length }) => length)).toEqual(wanted.map(({ length }) => length));
  found.flat().forEach((value, i) => {
    expect(value).toBeCloseTo(wanted.flat()[i], 9);
  });
};

describe('GRPO', () => {
  it('gives every step of an episode its standardised return', () => {
    close(grpo(GROUP, OPTIONS), [[ONE, ONE], [-ONE], [-ONE, -ONE, -ONE], [ONE]]);
  });

  it('has nothing to say where all came to the same', () => {
    expect(grpo([episode([0.1, 0.2]), episode([0.1, 0.2])], OPTIONS)).toEqual([
      [0, 0],
      [0, 0],
    ]);
  });
});

describe('RLOO', () => {
  it('compares each return with the mean of the others', () => {
    // 1 - 1/3, 0 - 2/3.
    close(rloo(GROUP, OPTIONS), [[2 / 3, 2 / 3], [-2 / 3], [-2 / 3, -2 / 3, -2 / 3], [2 / 3]]);
  });
});

describe('GiGPO', () => {
  // Both begin in a. One wins by the second step, having gone to b; the other goes a, a, c and does not.
  const group = [episode([0, 1], ['a', 'b']), episode([0, 0, 0], ['a', 'a', 'c'])];

  it('adds what a step is worth among those chosen in the same state', () => {
    // Discounted returns: 0.5, 1 and 0, 0, 0. State a: 0.5, 0, 0 with mean 1/6; b and c were met once.
    const options = { ...OPTIONS, normalise: false };
    close(gigpo(group, options), [
      [0.5 + 1 / 3, 0.5],
      [-0.5 - 1 / 6, -0.5 - 1 / 6, -0.5],
    ]);
  });

  it('standardises both', () => {
    // Episodes: ±0.5 over sqrt(0.5). Steps in a: deviation of a sample sqrt((1/9 + 2/36) / 2) = 0.288675.
    const whole = 0.5 / (Math.sqrt(0.5) + 1e-6);
    const deviation = Math.sqrt(1 / 12) + 1e-6;
    close(gigpo(group, OPTIONS), [
      [whole + 1 / 3 / deviation, whole],
      [-whole - 1 / 6 / deviation, -whole - 1 / 6 / deviation, -whole],
    ]);
  });
});

describe('PPO', () => {
  it('looks past the next step as far as lambda says', () => {
    const group = [{ ...episode([0, 1]), values: [0.2, 0.6] }];
    // Errors of one step: 0 + 0.5 · 0.6 - 0.2 = 0.1, and 1 - 0.6 = 0.4.
    close(ppo(group, { ...OPTIONS, gaeLambda: 0 }), [[0.1, 0.4]]);
    close(ppo(group, { ...OPTIONS, gaeLambda: 1 }), [[0.1 + 0.5 * 0.4, 0.4]]);
  });
});

describe('lessons of groups', () => {
  const situation = { goal: 'win', text: '', turns: [], admissible: ['a', 'b'] };
  const step = (reward: number) => ({ situation, choice: 1, logProb: -0.5, entropy: 0, state: 's', reward });
  const lived = (rewards: number[], reward: number | null) => ({ steps: rewards.map(step), reward });

  it('leave out groups in which nothing was better, and count them', () => {
    const { lessons, silent } = groupLessons(
      [
        [lived([0], 0), lived([0, 0], 0)],
        [lived([1], 1), lived([0, 0], 0)],
      ],
      { estimate: rloo },
      OPTIONS,
    );
    expect(silent).toBe(1);
    expect(lessons.map(({ advantage, logProb, choice }) => [advantage, logProb, choice])).toEqual([
      [1, -0.5, 1],
      [-1, -0.5, 1],
      [-1, -0.5, 1],
    ]);
  });

  it('take nobody as having failed whom nobody could judge', () => {
    const { lessons } = groupLessons([[lived([1], 1), lived([0], 0), lived([0], null)]], { estimate: rloo }, OPTIONS);
    expect(lessons.map(({ advantage }) => advantage)).toEqual([1, -1]);
  });

  it('tell a critic what it should have expected, with advantages that are standardised', () => {
    const valued = (rewards: number[], value: number) => ({
      steps: rewards.map((reward) => ({ ...step(reward), value })),
      reward: rewards.at(-1)!,
    });
    const groups = [[valued([1], 0.25), valued([0], 0.25)]];
    const { lessons } = groupLessons(groups, { estimate: ppo, hasCritic: true }, OPTIONS);
    expect(lessons.map(({ target }) => target)).toEqual([1, 0]);
    expect(lessons[0].advantage).toBeCloseTo(1, 6);
    expect(lessons[1].advantage).toBeCloseTo(-1, 6);
  });
});
