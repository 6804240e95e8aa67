// What every network of ours that chooses among commands must do: rollout and training agree to the bit, choices do not depend on who
// decides beside it, what is shown is learned, and a run goes on from its state.

import { expect, it } from 'vitest';
import { Rng } from '../../../src/core/rng.js';
import type { TextLearner, TextLesson, TextSituation } from '../../../src/rl/text/text-policy.js';

export interface NetworkCase {
  make(seed: number): Promise<TextLearner>;
  situations(count: number, seed: number): TextSituation[];
  rightOf(situation: TextSituation): number;
  /** Gradient steps of one pass over 150 situations. */
  readonly steps: number;
}

export const draws = (count: number, seed: number) => {
  const rng = Rng.fromSeed(seed);
  return Array.from({ length: count }, () => rng.uniform());
};

export function networkContract({ make, situations, rightOf, steps }: NetworkCase): void {
  it('has in training the log-probabilities of the rollout, to the bit', async () => {
    // Two learners of the same weights: one told the rollout's own log-probabilities, the other told them a hair higher.
    const learner = await make(1);
    const all = situations(150, 2);
    const decisions = await learner.policy.decide(all, draws(150, 3));
    const lessons = all.map((situation, i): TextLesson => ({ situation, ...decisions[i], advantage: 1 }));
    const same = await learner.update(lessons, { lr: 1e-12 });
    const off = await learner.update(
      lessons.map((lesson) => ({ ...lesson, logProb: lesson.logProb! + 1e-3 })),
      { lr: 1e-12 },
    );
    expect(same.gradientSteps).toBe(steps);
    // exp(0) - 1 - 0 for every choice; what rounds otherwise would show here.
    expect(same.kl).toBe(0);
    expect(off.kl).toBeGreaterThan(1e-7);
    await learner.close();
  });

  it('acts with weights that it had, whatever it learned since', async () => {
    const learner = await make(1);
    const all = situations(20, 2);
    const asked = draws(20, 3);
    const { weights, policy } = learner;
    const first = { version: policy.version, decisions: await policy.decide(all, asked) };
    const choices = all.map((situation, i) => ({ situation, choice: first.decisions[i].choice }));
    expect(await learner.logProbs(choices)).toEqual(first.decisions.map(({ logProb }) => logProb));
    await learner.update(choices, { lr: 1e-2 });
    const older = learner.policyOf(weights);
    expect({ version: older.version, decisions: await older.decide(all, asked) }).toEqual(first);
    expect(policy.version).not.toBe(first.version);
    expect(await learner.logProbs(choices)).not.toEqual(first.decisions.map(({ logProb }) => logProb));
    await learner.close();
  });

  it('chooses alike however many decide beside it, and without draws the most probable', async () => {
    const learner = await make(1);
    const all = situations(130, 4);
    const together = await learner.policy.decide(all, draws(130, 5));
    const alone = await learner.policy.decide([all[77]], [draws(130, 5)[77]]);
    expect(alone[0].choice).toBe(together[77].choice);
    expect(alone[0].logProb).toBeCloseTo(together[77].logProb, 6);
    const [mode] = await learner.policy.decide([all[3]]);
    const others = await Promise.all([0.05, 0.35, 0.65, 0.95].map((draw) => learner.policy.decide([all[3]], [draw])));
    for (const [other] of others) expect(mode.logProb).toBeGreaterThanOrEqual(other.logProb);
    await learner.close();
  });

  it('imitates choices, and does so where it was not shown', async () => {
    const learner = await make(1);
    const lessons = situations(256, 6).map((situation) => ({ situation, choice: rightOf(situation) }));
    for (let epoch = 0; epoch < 6; epoch++) await learner.update(lessons, { lr: 5e-3 });
    const unseen = situations(128, 7);
    const decisions = await learner.policy.decide(unseen);
    const right = decisions.filter(({ choice }, i) => choice === rightOf(unseen[i])).length;
    expect(right).toBeGreaterThan(120);
    await learner.close();
  });

  it('goes on from its state to the same bytes, and refuses one that does not fit', async () => {
    const [learner, other] = [await make(1), await make(2)];
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
}
