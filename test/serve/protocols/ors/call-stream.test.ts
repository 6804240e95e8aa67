import { expect, it } from 'vitest';
import { pieces } from '../../../../src/serve/protocols/ors.js';

it.each([
  ['blanks at every cut', ' '.repeat(20_000)],
  ['blanks of every kind', '\u00a0\u2028\u3000\u0085 x'.repeat(3_000)],
  ['characters of two halves', `x${'😀'.repeat(9_000)}`],
  ['nothing', ''],
])('pieces of an answer of %s are what it was, when joined without their first blanks', (_, text) => {
  const json = JSON.stringify({ text });
  const all = pieces(json);
  // Python strips U+0085 and U+001C to U+001F too.
  const stripped = all.map((piece) => piece.replace(/^[\s\u0085]+/, ''));
  expect(stripped).toEqual(all);
  expect(JSON.parse(all.join(''))).toEqual({ text });
  // Each goes over the wire by itself, as UTF-8.
  expect(all.map((piece) => Buffer.from(piece).toString())).toEqual(all);
  for (const piece of all) expect(Buffer.byteLength(piece)).toBeLessThan(64 * 1024);
});
