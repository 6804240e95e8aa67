// The relevance network: what it is told of a situation, that rollout and training agree, and that it learns what it is shown.

import { describe, expect, it } from 'vitest';
import { Rng } from '../../../src/core/rng.js';
import {
  COUNTS,
  type EncodedSituation,
  encodeSituation,
  isNumbered,
  RelevanceNetwork,
  relevanceSchema,
  tokensOf,
} from '../../../src/rl/text/relevance.js';
import type { TextLesson, TextSituation } from '../../../src/rl/text/text-policy.js';
import { PLAIN, relevance } from './attic-training.js';

const draws = (count: number, seed: number) => {
  const rng = Rng.fromSeed(seed);
  return Array.from({ length: count }, () => rng.uniform());
};

const THINGS = ['book', 'lamp', 'mug', 'key', 'pen', 'hat', 'cup', 'box'];

/** One wants a thing, and may take any of some. */
function situations(count: number, seed: number): TextSituation[] {
  const rng = Rng.fromSeed(seed);
  return Array.from({ length: count }, () => {
    const offered = [...rng.permutation(THINGS.length)].slice(0, 2 + rng.int(6)).map((i) => THINGS[i]);
    const wanted = offered[rng.int(offered.length)];
    const turns = [{ said: 'look', seen: 'A desk 1 and a shelf 2.' }];
    return { goal: `fetch the ${wanted}`, text: 'A desk 1.', turns, admissible: offered.map((one) => `take ${one} 1`) };
  });
}

const rightOf = ({ goal, admissible }: TextSituation) =>
  admissible.findIndex((command) => command.includes(goal.split(' ')[2]));

describe('words', () => {
  it('are in lower case, and numbers name things', () => {
    expect(tokensOf('Go to the Desk 1, then "arm-chair 12"!')).toEqual([
      'go',
      'to',
      'the',
      'desk',
      'desk 1',
      'then',
      'arm',
      'chair',
      'chair 12',
    ]);
    expect(['desk', 'desk 1'].map(isNumbered)).toEqual([false, true]);
  });
});

describe('a situation', () => {
  const settings = { vocabulary: 512, history: 4 };
  const situation: TextSituation = {
    goal: 'put the book on desk 1',
    text: 'You see a book 2.',
    turns: [
      { said: 'go to shelf 1', seen: 'Nothing.' },
      { said: 'go to shelf 2', seen: 'You see a book 2.' },
    ],
    admissible: ['go to shelf 1', 'take book 2 from shelf 2', 'look'],
  };
  const counts = ({ counts }: EncodedSituation) =>
    [0, 1, 2].map((i) => [...counts.slice(i * COUNTS, (i + 1) * COUNTS)]);

  it('counts whether a command was said, how long ago, and how much of it was named where', () => {
    const rows = counts(encodeSituation(situation, settings)).map((row) =>
      row.map((value) => Number(value.toFixed(3))),
    );
    // Said once, two turns ago; all its words were in what was said of late. "shelf 1" was named before, and nothing was seen there.
    expect(rows[0]).toEqual([1, 0.25, 0.5, 0, 0, 1, 1, 0.5, 0.04, 0, 0, 1, 1, 0]);
    // "book" of six words is in the goal, "book 2" of two things in the text, "shelf 2" of two was named before; a book waits there.
    expect(rows[1]).toEqual([0, 0, 0, 0.167, 0.5, 0.333, 0.5, 1, 0.04, 1, 0, 0, 1, 0.5]);
    expect(rows[2]).toEqual([0, 0, 0, 0, 0, 0, 0, 0, 0.04, 0, 0, 0, 0, 0]);
  });

  it.each([0, 257])('with %i commands is refused', (count) => {
    const admissible = Array.from({ length: count }, (_, i) => `go to ${i}`);
    const error = expect.objectContaining({ code: 'DOMAIN_UNFIT' });
    expect(() => encodeSituation({ ...situation, admissible }, settings)).toThrow(error);
  });

  it('shares a batch with others until either rows or commands are full', () => {
    const of = (length: number) => ({ commandScales: new Float32Array(length) }) as EncodedSituation;
    const packed = (sizes: readonly number[]) => new RelevanceNetwork(relevanceSchema.parse({})).packed(sizes.map(of));
    expect(packed([200, 1848, 1, 3])).toEqual([
      [0, 1],
      [2, 3],
    ]);
    expect(packed(Array(65).fill(2)).map(({ length }) => length)).toEqual([64, 1]);
  });
});

