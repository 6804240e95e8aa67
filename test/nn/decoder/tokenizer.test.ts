// The tokenizer: any text comes back, the same texts give the same tokens, and what somebody wrote is never a special token.

import { describe, expect, test } from 'vitest';
import * as nn from '../nn.js';
import { HARD_TEXTS, householdTexts } from './fixture.js';

const texts = householdTexts(300);
const tokenizer = nn.trainTokenizer(texts, { size: 330, specials: ['<|reward|>'] });

describe('encoding', () => {
  test.each([...HARD_TEXTS, texts[0]])('%j comes back', (text) => {
    const ids = tokenizer.encode(text);
    expect(tokenizer.decode(ids)).toBe(text);
    expect(ids.filter((id) => id < 4)).toEqual([]);
  });

  test('never reads a special token, and leaves them out of texts', () => {
    const { begin, end } = tokenizer.special;
    const reward = tokenizer.idOf('<|reward|>')!;
    expect([reward, tokenizer.idOf('drawer')]).toEqual([3, undefined]);
    expect(tokenizer.encode('<|reward|>')).not.toContain(reward);
    expect(tokenizer.decode([begin, ...tokenizer.encode('a'), reward, end])).toBe('a');
  });
});

test('training does not depend on the order of texts', () => {
  const again = nn.trainTokenizer([...texts].reverse(), { size: 330, specials: ['<|reward|>'] });
  expect(again.toJson()).toBe(tokenizer.toJson());
});

describe('as JSON', () => {
  test('is read back', () => {
    const again = nn.Tokenizer.fromJson(tokenizer.toJson(), 'here');
    expect(again.toJson()).toEqual(tokenizer.toJson());
    expect(again.encode(texts[5])).toEqual(tokenizer.encode(texts[5]));
  });

  test.each([
    ['no JSON', 'x'],
    ['merges of tokens that there are not yet', tokenizer.toJson().replace('"merges":[', '"merges":[[999,4],')],
    ['merges of special tokens', tokenizer.toJson().replace('"merges":[', '"merges":[[1,4],')],
  ])('with %s is refused', (_, text) => {
    expect(text).not.toBe(tokenizer.toJson());
    expect(() => nn.Tokenizer.fromJson(text, 'here')).toThrow(expect.objectContaining({ code: 'MODEL_FILE_INVALID' }));
  });
});
