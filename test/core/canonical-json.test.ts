// One text for a JSON value: the same as when every object is made anew with its keys in order, which is what hashes stand on.

import { expect, test } from 'vitest';
import { canonicalJson } from '../../src/core/canonical-json.js';
import { Rng } from '../../src/core/rng.js';

/** By definition. */
function byDefinition(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );
}

const KEYS = ['', 'a b', ...'b a 10 9 007 -1 4294967295 4294967294 é Z " __proto__ toJSON'.split(' ')];
const VALUES = [
  ...[0, -0, 1.5e300, NaN],
  null,
  true,
  '\ud800',
  'text\n',
  undefined,
  new Date(0),
  () => 1,
  new Map([[1, 2]]),
];

function drawn(rng: Rng, depth: number): unknown {
  if (depth === 0 || rng.int(3) === 0) return VALUES[rng.int(VALUES.length)];
  const parts = Array.from({ length: rng.int(5) }, () => drawn(rng, depth - 1));
  if (rng.int(3) === 0) return parts;
  return Object.fromEntries(parts.map((part) => [KEYS[rng.int(KEYS.length)], part]));
}

test('is what its definition says, for whatever is given', () => {
  const rng = Rng.fromSeed(1).split('canonical');
  for (let i = 0; i < 800; i++) {
    const value = { given: drawn(rng, 4) };
    expect(canonicalJson(value)).toBe(byDefinition(value));
  }
});

test('values without a text have none, and circles have no end', () => {
  expect(canonicalJson(undefined)).toBeUndefined();
  const circle: { self?: unknown } = {};
  circle.self = circle;
  expect(() => canonicalJson(circle)).toThrow(RangeError);
  expect(() => canonicalJson({ big: 1n })).toThrow(TypeError);
});
