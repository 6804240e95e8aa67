// Whole numbers that a double cannot hold are refused by their path; all others are read as ever.

import { expect, it } from 'vitest';
import { parseExactly, roundedProblem } from '../../src/core/exact-numbers.js';

it.each([
  ['{"parcels":{"P1":{"tracking":9007199254740993}}}', '/parcels/P1/tracking'],
  ['[1,-12345678901234567890]', '/1'],
  ['9007199254740993', 'it'],
])('%s is refused', (text, path) => {
  expect(() => parseExactly(text)).toThrow(`${path} is a whole number beyond 2^53`);
});

it.each([
  '{"a":9007199254740991}',
  '[0.1234567890123456789]',
  '[1e20,1E+22]',
  '"9007199254740993"',
  '{"90071992547409931":"\\"12345678901234567"}',
  '[18014398509481984]',
])('%s is read as by JSON.parse', (text) => expect(parseExactly(text)).toEqual(JSON.parse(text)));

it('knows values that were rounded before, and those of YAML', () => {
  expect(roundedProblem({ id: [2 ** 53] })).toMatch(/^\/id\/0 is/);
  expect(roundedProblem({ id: 9007199254740993n })).toMatch(/^\/id is/);
  expect(roundedProblem({ id: 12n, x: 0.5, big: 2 ** 53 - 1 })).toBeUndefined();
});
