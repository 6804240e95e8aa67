// What every language of tokens must do: whatever is generated is of it, whole within its room, with the log-probabilities that scoring
// tells of the same tokens among the same choices, to the byte, and again from the same seed.

import { expect, it } from 'vitest';
import { Rng } from '../../../src/core/rng.js';
import * as nn from '../../../src/nn/index.js';

export interface LanguageCase {
  readonly language: nn.TokenLanguage;
  /** Ends each sequence. */
  readonly end: number;
  readonly vocabSize: number;
  /** Whether tokens, without the end, are a text of the language. */
  has(tokens: readonly number[]): boolean;
  /** More than the shortest text takes, and less than the longest. */
  readonly room: number;
}

const ROWS = 8;
const PROMPT = [1, 2, 3];

export function languageContract({ language, end, vocabSize, has, room }: LanguageCase): void {
  const decoder = nn.Decoder.create(
    {
      ...{ vocabSize, hiddenSize: 16, intermediateSize: 32, layers: 1, heads: 2, kvHeads: 1, headDim: 8 },
      contextLength: PROMPT.length + 200,
    },
    Rng.fromSeed(5),
  );
  const requests = (most: number | undefined, rows = Array.from({ length: ROWS }, (_, i) => i)) =>
    rows.map((i) => ({
      ...{ prompt: PROMPT, rng: Rng.fromSeed(6).split(i) },
      constraint: language.constraint(most),
    }));
  const among = { choices: language.choices, stop: [end] };

  it('generates texts of the language, whole within the room', async () => {
    for (const temperature of [1, 0, 3]) {
      const generated = await decoder.generate(requests(room), { ...among, temperature, maxTokens: room });
      for (const { tokens, end: reason } of generated) {
        expect(reason).toBe('stop');
        expect(tokens.at(-1)).toBe(end);
        expect(has(tokens.slice(0, -1))).toBe(true);
      }
    }
  });

  it('tells log-probabilities among what was allowed, and scoring tells the same bytes', async () => {
    for (const temperature of [1, 0.7]) {
      const generated = await decoder.generate(requests(room), { ...among, temperature, maxTokens: room });
      const choices = generated.map(({ tokens }) => nn.choicesAlong(language, tokens, room));
      expect(generated.map((row) => row.choices)).toEqual(choices);
      const scored = await decoder.score(
        generated.map(({ tokens }) => [...PROMPT, ...tokens]),
        {
          ...{ temperature, choices: language.choices },
          choicesOf: (row) => [...PROMPT.slice(1).map(() => undefined), ...choices[row]],
        },
      );
      expect(scored.map((row) => [...row.slice(PROMPT.length - 1)])).toEqual(generated.map(({ logProbs }) => logProbs));
      // Where nothing else could come, it was certain to.
      const forced = generated.flatMap(({ logProbs }, row) => logProbs.filter((_, i) => choices[row][i].length === 1));
      expect(forced.every((logProb) => logProb === 0)).toBe(true);
    }
  });

  it('without `choices` tells log-probabilities among all tokens', async () => {
    const generated = await decoder.generate(requests(room), { stop: [end], maxTokens: room });
    const scored = await decoder.score(generated.map(({ tokens }) => [...PROMPT, ...tokens]));
    expect(scored.map((row) => [...row.slice(PROMPT.length - 1)])).toEqual(generated.map(({ logProbs }) => logProbs));
  });

  it('generates the same again, in any company', async () => {
    const all = await decoder.generate(requests(room), { ...among, maxTokens: room });
    const some = await decoder.generate(requests(room, [6, 2]), { ...among, maxTokens: room });
    expect(some).toEqual([all[6], all[2]]);
    expect(new Set(all.map(({ tokens }) => tokens.join())).size).toBeGreaterThan(1);
  });

  it('refuses what is not of it', () => {
    const constraint = language.constraint();
    const allowed = constraint.allowed()!;
    const other = Array.from({ length: vocabSize }, (_, token) => token).find((token) => !allowed.includes(token))!;
    const refused = expect.objectContaining({ code: 'DECODER_INPUT_INVALID' });
    expect(() => constraint.accept(other)).toThrow(refused);
    expect(() => nn.choicesAlong(language, [allowed[0]])).toThrow(refused);
    expect(() => language.constraint(1)).toThrow(expect.objectContaining({ code: 'CONTEXT_TOO_LONG' }));
    expect(constraint.isComplete).toBe(false);
  });
}
