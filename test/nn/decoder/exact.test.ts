// One log-probability of a token: the same bytes when it is generated, scored and trained, alone or in any company.

import { afterAll, describe, expect, test } from 'vitest';
import { Rng } from '../../../src/core/rng.js';
import { chainLength } from '../../../src/nn/decoder/attention.js';
import * as nn from '../../../src/nn/index.js';
import { randomTokens, TINY } from './fixture.js';

/** Tells how far the log-probabilities of training are from earlier ones, as policy gradients compare them. */
const probe: nn.DecoderLoss = {
  name: 'probe',
  perToken: ['old'],
  build: ({ logProbs, weights, perToken }) => {
    const difference = nn.sub(logProbs, perToken['old']);
    const ratio = nn.exp(difference);
    // Schulman's estimate of the divergence (k3).
    const divergence = nn.sub(nn.sub(ratio, 1), difference);
    return {
      loss: nn.neg(nn.weightedMean(logProbs, weights)),
      metrics: {
        furthest: nn.reduceMax(nn.mul(nn.abs(difference), weights)),
        divergence: nn.weightedMean(divergence, weights),
      },
    };
  },
};

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
    const old = generated.map(({ logProbs }, i) => [...prompts[i].slice(1).map(() => 0), ...logProbs]);
    generated.forEach(({ logProbs }, i) => {
      expect(Array.from(scores[i].slice(prompts[i].length - 1))).toEqual(logProbs);
    });
    const trainer = await nn.DecoderTrainer.create({
      ...{ config, loss: probe, start: { theta: decoder.theta }, sessions: decoder.sessions },
      training: { rows: 4, length: 64, steps: 2, temperature, warmupSteps: 0 },
    });
    open.push(trainer);
    const batch = nn.packAll(documents, trainer.shape);
    const perToken = { old: nn.spread(batch, trainer.shape, (document) => old[document]) };
    const { furthest, divergence } = await trainer.train([
      { ...batch, perToken },
      { ...batch, perToken },
    ]);
    expect(batch.places.some(({ start }) => start > 0)).toBe(true);
    expect([furthest[0], divergence[0]]).toEqual([0, 0]);
    expect(furthest[1]).toBeGreaterThan(1e-3);
  });

  test('continued from keys and values of what came before', async () => {
    const sequences = [60, 9, 41, 23].map((size, i) => randomTokens(rng.split('turns', i), size, config.vocabSize));
    const scores = await decoder.score(sequences);
    const pasts = sequences.map(() => new Float32Array(0));
    // Turns of different lengths, so that rows of a batch have more or less before them.
    for (const cuts of [
      [7, 1, 20, 3],
      [8, 3, 21, 20],
      [19, 8, 40, 22],
      [59, 8, 40, 22],
    ]) {
      const rows = sequences.flatMap((tokens, i) => {
        const at = pasts[i].length / nn.tokenSizeOf(decoder.config);
        return cuts[i] > at ? [{ i, past: pasts[i], tokens: tokens.slice(at, cuts[i]) }] : [];
      });
      for (const [k, { logProbs, newRows }] of (await decoder.extend(rows)).entries()) {
        const { i } = rows[k];
        pasts[i] = Float32Array.from([...pasts[i], ...newRows]);
        expect(logProbs[sequences[i][cuts[i]]]).toBe(scores[i][cuts[i] - 1]);
      }
    }
  });

  test('all at once, scored behind blanks and trained', async () => {
    const [blank, stop] = [9, 7];
    const answers = await decoder.answerAtOnce(prompts, { blank, places: 12, stop });
    const blanked = answers.map(({ tokens }, i) => [...prompts[i], ...tokens.map(() => blank)]);
    for (const [i, { tokens, logProbs }] of answers.entries()) {
      const behind = tokens.map((token, place) => [...blanked[i].slice(0, prompts[i].length + place), token]);
      const scores = await decoder.score(behind);
      expect(scores.map((score) => score[score.length - 1])).toEqual(logProbs);
      expect(await decoder.answerAtOnce([prompts[i]], { blank, places: 12, stop })).toEqual([answers[i]]);
    }
    const documents = prompts.map((prompt, i) => ({
      tokens: [...prompt, ...answers[i].tokens],
      shown: blanked[i],
      weights: blanked[i].map((_, at) => (at < prompt.length ? 0 : 1)),
    }));
    const trainer = await nn.DecoderTrainer.create({
      ...{ config, loss: probe, start: { theta: decoder.theta }, sessions: decoder.sessions },
      training: { rows: 4, length: 64, steps: 1, warmupSteps: 0 },
    });
    open.push(trainer);
    const batch = nn.packAll(documents, trainer.shape);
    const old = nn.spread(batch, trainer.shape, (i) => [...prompts[i].slice(1).map(() => 0), ...answers[i].logProbs]);
    const { furthest } = await trainer.train([{ ...batch, perToken: { old } }]);
    expect(furthest[0]).toBe(0);
  });

  test('in any company', async () => {
    const options = { maxTokens: 25, topK: 20, topP: 0.9 };
    const together = await decoder.generate(requests(), options);
    for (const [i, request] of requests().entries()) {
      expect(await decoder.generate([request], options)).toEqual([together[i]]);
    }
    const longer = prompts.filter((prompt) => prompt.length > 1);
    const scores = await decoder.score(longer);
    for (const [i, prompt] of longer.entries()) expect(await decoder.score([prompt])).toEqual([scores[i]]);
  });
});

