// Rules in the sandbox: what they do is exact and pure, and nothing they do can reach, stop or crash this process.

import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Json, JsonObject } from '../../../src/core/canonical-json.js';
import { applyOperations } from '../../../src/env/state/operations.js';
import { type SandboxedRules, sandboxedRules } from '../../../src/env/tools/sandbox/sandboxed-rules.js';
import { testData } from '../../data.js';
import { fixture, loadLibrary } from './library.js';

const LIMITS = { memoryBytes: 24 * 2 ** 20, interrupts: 300, milliseconds: 2_500 };

const callOf = (name: string, args: JsonObject = {}) => ({ id: '1', name, arguments: args });

/** Rules with a tool `t0`, `t1`, ... for each body; it sees `state`, `args`, and `memory` and `count` of the file. */
function rulesOf(bodies: readonly string[], file = 'rules.js'): Promise<SandboxedRules> {
  const tools = bodies.map((body, i) => `t${i}(state, args) { ${body} }`).join(',\n');
  const text = `const memory = {}; let count = 0; export const tools = { fine: () => 'fine',\n${tools} };`;
  return sandboxedRules(text, file, { limits: LIMITS });
}

describe('a tool', () => {
  test('answers the operations that do what it did', async () => {
    const state = { list: [1, 2, 3], today: 'x' };
    const cases: [string, JsonObject][] = [
      ['state.today = "y"', { list: [1, 2, 3], today: 'y' }],
      ['delete state.today', { list: [1, 2, 3] }],
      ['state.list.push(4); state.list.splice(0, 2)', { list: [3, 4], today: 'x' }],
      ['state.list.sort((a, b) => b - a)', { list: [3, 2, 1], today: 'x' }],
      ['state.list.length = 0', { list: [], today: 'x' }],
      ['state.list = state.list.filter((n) => n > 1)', { list: [2, 3], today: 'x' }],
      ['state["a/b~c"] = { d: [null] }', { list: [1, 2, 3], today: 'x', 'a/b~c': { d: [null] } }],
      ['state.same = state.list; state.list[0] = 9', { list: [9, 2, 3], today: 'x', same: [9, 2, 3] }],
      ['state.list.push(args)', { list: [1, 2, 3, { a: 1 }], today: 'x' }],
      ['state.today = "y"; state.today = "x"', { list: [1, 2, 3], today: 'x' }],
    ];
    const rules = await rulesOf(cases.map(([body]) => `${body}; return 1`));
    for (const [i, [body, expected]] of cases.entries()) {
      const { operations, isError } = rules.execute(state, callOf(`t${i}`, { a: 1 }));
      expect(isError, body).toBe(false);
      expect(applyOperations(state, operations), body).toEqual(expected);
      expect(state).toEqual({ list: [1, 2, 3], today: 'x' });
    }
    rules.close();
  });

  test('that throws ToolError refuses, and nothing it did counts', async () => {
    const rules = await rulesOf(['state.today = "y"; throw new ToolError("not " + args.a)']);
    const refused = rules.execute({ today: 'x' }, callOf('t0', { a: 'now' }));
    expect(refused).toEqual({ operations: [], observation: 'Error: not now', isError: true });
    rules.close();
  });

  test('that would break an invariant is refused with the reason, and changes nothing', async () => {
    const text = `export const tools = { take(state, { n }) { state.left -= n; return state.left; } };
      export const invariants = [(before, after) => (after.left < 0 ? 'only ' + before.left + ' are left' : null)];`;
    const rules = await sandboxedRules(text, 'rules.js');
    const [taken, refused] = [5, 6].map((n) => rules.execute({ left: 5 }, callOf('take', { n })));
    expect(taken).toMatchObject({ operations: [{ path: '/left', value: 0 }], observation: '0', isError: false });
    expect(refused).toEqual({ operations: [], observation: 'Error: only 5 are left', isError: true });
    rules.close();
  });

  test('is pure: nothing it keeps outlives the call', async () => {
    const rules = await rulesOf([
      `memory.calls = (memory.calls ?? 0) + 1;
      memory.state = state;
      count += 1;
      (tools.t0.calls ??= []).push(1);
      return [memory.calls, count, tools.t0.calls.length];`,
    ]);
    const answers = [1, 2, 3].map((n) => rules.execute({ n }, callOf('t0')).observation);
    expect(answers).toEqual(['[1,1,1]', '[1,1,1]', '[1,1,1]']);
    rules.close();
  });
});

