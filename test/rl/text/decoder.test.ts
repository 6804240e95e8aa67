// A decoder that acts: its log-probabilities are those of training to the byte, it learns in a small game, and goes on to the same bytes.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { playTexts, textGroups } from '../../../src/algorithms/index.js';
import { Rng } from '../../../src/core/rng.js';
import { loadDecoder, trainTokenizer } from '../../../src/nn/index.js';
import type { TextLearner, TextLesson, TextSituation } from '../../../src/rl/index.js';
import { Transcript } from '../../../src/rl/text/decoder/transcript.js';
import { attic, attics, atticTraining, PLAIN, smallDecoder } from './attic-training.js';

const open: TextLearner[] = [];
afterAll(async () => {
  for (const learner of open) await learner.close();
});

async function opened(...given: Parameters<typeof smallDecoder>): Promise<TextLearner> {
  const learner = await smallDecoder(...given);
  open.push(learner);
  return learner;
}

/** Episodes of the attic by a fresh decoder, as lessons. */
async function lived(learner: TextLearner, count = 6, maxSteps = 15): Promise<TextLesson[]> {
  const domain = attics();
  const environments = Array.from({ length: count }, () => attic(domain, maxSteps));
  const starts = environments.map((_, i) => ({ task: 'book', seed: i, rng: Rng.fromSeed(i) }));
  const played = await playTexts(learner.policy, starts, { environments });
  return played.flatMap(({ steps }, e) =>
    steps.map(({ situation, choice, logProb, terms, value = 0 }) => {
      return { situation, choice, logProb, terms, advantage: e % 2 === 0 ? 1 : -1, target: value };
    }),
  );
}

