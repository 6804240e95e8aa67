// One log-probability of a token: the same bytes when it is generated, scored and trained, alone or in any company.

import { afterAll, describe, expect, test } from 'vitest';
import { Rng } from '../../../src/core/rng.js';
import { chainLength } from '../../../src/nn/decoder/network.js';
import * as nn from '../nn.js';
import { randomTokens, TINY } from './fixture.js';

const LEARNING_RATE = 1e-3;

/** What training says of the documents before a step: minus the mean log-probability of their targets. */
function lossOf(scores: readonly Float32Array[], from: readonly number[]): number {
  const counted = scores.flatMap((logProbs, i) => Array.from(logProbs.slice(from[i])));
  return -counted.reduce((sum, logProb) => sum + logProb, 0) / counted.length;
}

const VARIANTS: [string, Partial<nn.DecoderConfigInput>][] = [
  ['heads that share keys in pairs', {}],
  ['heads with keys of their own', { kvHeads: 4, headDim: 16 }],
  ['one head of keys, width 32, own output layer', { kvHeads: 1, headDim: 32, tieEmbeddings: false }],
  ['one layer', { layers: 1, heads: 1, kvHeads: 1, headDim: 64, hiddenSize: 64 }],
  ['sums over more than a chain of the product', { hiddenSize: 288, intermediateSize: 520, vocabSize: 611 }],
];

const open: { release(): Promise<void> }[] = [];
afterAll(async () => {
  for (const each of open) await each.release();
});

describe.each(VARIANTS)('%s', (name, change) => {
  const rng = Rng.fromSeed(5).split(name);
  const config = { ...TINY, ...change };
  const decoder = nn.Decoder.create(config, rng.split('weights'));
  open.push(decoder.sessions);
  const prompts = [3, 3, 10, 1, 27, 12].map((size, i) => randomTokens(rng.split('prompt', i), size, config.vocabSize));
  prompts[1] = prompts[0];
  const requests = () => prompts.map((prompt, i) => ({ prompt, rng: rng.split('row', i) }));

  test.each([1, 0.7])('generated, scored and trained at temperature %s', async (temperature) => {
    const generated = await decoder.generate(requests(), { maxTokens: 25, temperature, stop: [7] });
    const documents = prompts.map((prompt, i) => ({
      tokens: [...prompt, ...generated[i].tokens],
      weights: [...prompt.map(() => 0), ...generated[i].tokens.map(() => 1)],
    }));
    const scores = await decoder.score(
      documents.map(({ tokens }) => tokens),
      { temperature },
    );
    generated.forEach(({ logProbs }, i) => {
      expect(Array.from(scores[i].slice(prompts[i].length - 1))).toEqual(logProbs);
    });
    const trainer = await nn.DecoderTrainer.create({
      ...{ config, start: { theta: decoder.theta }, sessions: decoder.sessions },
      training: { rows: 4, length: 64, steps: 2, temperature, warmupSteps: 0 },
    });
    open.push(trainer);
    const batch = nn.packAll(documents, trainer.shape);
    const { loss } = await trainer.train([batch, batch], LEARNING_RATE);
    expect(batch.places.some(({ start }) => start > 0)).toBe(true);
    const from = prompts.map((prompt) => prompt.length - 1);
    expect(loss[0]).toBeCloseTo(lossOf(scores, from), 5);
    expect(loss[1]).toBeLessThan(loss[0]);
  });

  test('in any company', async () => {
    const options = { maxTokens: 25 };
    const together = await decoder.generate(requests(), options);
    for (const [i, request] of requests().entries()) {
      expect(await decoder.generate([request], options)).toEqual([together[i]]);
    }
    const longer = prompts.filter((prompt) => prompt.length > 1);
    const scores = await decoder.score(longer);
    for (const [i, prompt] of longer.entries()) expect(await decoder.score([prompt])).toEqual([scores[i]]);
  });
});

describe('rows longer than a chain of the product', () => {
  const config = { ...TINY, layers: 2, heads: 2, kvHeads: 1, headDim: 64, contextLength: 512 };
  const rng = Rng.fromSeed(6);
  const decoder = nn.Decoder.create(config, rng);
  open.push(decoder.sessions);

  test('packed', async () => {
    expect(chainLength(config.headDim)).toBeLessThan(256);
    const sizes = [100, 90, 100, 300, 60, 90];
    const documents = sizes.map((size, i) => ({ tokens: randomTokens(rng.split(i), size + 1) }));
    const scores = await decoder.score(documents.map(({ tokens }) => tokens));
    const trainer = await nn.DecoderTrainer.create({
      ...{ config, start: { theta: decoder.theta }, sessions: decoder.sessions },
      training: { rows: 3, length: 512, steps: 1 },
    });
    open.push(trainer);
    const batch = nn.packAll(documents, trainer.shape);
    const { loss } = await trainer.train([batch]);
    expect(loss[0]).toBeCloseTo(
      lossOf(
        scores,
        scores.map(() => 0),
      ),
      5,
    );
  });

  test('generated', async () => {
    const prompts = [120, 250, 380].map((size) => randomTokens(rng.split('prompt', size), size));
    const requests = prompts.map((prompt, i) => ({ prompt, rng: rng.split('row', i) }));
    const generated = await decoder.generate(requests, { maxTokens: 20 });
    const scores = await decoder.score(prompts.map((prompt, i) => [...prompt, ...generated[i].tokens]));
    generated.forEach(({ logProbs }, i) => {
      expect(Array.from(scores[i].slice(prompts[i].length - 1))).toEqual(logProbs);
    });
  });
});