function failureOf(work: () => unknown): Error | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    return error as Error;
  }
}

describe('what rules may not do', () => {
  const FAULTS = testData<[string, string, string][]>('env/tools/sandbox-faults.yaml');

  test('fails aloud, naming file, tool and fault, and the next call is answered', async () => {
    const rules = await rulesOf(
      FAULTS.map(([, body]) => body),
      'my/rules.js',
    );
    for (const [i, [what, , problem]] of FAULTS.entries()) {
      const error = failureOf(() => rules.execute({ list: [1], today: 'x' }, callOf(`t${i}`)));
      expect(error, what).toMatchObject({ code: 'RULES_FAILED', message: expect.stringContaining(problem) });
      expect(error?.message).toMatch(`Rules "my/rules.js", tool t${i}: `);
      expect(rules.execute({}, callOf('fine')).observation).toBe('fine');
    }
    expect(({} as Record<string, unknown>).x).toBeUndefined();
    rules.close();
  });

  test('a native loop that no interrupt reaches is ended with its thread', async () => {
    const rules = await sandboxedRules(
      'export const tools = { act: () => String([].includes.call({ length: 2 ** 50 }, 1)), fine: () => "ok" };',
      'rules.js',
      { limits: { ...LIMITS, milliseconds: 800 } },
    );
    expect(() => rules.execute({}, callOf('act'))).toThrow(/tool act: it ran too long and was stopped/);
    expect(rules.execute({}, callOf('fine')).observation).toBe('ok');
    rules.close();
    expect(() => rules.execute({}, callOf('fine'))).toThrow(/the domain was closed/);
  });

  test('finds no clock, no randomness, no way to make code, and no host', async () => {
    const names = [
      'Date',
      'eval',
      'Function',
      'Proxy',
      'Promise',
      'WeakRef',
      'process',
      'require',
      'console',
      'BigInt',
    ];
    const rules = await rulesOf([`return [${names.map((name) => `typeof ${name}`)}]`]);
    expect(JSON.parse(rules.execute({}, callOf('t0')).observation)).toEqual(names.map(() => 'undefined'));
    rules.close();
  });

  test('arguments cannot pollute, however they are merged', async () => {
    const args = JSON.parse('{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}') as JsonObject;
    const rules = await rulesOf([
      'Object.assign({}, args); return [({}).polluted ?? null, state.polluted ?? null];',
      'const merge = (a, b) => { for (const k in b) typeof b[k] === "object" ? merge(a[k] ??= {}, b[k]) : (a[k] = b[k]) };' +
        'merge({}, args); return String(({}).polluted)',
    ]);
    expect(rules.execute({}, callOf('t0', args)).observation).toBe('[null,null]');
    expect(failureOf(() => rules.execute({}, callOf('t1', args)))).toMatchObject({ code: 'RULES_FAILED' });
    expect(rules.execute({}, callOf('t0')).observation).toBe('[null,null]');
    rules.close();
  });
});

