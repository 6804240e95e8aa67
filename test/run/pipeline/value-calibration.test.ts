// A value model beside records that it was not made of: what passes for knowing more than a constant, and what does not.

import { expect, it } from 'vitest';
import { Rng } from '../../../src/core/rng.js';
import type { TextSituation } from '../../../src/rl/text/text-policy.js';
import { compareValues, requireSkill } from '../../../src/run/pipeline/tools/records.js';
import { returnsOf, type ValuedEpisode } from '../../../src/training/text-values.js';

const situation = { goal: '', text: '', turns: [], admissible: ['left', 'right'] } satisfies TextSituation;

/** Of two steps each, of which going right at first wins, four times of five. */
function episodes(count: number, seed: number): ValuedEpisode[] {
  const rng = Rng.fromSeed(seed);
  return Array.from({ length: count }, () => {
    const choice = rng.int(2);
    const won = choice === 1 && rng.uniform() < 0.8;
    return { steps: [{ situation, choice, reward: 0, state: 'start' }, { reward: won ? 1 : 0 }], won };
  });
}

const judged = (of: (i: number) => readonly [number, number]) => {
  const model = { values: async (asked: readonly TextSituation[]) => asked.map((_, i) => Float32Array.from(of(i))) };
  return compareValues(model, episodes(80, 1), episodes(40, 2), 0.9, Rng.fromSeed(3));
};

it('lets pass what knows which choice is better', async () => {
  const fit = await judged(() => [0, 0.72]);
  expect(fit).toMatchObject({ episodes: 80, steps: 80, heldOutEpisodes: 40, heldOutSteps: 40 });
  expect(fit.skill.value).toBeGreaterThan(0.4);
  expect(fit.skill.low).toBeGreaterThan(0);
  expect(() => requireSkill(fit)).not.toThrow();
});

it.each([
  ['a constant', () => [0.36, 0.36] as const],
  ['chance', (i: number) => [Rng.fromSeed(i).uniform(), Rng.fromSeed(i + 1000).uniform()] as const],
  ['the opposite', () => [0.72, 0] as const],
])('refuses %s', async (_, of) => {
  const fit = await judged(of);
  expect(() => requireSkill(fit)).toThrow(expect.objectContaining({ code: 'SCENARIO_UNFIT' }));
});

it('discounts what comes later', () => {
  expect(returnsOf([0, 1, 2], 0.5)).toEqual([1, 2, 2]);
});
