// One log-probability of a token: the same bytes when it is generated alone or in any company, with a cache or read at once, and what
// training says of it.

import { afterAll, describe, expect, test } from 'vitest';
import { Rng } from '../../../src/core/rng.js';
import { chainLength } from '../../../src/nn/decoder/network.js';
import * as nn from '../nn.js';
import { packAll, randomTokens, TINY } from './fixture.js';

const VARIANTS: [string, Partial<nn.DecoderConfig>][] = [
  ['heads that share keys in pairs', {}],
  ['one head of keys, width 32', { kvHeads: 1, headDim: 32 }],
  ['sums over more than a chain of the product', { hiddenSize: 288, intermediateSize: 520, vocabSize: 611 }],
];

const open: { release(): Promise<void> }[] = [];
afterAll(async () => {
  for (const each of open) await each.release();
});

/** What training says before its first step of documents that were generated: minus the mean log-probability of what was. */
async function saidByTraining(
  decoder: nn.Decoder,
  prompts: readonly number[][],
  generated: readonly nn.Generated[],
  training: Pick<nn.DecoderTraining, 'rows' | 'length'>,
) {
  const { config, theta } = decoder;
  const course = { ...training, steps: 2, warmupSteps: 0, learningRate: 1e-3 };
  const trainer = await nn.DecoderTrainer.create(config, course, Rng.fromSeed(0));
  trainer.state = { ...trainer.state, arrays: { ...trainer.state.arrays, theta } };
  open.push(trainer);
  const documents = prompts.map((prompt, i) => ({
    tokens: [...prompt, ...generated[i].tokens],
    weights: [...prompt.map(() => 0), ...generated[i].tokens.map(() => 1)],
  }));
  const batch = packAll(documents, trainer.shape);
  const { loss } = await trainer.train([batch, batch]);
  const counted = generated.flatMap(({ logProbs }) => logProbs);
  expect(loss[0]).toBeCloseTo(-counted.reduce((sum, logProb) => sum + logProb, 0) / counted.length, 5);
  expect(loss[1]).toBeLessThan(loss[0]);
  return batch;
}

/** Every token once more, as the first that follows all before it: no cache is written to. */
async function readAtOnce(decoder: nn.Decoder, prompt: readonly number[], { tokens, logProbs }: nn.Generated) {
  const prompts = tokens.map((_, i) => [...prompt, ...tokens.slice(0, i)]);
  const again = await decoder.generate(prompts, { maxTokens: 1 });
  expect(again.map((one) => [one.tokens[0], one.logProbs[0]])).toEqual(tokens.map((token, i) => [token, logProbs[i]]));
}

describe.each(VARIANTS)('%s', (name, change) => {
  const rng = Rng.fromSeed(5).split(name);
  const config = { ...TINY, ...change };
  const decoder = nn.Decoder.create(config, rng.split('weights'));
  open.push(decoder.sessions);
  const prompts = [3, 3, 10, 1, 27, 12].map((size, i) => randomTokens(rng.split('prompt', i), size, config.vocabSize));
  prompts[1] = prompts[0];

  test('generated in any company, read at once, and trained', async () => {
    const options = { maxTokens: 16, stop: [7] };
    const together = await decoder.generate(prompts, options);
    for (const [i, prompt] of prompts.entries()) {
      expect(await decoder.generate([prompt], options)).toEqual([together[i]]);
      await readAtOnce(decoder, prompt, together[i]);
    }
    const { places } = await saidByTraining(decoder, prompts, together, { rows: 4, length: 64 });
    expect(places.some(({ start }) => start > 0)).toBe(true);
  });
});

test('rows longer than a chain of the product', async () => {
  const config = { ...TINY, layers: 2, heads: 2, kvHeads: 1, headDim: 64, contextLength: 512 };
  const rng = Rng.fromSeed(6);
  const decoder = nn.Decoder.create(config, rng);
  open.push(decoder.sessions);
  expect(chainLength(config.headDim)).toBeLessThan(256);
  const prompts = [120, 250, 380].map((size) => randomTokens(rng.split('prompt', size), size));
  const generated = await decoder.generate(prompts, { maxTokens: 20 });
  await readAtOnce(decoder, prompts[1], generated[1]);
  await saidByTraining(decoder, prompts, generated, { rows: 3, length: 512 });
});
