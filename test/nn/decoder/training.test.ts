// Training: it learns, it goes on to the byte, what is masked does not count, and what lies side by side does not meet.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { Rng } from '../../../src/core/rng.js';
import { temporaryFolder } from '../../temporary-folder.js';
import * as nn from '../nn.js';
import { documentOf, householdTexts, packAll, randomTokens, TINY } from './fixture.js';

const open: { release(): Promise<void> }[] = [];
const folder = temporaryFolder('decoder');
afterAll(async () => {
  for (const each of open) await each.release();
});

async function trainerOf(
  config: nn.DecoderConfig,
  training: nn.DecoderTraining,
  rng = Rng.fromSeed(5),
): Promise<nn.DecoderTrainer> {
  const trainer = await nn.DecoderTrainer.create(config, training, rng);
  open.push(trainer, trainer.decoder().sessions);
  return trainer;
}

test('a small decoder learns to say again what it read', async () => {
  const texts = householdTexts(200);
  const tokenizer = nn.trainTokenizer(texts, { size: 300 });
  const training = { rows: 4, length: 64, steps: 150, warmupSteps: 10, learningRate: 5e-3 };
  const trainer = await trainerOf({ ...TINY, vocabSize: tokenizer.size }, training, Rng.fromSeed(1));
  const documents = texts.map((text) => documentOf(tokenizer, text));
  const corpus = new nn.PackedCorpus(documents, trainer.shape, Rng.fromSeed(2));
  const losses: number[] = [];
  for (let step = 0; step < 150; step += 10) {
    const { loss } = await trainer.train(Array.from({ length: 10 }, (_, i) => corpus.batch(step + i)));
    losses.push(...loss);
  }
  expect(losses[0]).toBeGreaterThan(4);
  expect(losses.at(-1)!).toBeLessThan(1);
  const decoder = trainer.decoder();
  const prompt = [tokenizer.special.begin, ...tokenizer.encode('put mug in shelf 2 =>')];
  const stop = [tokenizer.special.end];
  const [greedy] = await decoder.generate([prompt], { maxTokens: 20, stop });
  expect(tokenizer.decode(greedy.tokens)).toBe(' The mug is in the shelf 2.');
  expect(greedy.tokens.at(-1)).toBe(tokenizer.special.end);
});

describe('a training', () => {
  const rng = Rng.fromSeed(4);
  const documents = Array.from({ length: 30 }, (_, i) => ({ tokens: randomTokens(rng.split(i), 5 + ((i * 7) % 30)) }));
  const training = { rows: 2, length: 64, steps: 12, warmupSteps: 4, learningRate: 2e-3 };

  test('is the same in one run, step by step, and resumed from its folder', async () => {
    const whole = await trainerOf(TINY, training);
    const corpus = new nn.PackedCorpus(documents, whole.shape, Rng.fromSeed(6));
    const batches = Array.from({ length: 6 }, (_, i) => corpus.batch(i));
    const { loss } = await whole.train(batches);
    const first = await trainerOf(TINY, training);
    for (const batch of batches.slice(0, 3)) await first.train([batch]);
    await nn.saveTraining(folder, first);
    const second = await trainerOf(TINY, training, Rng.fromSeed(99));
    await nn.resumeTraining(folder, second);
    expect(second.step).toBe(3);
    const again = new nn.PackedCorpus(documents, second.shape, Rng.fromSeed(6));
    const rest = await second.train([3, 4, 5].map((step) => again.batch(step)));
    expect(rest['loss']).toEqual(loss.slice(3));
    expect(second.state).toEqual(whole.state);
  });

  test('goes on from no other training', async () => {
    const other = await trainerOf(TINY, { ...training, learningRate: 1e-3 });
    await nn.saveTraining(folder, await trainerOf(TINY, training));
    await expect(nn.resumeTraining(folder, other)).rejects.toThrow(/learningRate 0.002, not 0.001/);
    await writeFile(join(folder, 'training.safetensors'), 'cut off');
    await expect(nn.resumeTraining(folder, await trainerOf(TINY, training))).rejects.toThrow(
      /was changed after it was written/,
    );
  });

  test('does not count what has no weight', async () => {
    const trainer = await trainerOf(TINY, training);
    const [a, b] = [documents[3].tokens, documents[4].tokens];
    const start = trainer.state;
    const weights = a.map((_, i) => (i < 4 ? 0 : 1));
    const { loss } = await trainer.train([
      packAll(
        [
          { tokens: a, weights },
          { tokens: b, weights: b.map(() => 0) },
        ],
        trainer.shape,
      ),
    ]);
    trainer.state = start;
    const alone = await trainer.train([packAll([{ tokens: a, weights }], trainer.shape)]);
    expect(alone.loss[0]).toBeCloseTo(loss[0], 6);
    trainer.state = start;
    const whole = await trainer.train([packAll([{ tokens: a }], trainer.shape)]);
    expect(whole.loss[0]).not.toBeCloseTo(loss[0], 3);
  });

  test('diverges without harm', async () => {
    const trainer = await trainerOf(TINY, training);
    const batch = packAll(documents.slice(0, 2), trainer.shape);
    const before = trainer.state;
    const { gradientNorm } = await trainer.train([batch]);
    expect(gradientNorm[0]).toBeGreaterThan(0.1);
    const wrong = { ...batch, weights: batch.weights.map(() => Number.NaN) };
    const after = trainer.state;
    expect(after).not.toEqual(before);
    await expect(trainer.train([wrong])).rejects.toThrow(expect.objectContaining({ code: 'NON_FINITE_VALUE' }));
    expect(trainer.state).toBe(after);
  });
});
