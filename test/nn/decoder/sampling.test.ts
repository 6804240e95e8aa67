// Choosing tokens: shares as the model says.

import { afterAll, describe, expect, test } from 'vitest';
import { Rng } from '../../../src/core/rng.js';
import * as nn from '../nn.js';
import { TINY } from './fixture.js';

describe('generation', () => {
  const decoder = nn.Decoder.create(TINY, Rng.fromSeed(2));
  afterAll(() => decoder.sessions.release());

  test('chooses a token as often as the model says, and greedily without a draw', async () => {
    const draws = 2000;
    const prompt = [0, 8];
    const rng = Rng.fromSeed(1);
    const requests = Array.from({ length: draws }, (_, i) => ({ prompt, rng: rng.split(i) }));
    const counts = new Array(TINY.vocabSize).fill(0);
    const drawn = await decoder.generate(requests, { maxTokens: 1 });
    for (const { tokens } of drawn) counts[tokens[0]]++;
    const logProbs = await decoder.score(counts.map((_, token) => [...prompt, token]));
    counts.forEach((count, token) => {
      const share = Math.exp(logProbs[token][1]);
      // Four standard deviations of a share, and a draw.
      expect(Math.abs(count / draws - share)).toBeLessThanOrEqual(
        4 * Math.sqrt((share * (1 - share)) / draws) + 1 / draws,
      );
    });
    const [greedy] = await decoder.generate([{ prompt, rng }], { maxTokens: 1, temperature: 0 });
    const likeliest = logProbs.reduce((best, one, token) => (one[1] > logProbs[best][1] ? token : best), 0);
    expect(greedy.tokens).toEqual([likeliest]);
    expect(rng.state()).toEqual(Rng.fromSeed(1).state());
  });

  test('answers end where they must', async () => {
    const ends = async (options: nn.GenerateOptions, prompt = [0, 8]) =>
      (await decoder.generate([{ prompt, rng: Rng.fromSeed(4) }], options)).map(({ tokens, end }) => [
        tokens.length,
        end,
      ]);
    expect(await ends({ maxTokens: 5 })).toEqual([[5, 'length']]);
    expect(await ends({ maxTokens: 500 }, Array(60).fill(3))).toEqual([[5, 'length']]);
    await expect(ends({ maxTokens: 5 }, Array(65).fill(3))).rejects.toThrow(
      expect.objectContaining({ code: 'CONTEXT_TOO_LONG' }),
    );
    await expect(ends({ maxTokens: 5 }, [])).rejects.toThrow(/0 tokens/);
    await expect(ends({ maxTokens: 5 }, [TINY.vocabSize])).rejects.toThrow(/token 53/);
    const stopped = AbortSignal.abort(new Error('enough'));
    await expect(ends({ maxTokens: 5, signal: stopped })).rejects.toThrow('enough');
  });

  test('go on beside one whose context is full', async () => {
    const said = (prompts: number[][]) =>
      decoder.generate(
        prompts.map((prompt) => ({ prompt, rng: Rng.fromSeed(4) })),
        { maxTokens: 20 },
      );
    const all = await said([Array(63).fill(3), [0, 8], [0, 9]]);
    expect(all.map(({ tokens }) => tokens.length)).toEqual([2, 20, 20]);
    expect(all.slice(1)).toEqual(
      await said([
        [0, 8],
        [0, 9],
      ]),
    );
  });
});