describe('a decoder that acts', () => {
  it('has in training, and as its own reference, the log-probabilities of the rollout, to the byte', async () => {
    const learner = await opened(1, { ...PLAIN, klCoefficient: 0.1, valueCoefficient: 0.5 });
    // Longer than its context, so that turns are dropped; and each prompt is read on from the one before.
    const lessons = await lived(learner, 3, 25);
    expect(Math.max(...lessons.map(({ situation }) => situation.turns.length))).toBeGreaterThan(20);
    expect(await learner.logProbs(lessons)).toEqual(lessons.map(({ logProb }) => logProb));
    const { gradientSteps, ...same } = await learner.update(lessons, { lr: 1e-12 });
    expect(gradientSteps).toBeGreaterThan(2);
    expect(same).toMatchObject({ kl: 0, referenceKl: 0, clipFraction: 0, valueError: 0 });
    const off = lessons.map((lesson) => ({ ...lesson, terms: lesson.terms!.map((term) => term + 1e-3) }));
    expect((await learner.update(off, { lr: 1e-12 })).kl).toBeGreaterThan(1e-7);
  });

  it('chooses alike in any company, and without draws the most probable command', async () => {
    const learner = await opened(2);
    const situations = (await lived(learner)).map(({ situation }) => situation);
    const draws = situations.map((_, i) => (i + 0.5) / situations.length);
    const together = await learner.policy.decide(situations, draws);
    const other = await opened(2);
    other.prepare!([]);
    expect(await other.policy.decide(situations.slice(7, 8), draws.slice(7, 8))).toEqual([together[7]]);
    const [mode] = await learner.policy.decide(situations.slice(7, 8));
    // Evenly spaced draws find every command as often as it is probable.
    const many = Array.from({ length: 200 }, (_, i) => (i + 0.5) / 200);
    const decisions = await learner.policy.decide(
      many.map(() => situations[7]),
      many,
    );
    const found = new Map(decisions.map(({ choice, logProb }) => [choice, logProb]));
    const sum = [...found.values()].reduce((total, logProb) => total + Math.exp(logProb), 0);
    expect(sum).toBeCloseTo(1, 3);
    expect(mode.logProb).toBe(Math.max(...found.values()));
    for (const [choice, logProb] of found) {
      const share = decisions.filter((decision) => decision.choice === choice).length / 200;
      expect(Math.abs(share - Math.exp(logProb))).toBeLessThan(0.011);
    }

    // Weights that it had go on acting, whatever it learned since.
    const { weights } = other;
    await other.update([{ situation: situations[7], choice: 0 }], { lr: 1e-2 });
    expect(await other.policyOf(weights).decide(situations.slice(7, 8), draws.slice(7, 8))).toEqual([together[7]]);
    expect(other.policyOf(weights).version).toBe(learner.policy.version);
    expect(other.policy.version).not.toBe(learner.policy.version);
  });

  it('learns a game by imitation and GRPO, and again to the same bytes from a checkpoint', async () => {
    const clone = { tasks: 2, epochs: 20, lr: 5e-3 };
    const made = () => atticTraining({ clone, rounds: 3, groupSize: 6, network: smallDecoder });
    const { training, learner } = await made();
    open.push(learner);
    let kept: { state: ReturnType<TextLearner['state']>; progress: string } | undefined;
    const checkpoint = async () => {
      if (training.progress.round === 2) kept = { state: learner.state(), progress: JSON.stringify(training.progress) };
    };
    await textGroups({ ...training, ports: { ...training.ports, checkpoint } });
    const [nothing, cloning, rounds] = training.progress.evaluations;
    expect([nothing.wins, cloning.wins > 10, rounds.wins > 14]).toEqual([0, true, true]);
    expect(rounds.meanLength).toBeLessThan(cloning.meanLength);
    const again = await made();
    open.push(again.learner);
    again.learner.restore(kept!.state);
    await textGroups({ ...again.training, progress: JSON.parse(kept!.progress) });
    expect(again.learner.policy.version).toBe(learner.policy.version);
  });

  it('is exported as a folder that is loaded again, to go on from', async () => {
    const learner = await opened(3);
    const situations = (await lived(learner, 1)).map(({ situation }) => situation);
    const folder = await mkdtemp(join(tmpdir(), 'reverie-policy-'));
    try {
      await learner.export!(join(folder, 'policy'));
      const { decoder } = await loadDecoder(join(folder, 'policy'));
      await decoder.sessions.release();
      const further = await opened(4, PLAIN, { folder: join(folder, 'policy') });
      expect(await further.policy.decide(situations)).toEqual(await learner.policy.decide(situations));
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it('refuses states of others, and situations that it cannot read', async () => {
    const learner = await opened(5);
    const { meta, arrays } = learner.state();
    const cut = { meta, arrays: { ...arrays, m: arrays.m.slice(1) } };
    expect(() => learner.restore(cut)).toThrow(expect.objectContaining({ code: 'CHECKPOINT_CORRUPT' }));
    const situation: TextSituation = { goal: 'a', text: 'b', turns: [], admissible: [] };
    const failing = (admissible: string[]) => learner.policy.decide([{ ...situation, admissible }]);
    await expect(failing([])).rejects.toMatchObject({ code: 'TEXT_TOO_MANY_COMMANDS' });
    await expect(failing(['x'.repeat(200)])).rejects.toMatchObject({ code: 'CONTEXT_TOO_LONG' });
    const many = Array.from({ length: 20 }, (_, i) => `${String.fromCharCode(97 + i)}`);
    await expect(failing(many)).rejects.toMatchObject({ code: 'TEXT_CHOICES_TOO_MANY' });
    await expect(smallDecoder(1, PLAIN, { heads: 4, kvHeads: 3 })).rejects.toMatchObject({
      code: 'DECODER_CONFIG_INVALID',
    });
    await expect(smallDecoder(1, PLAIN, { folder: '/nowhere' })).rejects.toMatchObject({
      code: 'DECODER_FOLDER_INVALID',
    });
  });
});

describe('a transcript', () => {
  it('begins with those of earlier steps until the older half of its turns is dropped at once', () => {
    const tokenizer = trainTokenizer([], { size: 259 });
    const transcript = new Transcript(tokenizer, { context: 512, historyTurns: 4 });
    const turns = Array.from({ length: 9 }, (_, i) => ({ said: `go ${i}`, seen: `At ${i}.` }));
    const promptAt = (t: number) => {
      const text = t === 0 ? 'Hello.' : turns[t - 1].seen;
      const prompt = transcript.prompt(
        { goal: 'Win!', opening: 'Hello.', text, turns: turns.slice(0, t), admissible: [] },
        9,
      );
      return { ...prompt, text: tokenizer.decode(prompt.tokens, { withSpecials: true }) };
    };
    expect(promptAt(1).text).toBe('<|begin|>Win!\nHello.\n> go 0<|end|>\nAt 0.\n>');
    expect(promptAt(5).text).toBe('<|begin|>Win!\n> go 2<|end|>\nAt 2.\n> go 3<|end|>\nAt 3.\n> go 4<|end|>\nAt 4.\n>');
    for (const [earlier, later] of [
      [0, 4],
      [5, 6],
      [7, 8],
    ]) {
      const [before, after] = [promptAt(earlier), promptAt(later)];
      expect(after.text.startsWith(before.text)).toBe(true);
      expect(after.ends).toContain(before.tokens.length);
    }
  });
});