describe('the relevance network', () => {
  it('has in training the log-probabilities of the rollout, to the bit', async () => {
    // Two learners of the same weights: one told the rollout's own log-probabilities, the other told them a hair higher.
    const learner = await relevance(1);
    const all = situations(150, 2);
    const decisions = await learner.policy.decide(all, draws(150, 3));
    const lessons = all.map((situation, i): TextLesson => ({ situation, ...decisions[i], advantage: 1 }));
    const same = await learner.update(lessons, { lr: 1e-12 });
    const off = await learner.update(
      lessons.map((lesson) => ({ ...lesson, logProb: lesson.logProb! + 1e-3 })),
      { lr: 1e-12 },
    );
    expect(same.gradientSteps).toBe(10);
    // exp(0) - 1 - 0 for every choice; what rounds otherwise would show here.
    expect(same.kl).toBe(0);
    expect(off.kl).toBeGreaterThan(1e-7);
    await learner.close();
  });

  it('imitates choices, and does so where it was not shown', async () => {
    const learner = await relevance(1);
    const lessons = situations(192, 6).map((situation) => ({ situation, choice: rightOf(situation) }));
    for (let epoch = 0; epoch < 6; epoch++) await learner.update(lessons, { lr: 5e-3 });
    const unseen = situations(128, 7);
    const decisions = await learner.policy.decide(unseen);
    const right = decisions.filter(({ choice }, i) => choice === rightOf(unseen[i])).length;
    expect(right).toBeGreaterThan(120);
    await learner.close();
  });

  it('goes on from its state to the same bytes, and refuses one that does not fit', async () => {
    const [learner, other] = [await relevance(1), await relevance(2)];
    const lessons = situations(100, 12).map((situation) => ({ situation, choice: rightOf(situation) }));
    await learner.update(lessons, { lr: 1e-3 });
    other.restore(learner.state());
    expect(other.policy.version).toBe(learner.policy.version);
    await learner.update(lessons, { lr: 1e-3 });
    await other.update(lessons, { lr: 1e-3 });
    expect(other.state()).toEqual(learner.state());
    const { meta, arrays } = learner.state();
    const cut = { meta, arrays: { ...arrays, m: arrays.m.slice(1) } };
    expect(() => other.restore(cut)).toThrow(expect.objectContaining({ code: 'CHECKPOINT_CORRUPT' }));
    expect(other.state()).toEqual(learner.state());
    await Promise.all([learner.close(), other.close()]);
  });

  it('moves towards what was better and away from what was worse', async () => {
    const learner = await relevance(1);
    const all = situations(64, 8);
    const logProbs = async () => (await learner.policy.decide(all, draws(64, 9))).map(({ logProb }) => logProb);
    const decisions = await learner.policy.decide(all, draws(64, 9));
    const advantages = all.map((situation, i) => (decisions[i].choice === rightOf(situation) ? 1 : -1));
    const lessons = all.map((situation, i) => ({ situation, ...decisions[i], advantage: advantages[i] }));
    const before = await logProbs();
    const { clipFraction } = await learner.update(lessons, { lr: 1e-3 });
    expect(clipFraction).toBe(0);
    const after = await learner.policy.decide(all);
    const sum = (values: number[]) => values.reduce((a, b) => a + b, 0);
    const right = after.filter(({ choice }, i) => choice === rightOf(all[i])).length;
    const rightBefore = advantages.filter((advantage) => advantage === 1).length;
    expect(right).toBeGreaterThan(rightBefore);
    expect(sum(before)).toBeLessThan(0);
    await learner.close();
  });

  it('is held to the reference by the KL penalty', async () => {
    const drift = async (klCoefficient: number) => {
      const learner = await relevance(1, { ...PLAIN, klCoefficient });
      const all = situations(64, 10);
      const first = await learner.policy.decide(all, draws(64, 11));
      const lessons = all.map((situation, i) => ({ situation, ...first[i], advantage: i % 2 === 0 ? 1 : -1 }));
      for (let epoch = 0; epoch < 10; epoch++) await learner.update(lessons, { lr: 1e-2 });
      const { kl } = await learner.update(lessons, { lr: 1e-2 });
      await learner.close();
      return kl;
    };
    expect(await drift(100)).toBeLessThan(0.5 * (await drift(0)));
  });
});
