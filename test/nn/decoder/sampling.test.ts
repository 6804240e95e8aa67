// Choosing tokens: shares as the model says, among the likely, along a trie.

import { afterAll, describe, expect, test } from 'vitest';
import { Rng } from '../../../src/core/rng.js';
import { chooseToken, type SamplingOptions } from '../../../src/nn/decoder/generation.js';
import * as nn from '../nn.js';
import { TINY } from './fixture.js';

const logProbs = Float32Array.from([0.1, 0.5, 0.05, 0.3, 0.05], Math.log);
const DRAWS = 20_000;

function shares(options: SamplingOptions, allowed?: readonly number[]): number[] {
  const rng = Rng.fromSeed(1);
  const counts = new Array(5).fill(0);
  for (let i = 0; i < DRAWS; i++) counts[chooseToken(logProbs, options, rng, allowed)]++;
  return counts.map((count) => count / DRAWS);
}

function expectShares(actual: readonly number[], expected: readonly number[]): void {
  // Four standard deviations of a share.
  actual.forEach((share, i) => {
    const deviation = Math.sqrt((expected[i] * (1 - expected[i])) / DRAWS);
    expect(Math.abs(share - expected[i])).toBeLessThanOrEqual(4 * deviation);
  });
}

describe('a token is chosen', () => {
  test('as often as it is likely', () => expectShares(shares({}), [0.1, 0.5, 0.05, 0.3, 0.05]));
  test('among the most likely', () => expectShares(shares({ topK: 2 }), [0, 0.625, 0, 0.375, 0]));
  test('among those that make up a share', () => expectShares(shares({ topP: 0.85 }), [1 / 9, 5 / 9, 0, 3 / 9, 0]));
  test('among those allowed', () => expectShares(shares({}, [0, 2, 4]), [0.5, 0, 0.25, 0, 0.25]));
  test('greedily without a draw', () => {
    const rng = Rng.fromSeed(1);
    expect(chooseToken(logProbs, { temperature: 0 }, rng)).toBe(1);
    expect(chooseToken(logProbs, { temperature: 0 }, rng, [2, 4])).toBe(2);
    expect(rng.state()).toEqual(Rng.fromSeed(1).state());
  });
  test('among those allowed, however unlikely they are', () => {
    const unlikely = Float32Array.of(0, -800, -900);
    const rng = Rng.fromSeed(1);
    expect(new Set(Array.from({ length: 50 }, () => chooseToken(unlikely, {}, rng, [1, 2])))).toEqual(new Set([1]));
  });
});

describe('generation', () => {
  const decoder = nn.Decoder.create(TINY, Rng.fromSeed(2));
  afterAll(() => decoder.sessions.release());

  test('keeps to what a constraint allows', async () => {
    const evens = Array.from({ length: TINY.vocabSize }, (_, i) => i).filter((token) => token % 2 === 0);
    const constraint = () => {
      let left = 3;
      const accept = () => void left--;
      return {
        allowed: () => evens,
        accept,
        get isComplete() {
          return left === 0;
        },
      };
    };
    const requests = [1, 2].map((i) => ({ prompt: [0, 8], rng: Rng.fromSeed(3).split(i), constraint: constraint() }));
    for (const { tokens, end } of await decoder.generate(requests, { maxTokens: 10 })) {
      expect([tokens.length, tokens.every((token) => token % 2 === 0), end]).toEqual([3, true, 'complete']);
    }
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
