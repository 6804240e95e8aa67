import { describe, expect, it } from 'vitest';
import { parseJson } from '../../../src/serve/http/requests.js';

const LIMITS = { jsonDepth: 4, jsonValues: 10 };

describe('JSON from strangers', () => {
  it.each(['null', ' null ', '0', '""', '"null"', '[]', '{"a":[{"b":"[[[[[[,,,,,,,,,,,,"}]}', '"\\"[[[[["'])(
    'is read: %s',
    (text) => {
      expect(parseJson(text, LIMITS)).toEqual(JSON.parse(text));
    },
  );

  it.each([
    ['[[[[[]]]]]', /deeper than 4/],
    ['{"a":{"a":{"a":{"a":{}}}}}', /deeper than 4/],
    ['[1,2,3,4,5,6,7,8,9,10]', /more than 10 values/],
    ['[[],[],[],[],[]]', /more than 10 values/],
    ['{"__proto__":{"polluted":1}}', /prototype/],
    ['{"a":[{"\\u005f_proto__":1}]}', /prototype/],
    ['{"constructor":{"prototype":{}}}', /prototype/],
    ['{', /not JSON/],
    ['', /not JSON/],
    ['undefined', /not JSON/],
    ['"open', /not JSON/],
  ])('is refused: %s', (text, problem) => {
    expect(() => parseJson(text, LIMITS)).toThrow(problem);
  });

  it('never gets as deep as a stack', () => {
    for (const open of ['[', '{"a":']) expect(() => parseJson(open.repeat(100_000))).toThrow(/deeper than 64/);
  });

  it('is measured in time that grows no faster than it', () => {
    const seconds = (text: string) => {
      const started = performance.now();
      expect(() => parseJson(text, { jsonDepth: 64, jsonValues: 1e9 })).toThrow(/not JSON/);
      return performance.now() - started;
    };
    // What a backtracking scan would take minutes for.
    for (const part of ['"\\', '"\\u005f', '\\\\"', '"__proto__ '])
      expect(seconds(part.repeat(100_000))).toBeLessThan(5000);
  });
});
