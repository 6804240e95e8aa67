// What follows a prompt: where it ends, and beside what.

import { afterAll, expect, test } from 'vitest';
import { Rng } from '../../../src/core/rng.js';
import * as nn from '../nn.js';
import { TINY } from './fixture.js';

const decoder = nn.Decoder.create(TINY, Rng.fromSeed(2));
afterAll(() => decoder.sessions.release());

test('answers end where they must', async () => {
  const ends = async (options: nn.GenerateOptions, prompt = [0, 8]) =>
    (await decoder.generate([prompt], options)).map(({ tokens }) => tokens.length);
  expect(await ends({ maxTokens: 5 })).toEqual([5]);
  expect(await ends({ maxTokens: 500 }, Array(60).fill(3))).toEqual([5]);
  const [{ tokens }] = await decoder.generate([[0, 8]], { maxTokens: 5 });
  expect(await ends({ maxTokens: 5, stop: [tokens[2]] })).toEqual([tokens.indexOf(tokens[2]) + 1]);
});

test('answers go on beside one whose context is full', async () => {
  const options = { maxTokens: 20 };
  const all = await decoder.generate([Array(63).fill(3), [0, 8], [0, 9]], options);
  expect(all.map(({ tokens }) => tokens.length)).toEqual([2, 20, 20]);
  expect(all.slice(1)).toEqual(
    await decoder.generate(
      [
        [0, 8],
        [0, 9],
      ],
      options,
    ),
  );
});
