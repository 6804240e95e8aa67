// Values of steps by living on from them.

import { describe, expect, it } from 'vitest';
import { type PlayedText, playTexts } from '../../src/algorithms/index.js';
import { forkGroups } from '../../src/algorithms/text-forks.js';
import { Rng } from '../../src/core/rng.js';
import type { TextPolicy } from '../../src/rl/index.js';
import { attic, attics } from '../rl/text/attic-training.js';

const WAY = ['open crate', 'take book from crate', 'go to south', 'open chest', 'put book into chest'];

/** Goes the shortest way where it stands on it; else takes the first command. */
const knowing: TextPolicy = {
  version: 'knows the way',
  decide: async (situations) =>
    situations.map(({ admissible, turns }) => {
      const next = WAY.find((command) => !turns.some(({ said }) => said === command))!;
      return { choice: Math.max(admissible.indexOf(next), 0), logProb: 0, entropy: 0 };
    }),
};

const scattered: TextPolicy = {
  ...knowing,
  decide: async (situations, draws = []) =>
    situations.map(({ admissible }, i) => ({
      choice: Math.floor(draws[i] * admissible.length),
      logProb: 0,
      entropy: 0,
    })),
};

const environments = () => Array.from({ length: 8 }, () => attic(attics(), 7));

function group(policy: TextPolicy, episodes: number): Promise<PlayedText[]> {
  const starts = Array.from({ length: episodes }, (_, e) => ({ task: 'book', seed: 1, rng: Rng.fromSeed(e) }));
  return playTexts(policy, starts, { environments: environments(), snapshots: true });
}

const options = { forks: 2, gamma: 0.5 };

describe('living on from steps', () => {
  it('gives each the mean discounted return of what followed', async () => {
    const [won] = await group(knowing, 1);
    const lost = await group(scattered, 4);
    const { groups, lived } = await forkGroups(knowing, [[won, ...lost]], Rng.fromSeed(9), {
      ...options,
      environments: environments(),
    });
    const [[valued]] = groups;
    expect(valued.steps.map(({ value }) => value)).toEqual([0.5 ** 4, 0.5 ** 3, 0.5 ** 2, 0.5, 1]);
    const situations = new Set(
      groups[0].flatMap(({ steps }) => steps.map(({ situation }) => JSON.stringify(situation))),
    );
    expect(lived).toHaveLength(2 * situations.size);
  });

  it('begins in the situation that the step was chosen in, with the time that was left', async () => {
    const [won] = await group(knowing, 1);
    const lost = await group(scattered, 2);
    const { groups, lived } = await forkGroups(scattered, [[won, ...lost]], Rng.fromSeed(9), {
      ...options,
      environments: environments(),
    });
    const begun = new Map(lived.map(({ steps }) => [JSON.stringify(steps[0].situation), steps[0].state]));
    for (const { steps } of groups[0]) {
      for (const [t, { situation, state }] of steps.entries()) {
        expect(begun.get(JSON.stringify(situation))).toBe(state);
        const ons = lived.filter((one) => JSON.stringify(one.steps[0].situation) === JSON.stringify(situation));
        for (const on of ons) expect(on.steps.length).toBeLessThanOrEqual(7 - t);
      }
    }
  });

  it('passes over groups whose episodes came to the same', async () => {
    const alike = await group(knowing, 3);
    const { groups, lived } = await forkGroups(knowing, [alike], Rng.fromSeed(9), {
      ...options,
      environments: environments(),
    });
    expect(lived).toEqual([]);
    expect(groups[0].every(({ steps }) => steps.every(({ value }) => value === 0))).toBe(true);
  });
});