describe('among the choices of a trie', () => {
  const END = 9;
  const rng = Rng.fromSeed(8);
  const commands = Array.from({ length: 40 }, (_, i) =>
    randomTokens(rng.split('command', i), 1 + rng.int(6)).map((t) => t + 10),
  );
  const config = { ...TINY, vocabSize: 63 };
  const decoder = nn.Decoder.create(config, rng.split('weights'));
  open.push(decoder.sessions);
  const trie = new nn.TokenTrie(commands, END);
  const choices = 40;
  const prompts = [3, 3, 10, 27].map((size, i) => randomTokens(rng.split('prompt', i), size, config.vocabSize));

  test('generated, scored and trained', async () => {
    const requests = prompts.map((prompt, i) => ({ prompt, rng: rng.split('row', i), constraint: trie.constraint() }));
    const options = { maxTokens: 10, choices, temperature: 1.3, stop: [END] };
    const generated = await decoder.generate(requests, options);
    const documents = prompts.map((prompt, i) => ({
      tokens: [...prompt, ...generated[i].tokens],
      weights: [...prompt.map(() => 0), ...generated[i].tokens.map(() => 1)],
    }));
    const choicesOf = (i: number) => [...prompts[i].slice(1).map(() => undefined), ...generated[i].choices!];
    const tokens = documents.map((document) => document.tokens);
    const scores = await decoder.score(tokens, { temperature: 1.3, choices, choicesOf });
    const free = await decoder.score(tokens, { temperature: 1.3 });
    generated.forEach(({ logProbs }, i) => {
      const from = prompts[i].length - 1;
      expect(Array.from(scores[i].slice(from))).toEqual(logProbs);
      expect(scores[i].slice(0, from)).toEqual(free[i].slice(0, from));
      logProbs.forEach((logProb, at) => {
        expect(logProb).toBeGreaterThan(free[i][from + at]);
      });
    });
    const trainer = await nn.DecoderTrainer.create({
      ...{ config, start: { theta: decoder.theta }, sessions: decoder.sessions },
      loss: { ...probe, choices },
      training: { rows: 2, length: 64, steps: 2, temperature: 1.3, warmupSteps: 0 },
    });
    open.push(trainer);
    const packed = nn.packAll(documents, trainer.shape);
    const batch = {
      ...packed,
      choices: nn.spreadChoices(packed, trainer.shape, choices, choicesOf),
      perToken: { old: nn.spread(packed, trainer.shape, (i) => scores[i]) },
    };
    const { furthest, divergence } = await trainer.train([batch, batch]);
    expect([furthest[0], divergence[0]]).toEqual([0, 0]);
    expect(furthest[1]).toBeGreaterThan(1e-3);
  });

  test('the probabilities of all texts sum to 1', async () => {
    const different = [...new Set(commands.map((command) => command.join()))].map((text) =>
      text.split(',').map(Number),
    );
    const sequences = different.map((command) => [...prompts[0], ...command, END]);
    const choicesOf = (i: number) => {
      const constraint = trie.constraint();
      const along = [...different[i], END].map((token) => {
        const allowed = constraint.allowed();
        constraint.accept(token);
        return allowed;
      });
      return [undefined, undefined, ...along];
    };
    const scores = await decoder.score(sequences, { choices, choicesOf });
    const shares = scores.map((logProbs) => Math.exp(logProbs.slice(2).reduce((sum, x) => sum + x, 0)));
    expect(shares.reduce((sum, share) => sum + share, 0)).toBeCloseTo(1, 5);
  });

  test('more of them than fit, or none, are refused', async () => {
    const request = { prompt: [1], rng, constraint: trie.constraint() };
    await expect(decoder.generate([request], { maxTokens: 3, choices: 2 })).rejects.toThrow(/choices where 1 to 2 fit/);
    await expect(decoder.generate([{ prompt: [1], rng }], { maxTokens: 3, choices })).rejects.toThrow(/without any/);
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
      ...{ config, loss: probe, start: { theta: decoder.theta }, sessions: decoder.sessions },
      training: { rows: 3, length: 512, steps: 1 },
    });
    open.push(trainer);
    const batch = nn.packAll(documents, trainer.shape);
    const perToken = { old: nn.spread(batch, trainer.shape, (document) => scores[document]) };
    const { furthest } = await trainer.train([{ ...batch, perToken }]);
    expect(furthest[0]).toBe(0);
  });

  test('continued, beside others that fit in a chain', async () => {
    const sequences = [500, 380, 380, 70].map((size) => randomTokens(rng.split('turns', size), size));
    const cuts = [300, 250, 250, 20];
    const scores = await decoder.score(sequences);
    const begun = await decoder.extend(
      sequences.map((tokens, i) => ({ past: new Float32Array(0), tokens: tokens.slice(0, cuts[i]) })),
    );
    const rows = sequences.map((tokens, i) => ({ past: begun[i].newRows, tokens: tokens.slice(cuts[i], -1) }));
    const continued = await decoder.extend(rows);
    continued.forEach(({ logProbs }, i) => {
      expect(logProbs[sequences[i].at(-1)!]).toBe(scores[i].at(-1));
    });
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
