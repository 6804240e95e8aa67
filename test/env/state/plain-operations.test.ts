// Operations on frozen states take a short way; on others they go by the library that knows all of RFC 6902. Both come to the
// same state, with its keys in the same order, or refuse alike.

import { expect, test } from 'vitest';
import type { Json, JsonObject } from '../../../src/core/canonical-json.js';
import { Rng } from '../../../src/core/rng.js';
import { applyOperations } from '../../../src/env/state/operations.js';
import type { Operation } from '../../../src/env/tools/prediction.js';

const STATE: JsonObject = {
  users: { ann: { age: 30, tags: ['a', 'b'] }, bob: { age: 40, tags: [] }, '7': { 'a/b': 1, 'm~n': null } },
  list: [{ id: 1 }, [2, 3], 'x'],
  today: '2030-01-01',
};
const PATHS = `
  /users/ann /users/ann/age /users/ann/tags /users/ann/tags/0 /users/ann/tags/2 /users/ann/tags/- /users/eve /users/eve/age
  /users/7/a~1b /users/7/m~0n /users/7/new /list /list/0 /list/0/id /list/1/1 /list/3 /list/4 /list/01 /list/length /list/2/x
  /today /today/0 /new / today
`
  .trim()
  .split(/\s+/);
const VALUES: Json[] = [30, '2030-01-01', null, {}, [], { b: [1, { c: 2 }], a: 'z' }, ['a', 'b']];

function drawn(rng: Rng): Operation {
  const path = PATHS[rng.int(PATHS.length)];
  const op = (['add', 'replace', 'remove', 'add', 'replace', 'test', 'copy'] as const)[rng.int(7)];
  if (op === 'remove') return { op, path };
  return op === 'copy' ? { op, path, from: '/users/ann' } : { op, path, value: VALUES[rng.int(VALUES.length)] };
}

function frozen<V>(value: V): V {
  if (typeof value !== 'object' || value === null) return value;
  for (const part of Object.values(value)) frozen(part);
  return Object.freeze(value);
}

const outcome = (work: () => JsonObject) => {
  try {
    return JSON.stringify(work());
  } catch (error) {
    return (error as Error).message;
  }
};

test('states come out as by the book, or are refused alike', () => {
  const rng = Rng.fromSeed(2).split('operations');
  const start = frozen(structuredClone(STATE));
  let applied = 0;
  for (let i = 0; i < 800; i++) {
    const operations = Array.from({ length: 1 + rng.int(3) }, () => drawn(rng));
    const found = outcome(() => applyOperations(start, operations));
    expect(found, JSON.stringify(operations)).toBe(outcome(() => applyOperations(structuredClone(STATE), operations)));
    if (found.startsWith('{')) applied++;
  }
  expect(applied).toBeGreaterThan(130);
  expect(start).toEqual(STATE);
});
