// A rules file that can keep nothing is evaluated once; whatever a file tries, no call shows what another one did.

import { describe, expect, test } from 'vitest';
import { sandboxedRules } from '../../../src/env/index.js';
import { readRules } from '../../../src/env/tools/sandbox/rules-source.js';

const call = { id: '1', name: 'count', arguments: {} };

/** Files whose tool would count its calls, if it could. */
const HIDING_PLACES: readonly [string, string][] = [
  ['a variable', 'let n = 0; export const tools = { count: () => ++n };'],
  [
    'a variable of the same name as one in a block',
    'let n = 0; export const tools = { count() { { let n = 1; } return (n += 1); } };',
  ],
  ['an object', 'const kept = { n: 0 }; export const tools = { count: () => ++kept.n };'],
  ['a list', 'const kept = []; export const tools = { count: () => kept.push(1) };'],
  ['an object within one', 'const kept = { a: [{ n: 0 }] }; export const tools = { count: () => ++kept.a[0].n };'],
  ['a function', 'function kept() {} export const tools = { count: () => (kept.n = (kept.n ?? 0) + 1) };'],
  ['the tools', 'export const tools = { count: () => (tools.n = (tools.n ?? 0) + 1) };'],
  ['a map', 'const kept = new Map(); export const tools = { count: () => kept.set(kept.size, 1).size };'],
  ['a closure', 'const count = (() => { let n = 0; return () => ++n; })(); export const tools = { count };'],
  [
    'a closure over an object',
    'const make = () => { const o = { n: 0 }; return () => ++o.n; }; const count = make(); export const tools = { count };',
  ],
  ['a closure of a callback', 'const [count] = [0].map((n) => () => ++n); export const tools = { count };'],
  [
    'a closure of a callback over an object',
    'const [count] = [{ n: 0 }].map((o) => () => ++o.n); export const tools = { count };',
  ],
  [
    'a closure of a callback with a body',
    'const [count] = [0].map(() => { const o = { n: 0 }; return () => ++o.n; }); export const tools = { count };',
  ],
  [
    'a closure over a map',
    'const [count] = Array.from([0], () => [[]]).map((o) => () => o[0].push(1)); export const tools = { count };',
  ],
  [
    'a method called as one of lists',
    'const o = Object.fromEntries([["map", () => { const k = [0]; return () => ++k[0]; }]]); const count = o.map(); export const tools = { count };',
  ],
  [
    'a method of a name that is computed',
    'const name = "map"; const o = { [name]: () => { const k = [0]; return () => ++k[0]; } }; const count = o.map(); export const tools = { count };',
  ],
  [
    'what is called to make a text',
    'const k = []; const o = { toString: () => { const j = [0]; k[0] = () => ++j[0]; return ""; } }; const text = "" + o; export const tools = { count: () => k[0]() };',
  ],
  [
    'a generator',
    'function* all() { let n = 0; for (;;) yield ++n; } const kept = all(); export const tools = { count: () => kept.next().value };',
  ],
  ['an iterator', 'const kept = [1, 2, 3, 4].values(); export const tools = { count: () => kept.next().value };'],
  [
    'a private field',
    'class Kept { static #n = 0; static next() { return ++Kept.#n; } } export const tools = { count: () => Kept.next() };',
  ],
  [
    'the place of the last match',
    'const kept = /a/g; export const tools = { count: () => { kept.test("aaaa"); return kept.lastIndex; } };',
  ],
  ['a default', 'const count = ((n = [0]) => () => ++n[0])(); export const tools = { count };'],
];

describe('nothing is kept in', () => {
  test.each(HIDING_PLACES)('%s', async (_, text) => {
    const rules = await sandboxedRules(text, 'rules.js');
    const answers = [1, 2, 3].map(() => rules.execute({}, call).observation);
    expect(answers).toEqual(['1', '1', '1']);
    rules.close();
  });

  test('what is caught in between', async () => {
    const text = `const kept = { n: 0 };
      export const tools = { count() { try { kept.n += 1; } catch { return 'frozen'; } return kept.n; } };`;
    const rules = await sandboxedRules(text, 'rules.js');
    expect([1, 2].map(() => rules.execute({}, call).observation)).toEqual(['1', '1']);
    rules.close();
  });
});

test('files as they are usually written are evaluated once', () => {
  const text = `
    const LIMIT = 3;
    const FEES = { late: 2, lost: [10] };
    const has = (map, id) => Object.hasOwn(map, id);
    function entry(map, id) { let found; for (const key in map) if (key === id) found = map[key]; return found; }
    const actions = { lend: (state, { id }) => { state.books[id].lent = true; return FEES.late; } };
    export const tools = Object.fromEntries(
      Object.entries(actions).map(([name, action]) => [name, (state, args) => { if (!has(state, 'books')) throw new ToolError(name); return action(state, args); }]),
    );
    export const checks = { none: ({ finalState }) => entry(finalState, 'x') === undefined };`;
  expect(readRules(text, 'rules.js').keepsNothing).toBe(true);
});
