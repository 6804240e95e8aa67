// The distance of states: what it counts, and what fools it.

import { describe, expect, it } from 'vitest';
import { leafDifferences, stateDistance } from '../../../src/fidelity/tools/answers.js';

describe('the distance of states', () => {
  const before = { books: { B1: { lent: false, to: null, tags: ['a', 'b'] }, B2: { lent: false } }, count: 2 };
  const real = { ...before, books: { ...before.books, B1: { lent: true, to: 'M1', tags: ['a', 'b'] } } };

  it('is 0 for the real one, 1 where nothing that should changed', () => {
    expect(stateDistance(before, real, structuredClone(real))).toBe(0);
    expect(stateDistance(before, real, before)).toBe(1);
  });

  it('is the share of wrong values among those that should, or should not, have changed', () => {
    const half = { ...real, books: { ...real.books, B1: { ...real.books.B1, to: 'M2' } } };
    expect(stateDistance(before, real, half)).toBe(1 / 2);
    expect(leafDifferences(real, half)).toEqual([{ path: '/books/B1/to', real: 'M1', simulated: 'M2' }]);
    const more = { ...real, count: 3, extra: { 'a/b': {} } };
    expect(stateDistance(before, real, more)).toBe(2 / 4);
    expect(leafDifferences(real, more).map(({ path }) => path)).toEqual(['/count', '/extra/a~1b']);
  });

  it('tells a leaf from a container, and what is gone from what is null', () => {
    expect(leafDifferences({ a: null }, {})).toEqual([{ path: '/a', real: null }]);
    expect(leafDifferences({ a: {} }, { a: { b: 1, c: {} } })).toEqual([
      { path: '/a/b', simulated: 1 },
      { path: '/a/c', simulated: {} },
    ]);
    expect(leafDifferences({ a: [] }, { a: {} })).toEqual([{ path: '/a', real: [], simulated: {} }]);
    expect(leafDifferences({ a: 1 }, { a: { b: 1 } })).toEqual([
      { path: '/a', real: 1 },
      { path: '/a/b', simulated: 1 },
    ]);
    expect(leafDifferences({ a: ['x'] }, { a: { 0: 'x' } })).toHaveLength(1);
  });
});
