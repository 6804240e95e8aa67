// Changes between states lead from one to the other, the order of keys included, whatever the states are.

import { applyPatches, enablePatches } from 'immer';
import { describe, expect, test } from 'vitest';
import type { Json, JsonObject } from '../../../src/core/canonical-json.js';
import { Rng } from '../../../src/core/rng.js';
import { pointerKeys, valueAt } from '../../../src/env/state/state.js';
import { stateChanges } from '../../../src/env/tools/verify-episode.js';

enablePatches();

const KEYS = ['a', 'b', '10', '9', 'c/d', '~'];

function randomJson(rng: Rng, depth: number): Json {
  const kind = rng.int(depth === 0 ? 3 : 6);
  if (kind === 0) return rng.int(3);
  if (kind === 1) return rng.int(2) === 0;
  if (kind === 2) return null;
  if (kind === 3) return Array.from({ length: rng.int(4) }, () => randomJson(rng, depth - 1));
  return randomObject(rng, depth);
}

function randomObject(rng: Rng, depth: number): JsonObject {
  const keys = [...rng.permutation(KEYS.length)].slice(0, rng.int(KEYS.length)).map((i) => KEYS[i]);
  return Object.fromEntries(keys.map((key) => [key, randomJson(rng, depth - 1)]));
}

test('lead from any state to any other, with the same text', () => {
  const rng = Rng.fromSeed(1);
  for (let i = 0; i < 500; i++) {
    const [before, after] = [randomObject(rng, 4), randomObject(rng, 4)];
    const reached = applyPatches(before, stateChanges(before, after) as never);
    expect(JSON.stringify(reached)).toBe(JSON.stringify(after));
  }
});

describe('pointers', () => {
  test.each([
    ['', { a: [1, { 'b/c': 2, '~': 3 }] }],
    ['/a/0', 1],
    ['/a/1/b~1c', 2],
    ['/a/1/~0', 3],
    ['/a/01', undefined],
    ['/a/-', undefined],
    ['/a/length', undefined],
    ['/toString', undefined],
    ['a', undefined],
  ])('%s', (pointer, value) => {
    expect(valueAt({ a: [1, { 'b/c': 2, '~': 3 }] }, pointer)).toEqual(value);
  });

  test('must be empty or begin with a slash', () => {
    expect(pointerKeys('a/b')).toBeUndefined();
    expect(pointerKeys('/a/')).toEqual(['a', '']);
  });
});