describe('a rules file that cannot be used', () => {
  test.each([
    ['no tools', 'export const checks = {};', 'it does not export "tools"'],
    ['an unknown export', 'export const tools = {}; export const check = {};', 'did you mean "checks"?'],
    ['a default export', 'export default {};', 'rules export by name'],
    ['an import', 'import fs from "node:fs";\nexport const tools = {};', 'rules are one file'],
    ['tools that are no functions', 'export const tools = { a: 5 };', 'tools.a is of type number'],
    ['code that fails', 'export const tools = {}; throw new Error("no");', 'Error: no'],
    ['code that never ends', 'export const tools = {}; for (;;);', 'it ran too long'],
    ['an export that is hard to find', 'export const tools = {}, checks = {};', 'write the export of "checks"'],
    ['10,000 brackets', `export const tools = ${'['.repeat(10_000)}${']'.repeat(10_000)};`, 'called itself too deeply'],
    ['a way out of its wrapper', 'export const tools = {}; }); globalThis.x = 1; (() => {', 'SyntaxError'],
  ])('has %s', async (_, text, problem) => {
    const error = await sandboxedRules(text, 'my/rules.js', { limits: LIMITS }).catch((thrown) => thrown);
    expect(error.code).toBe('RULES_INVALID');
    expect(error.message).toContain(problem);
    expect(error.message).toContain('my/rules.js');
  });

  test('exports in every other form are understood', async () => {
    const text = `#!x
      export function helper() {}`;
    await expect(sandboxedRules(text, 'rules.js')).rejects.toMatchObject({ code: 'RULES_INVALID' });
    const rules = await sandboxedRules(
      `const all = { a: () => 'a' };\nconst held = [];\nexport { all as tools, held as 'invariants' }; // at the end`,
      'rules.js',
    );
    expect([...rules.tools]).toEqual(['a']);
    expect(rules.execute({}, callOf('a')).observation).toBe('a');
    rules.close();
  });
});

describe('preconditions, invariants and checks', () => {
  let rules: SandboxedRules;
  const { initialState } = { initialState: JSON.parse(readFileSync(`${fixture('library')}/state.json`, 'utf8')) };
  beforeAll(async () => {
    rules = await sandboxedRules(readFileSync(`${fixture('library')}/rules.js`, 'utf8'), 'rules.js');
  });
  afterAll(() => rules.close());

  test('a precondition gives every reason, and a call against it is refused', () => {
    const lend = callOf('lend_book', { member_id: 'M2', book_id: 'B3' });
    expect(rules.preconditions(initialState, lend)).toEqual(['Member M2 is blocked', 'Book B3 is lent']);
    expect(rules.execute(initialState, lend).observation).toBe('Error: Member M2 is blocked; Book B3 is lent');
    expect(rules.preconditions(initialState, callOf('get_member', { member_id: 'M9' }))).toEqual([]);
  });

  test('invariants see the state before and the one after', () => {
    expect(rules.invariants(initialState, initialState)).toEqual([]);
    const wrong = { ...initialState, today: 'later', books: { B1: { id: 'B1', title: 'Dune', lentTo: 'M1' } } };
    expect(rules.invariants(initialState, wrong)).toEqual([
      'B1 is lent to who does not have it',
      'no tool changes the date',
    ]);
  });

  test('tools that only read see a frozen state, and say so if they write', async () => {
    const text = 'export const tools = { a(s) { s.x = 1; return 1; }, b: (s) => s.x };';
    const reading = await sandboxedRules(text, 'rules.js', { readers: ['a', 'b'] });
    expect(() => reading.execute({ x: 0 }, callOf('a'))).toThrow(/tool a: it threw TypeError: 'x' is read-only/);
    expect(reading.execute({ x: 0 }, callOf('b')).observation).toBe('0');
    reading.close();
  });
});

test('states are right whichever were seen before, in any order, changed in place or not', async () => {
  const domain = await loadLibrary();
  const { rules, initialState } = domain;
  const titles = (state: JsonObject) => rules!.execute(state, callOf('find_books', { text: '' })).observation;
  const expected = (state: JsonObject) => JSON.stringify(Object.values(state.books as Record<string, Json>));
  const states = Array.from({ length: 12 }, (_, i) =>
    applyOperations(initialState, [
      { op: 'replace', path: '/books/B1/title', value: `title ${i}` },
      i % 3 === 0 ? { op: 'remove', path: '/books/B2' } : { op: 'add', path: `/books/N${i}`, value: { title: 'new' } },
    ]),
  );
  for (const i of [0, 11, 5, 5, 7, 0, 2, ...states.keys()]) expect(titles(states[i])).toBe(expected(states[i]));
  const mutable = structuredClone(initialState) as { books: Record<string, { title: string }> };
  expect(titles(mutable as unknown as JsonObject)).toBe(expected(initialState));
  mutable.books.B1.title = 'changed';
  expect(titles(mutable as unknown as JsonObject)).toContain('"changed"');
  expect(titles(states[3])).toBe(expected(states[3]));
  domain.close();
});
