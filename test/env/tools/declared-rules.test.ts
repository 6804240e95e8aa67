// Rules declared in rules.yaml: their effect on calls, the checks of other backends, and errors of invalid rules.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import type { JsonObject } from '../../../src/core/canonical-json.js';
import { applyOperations } from '../../../src/env/state/operations.js';
import { ExpressionProblem, readExpression } from '../../../src/env/tools/cel.js';
import type { ToolsDomain } from '../../../src/env/tools/domain.js';
import { loadDomain } from '../../../src/env/tools/load-domain.js';
import { checkProposal } from '../../../src/worldmodel/tools/checks.js';
import { makeRouter } from '../../../src/worldmodel/tools/router.js';
import { parseToolsModelConfig } from '../../../src/worldmodel/tools/tools-model-schema.js';

const root = mkdtempSync(join(tmpdir(), 'reverie-declared-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const parameters = (properties: object, required = Object.keys(properties)) => ({
  type: 'object',
  properties,
  required,
});
const text = { type: 'string' };
const record = (properties: object) => ({
  type: 'object',
  additionalProperties: { type: 'object', required: Object.keys(properties), additionalProperties: false, properties },
});
const TOOLS = [
  { name: 'get_item', description: 'One.', kind: 'read', parameters: parameters({ id: text }) },
  { name: 'find', description: 'By kind.', kind: 'read', parameters: parameters({ kind: text }, []) },
  {
    name: 'settle',
    description: 'Counts.',
    kind: 'write',
    parameters: parameters({ id: text, out: { type: 'integer' }, back: { type: 'integer' } }),
  },
  {
    name: 'order',
    description: 'Orders.',
    kind: 'write',
    parameters: parameters({ ids: { type: 'array', items: text } }),
  },
  {
    name: 'watch',
    description: 'On the list.',
    kind: 'write',
    parameters: parameters({ id: text, on: { type: 'boolean' } }),
  },
];
const SCHEMA = {
  type: 'object',
  required: ['items', 'orders', 'list'],
  additionalProperties: false,
  properties: {
    items: record({ kind: { enum: ['bolt', 'nut'] }, count: { type: 'integer' }, price: { type: 'number' } }),
    orders: record({
      ids: { type: 'array', items: text },
      total: { type: 'number' },
      state: { enum: ['open', 'sent'] },
    }),
    list: { type: 'array', items: text },
  },
};
const STATE = {
  items: { 'a/1': { kind: 'bolt', count: 100, price: 0.1 }, b2: { kind: 'nut', count: 3, price: 0.2 } },
  orders: { 'O-9': { ids: ['b2'], total: 0.2, state: 'sent' } },
  list: ['b2'],
};
const RULES = `
tools:
  get_item:
    enforces: [{ require: call.id in state.items, error: "no {call.id}" }]
    answers: 'merge({"id": call.id}, state.items[call.id])'
  find:
    answers: 'state.items.filter(i, !has(call.kind) || state.items[i].kind == call.kind).sort()'
  settle:
    let: { item: 'state.items[call.id]' }
    enforces:
      - { require: call.id in state.items, error: "no {call.id}" }
      - { require: item.count >= call.out, error: "only {item.count}" }
    effects:
      - { increment: "/items/{call.id}/count", by: call.back - call.out }
    answers: { was: item.count, is: 'state.items[call.id].count' }
  order:
    let: { id: next(state.orders) }
    enforces: [{ require: 'call.ids.all(i, i in state.items)', error: unknown item }]
    effects:
      - create: "/orders/{id}"
        value: { ids: call.ids, total: 'call.ids.map(i, state.items[i].price).sum()', state: '"open"' }
      - { each: call.ids, increment: "/items/{it}/count", by: -1, if: 'state.items[it].count > 0' }
    answers: 'merge({"id": id}, state.orders[id])'
  watch:
    enforces: [{ require: call.on != (call.id in state.list), error: nothing to do }]
    effects:
      - { append: /list, value: call.id, if: call.on }
      - { remove: /list, value: call.id, if: '!call.on' }
    answers: '"ok, " + string(size(state.list)) + " watched"'
invariants:
  - { each: state.orders, require: 'it.ids.all(i, i in state.items)', error: "order {key} names what there is not" }
  - { each: state.orders, require: 'it.total == it.ids.map(i, state.items[i].price).sum()', error: "order {key} sums to {it.total}" }
  - { require: state.list.unique(), error: the list names one twice }
  - { each: before.orders, require: 'key in state.orders', error: "order {key} is gone" }
`;

let made = 0;
async function load(
  rules: string | JsonObject,
  change: (files: Record<string, string>) => void = () => {},
): Promise<ToolsDomain> {
  const folder = join(root, `d${made++}`);
  const { mkdirSync } = await import('node:fs');
  mkdirSync(folder);
  const files: Record<string, string> = {
    'policy.md': 'x',
    'tools.yaml': stringify(TOOLS),
    'state.schema.json': JSON.stringify(SCHEMA),
    'state.json': JSON.stringify(STATE),
    'tasks.yaml': stringify([{ id: 't', family: 't', user: { goal: 'g' }, verifier: { notCalled: ['order'] } }]),
    'rules.yaml': typeof rules === 'string' ? rules : stringify(rules),
  };
  change(files);
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
  return loadDomain(folder);
}

describe('declared rules', () => {
  it.each([
    ['get_item', { id: 'a/1' }, { id: 'a/1', kind: 'bolt', count: 100, price: 0.1 }, []],
    ['get_item', { id: 'constructor' }, 'Error: no constructor', []],
    ['find', {}, ['a/1', 'b2'], []],
    ['find', { kind: 'nut' }, ['b2'], []],
    [
      'settle',
      { id: 'a/1', out: 30, back: 6 },
      { was: 100, is: 76 },
      [{ op: 'replace', path: '/items/a~11/count', value: 76 }],
    ],
    ['settle', { id: 'b2', out: 4, back: 0 }, 'Error: only 3', []],
    ['settle', { id: 'b2', out: 1, back: 1 }, { was: 3, is: 3 }, []],
    [
      'order',
      { ids: ['a/1', 'b2'] },
      { id: 'O-10', ids: ['a/1', 'b2'], total: 0.3, state: 'open' },
      [
        { op: 'add', path: '/orders/O-10' },
        { path: '/items/a~11/count', value: 99 },
        { path: '/items/b2/count', value: 2 },
      ],
    ],
    ['watch', { id: 'a/1', on: true }, 'ok, 2 watched', [{ op: 'add', path: '/list/-', value: 'a/1' }]],
    ['watch', { id: 'b2', on: false }, 'ok, 0 watched', [{ op: 'remove', path: '/list/0' }]],
    ['watch', { id: 'b2', on: true }, 'Error: nothing to do', []],
  ])('answer %s %j', async (name, given, answer, operations) => {
    const { rules, initialState } = await load(RULES);
    const outcome = rules!.execute(initialState, { id: 'c', name, arguments: given as JsonObject });
    expect(typeof answer === 'string' ? outcome.observation : JSON.parse(outcome.observation)).toEqual(answer);
    expect([outcome.operations.length, outcome.operations]).toMatchObject([operations.length, operations]);
    expect(rules!.invariants(initialState, applyOperations(initialState, outcome.operations))).toEqual([]);
  });

  it('are the backend rules, and part of the version', async () => {
    const domain = await load(RULES);
    const router = await makeRouter(parseToolsModelConfig({ backends: ['rules'] }), { domain });
    const call = { id: 'c', name: 'settle', arguments: { id: 'b2', out: 1, back: 0 } };
    const query = { domain, state: domain.initialState, call, messages: [], seed: 1, step: 0, task: domain.tasks[0] };
    expect(await router.answer(query as never)).toMatchObject({
      backend: 'rules',
      confidence: 1,
      observation: '{"was":3,"is":2}',
    });
    expect((await load(RULES.replace('only', 'just'))).version).not.toBe(domain.version);
  });

  const partial = parse(RULES);
  delete partial.tools.settle.answers;
  const problems = async (
    operations: object[],
    call: [string, JsonObject] = ['settle', { id: 'b2', out: 1, back: 0 }],
    isError = false,
  ) => {
    const domain = await load(partial);
    expect(domain.rules).toBeUndefined();
    const proposal = { operations: operations as never, observation: 'done', isError, confidence: 1 };
    const [name, given] = call;
    const asked = { domain, state: domain.initialState, call: { name, arguments: given }, messages: [], proposal };
    return (checkProposal(asked).problems ?? []).join('\n');
  };
  const put = (path: string, value: unknown) => ({ op: 'replace', path, value });

  it('hold what a model proposes for a tool that they do not answer', async () => {
    expect(await problems([put('/items/b2/count', 2)])).toBe('');
    expect(await problems([put('/items/b2/count', 1)])).toContain('/items/b2/count is 1 where it must be 2');
    expect(await problems([put('/items/b2/count', 2), put('/items/b2/price', 9)])).toContain(
      'more than the declared effects',
    );
    expect(await problems([], ['settle', { id: 'b2', out: 9, back: 0 }])).toContain(
      'must fail here, with an error: only 3',
    );
    expect(await problems([put('/orders/O-9/total', 7)])).toContain('order O-9 sums to 7');
    expect(await problems([{ op: 'remove', path: '/orders/O-9' }])).toContain('order O-9 is gone');
  });

  it('refuse exactly even where they leave the answer to others, and hold answers to what a tool returns', async () => {
    const domain = await load(partial, (files) => {
      files['tools.yaml'] = stringify([
        ...TOOLS.slice(0, 2),
        { ...TOOLS[2], returns: { schema: { type: 'object', required: ['is'] } } },
        ...TOOLS.slice(3),
      ]);
    });
    const router = await makeRouter(parseToolsModelConfig({ backends: ['rules'] }), { domain });
    const asked = (out: number) => ({
      domain,
      state: domain.initialState,
      call: { id: 'c', name: 'settle', arguments: { id: 'b2', out, back: 0 } },
      messages: [],
      seed: 1,
      step: 0,
      task: domain.tasks[0],
    });
    expect(await router.answer(asked(9) as never)).toMatchObject({ observation: 'Error: only 3', confidence: 1 });
    expect(await router.answer(asked(1) as never)).toMatchObject({ confidence: 0 });
    const proposal = {
      operations: [put('/items/b2/count', 2)] as never,
      observation: '{"was": 3}',
      isError: false,
      confidence: 1,
    };
    const { problems: found } = checkProposal({ ...asked(1), proposal });
    expect(found?.join()).toContain('settle does not answer so');
  });

  it.each([
    [
      'call.id in state.items',
      'call.id in state.item',
      /line 4: tools\.get_item\.enforces\.0\.require: "call\.id in state\.item": there is no field "item" \(did you mean "items"\?\)/,
    ],
    [
      'item.count >= call.out',
      'item.cuont >= call.out',
      /line 12: .*there is no field "cuont" \(did you mean "count"\?\)/,
    ],
    ['item.count >= call.out', 'item.count >= call.uot', /there is no field "uot" \(did you mean "out"\?\)/],
    ['item.count >= call.out', 'item.count >= call.id', /">=" stands between a number and a string/],
    ['item.count >= call.out', 'item.count >= call.out +', /line 12: .*Unexpected token: EOF/],
    ['item.count >= call.out', 'item.count', /"item\.count" is a number; a condition is true or false/],
    [
      'state.items[i].kind == call.kind',
      'state.items[i].kind == "blot"',
      /a value is never "blot" \(did you mean "bolt"\?\)/,
    ],
    ['call.back - call.out', '"x"', /by: ""x"": "to" stands between a string and a number|"x"/],
    ['state: \'"open"\'', 'stat: \'"open"\'', /"state" is missing/],
    ['"/items/{call.id}/count"', '"/items/{call.id}/cuont"', /line 14: .*there is no field "cuont"/],
    ['append: /list', 'append: list', /"list" is not a JSON Pointer/],
    ['append: /list, value: call.id', 'append: /list', /"append" needs "value"/],
    ['error: unknown item', 'errors: unknown item', /Unknown key "errors".*line 18/],
    ['  watch:\n', '  wach:\n', /"wach" is not a tool of the domain \(did you mean "watch"\?\)/],
    [
      'require: state.list.unique()',
      "require: '!state.list.unique()'",
      /state\.json".*breaks an invariant of rules\.yaml: the list names one twice/,
    ],
    ['call.id in state.items', 'call.id.matches("(a+)+$")', /matches\(\) is not supported/],
  ])('%s as %s: one error with file, line and expression', async (from, to, said) => {
    expect(RULES).toContain(from);
    const error = await load(RULES.replace(from, to)).then(
      () => 'no error',
      ({ message }: Error) => message,
    );
    expect(error).toMatch(said);
    expect(error).toMatch(/rules\.yaml/);
  });

  it.each([
    ['rules.js', 'export const tools = {};', /both rules\.js and/],
    [
      'induced.yaml',
      'format: reverie-induced-rules-1',
      /has an older format: rules from logs are now written to rules\.yaml/,
    ],
  ])('beside %s are refused', async (file, content, said) => {
    await expect(load(RULES, (files) => Object.assign(files, { [file]: content }))).rejects.toThrow(said);
  });
});

describe('expressions', () => {
  const items = Array.from({ length: 3_000 }, (_, i) => i);
  const value = (expression: string) =>
    readExpression(expression, { a: undefined }).value({ a: { items, text: 'x'.repeat(100_000) } });

  it.each([
    ['5 / 2', 2.5],
    ['0.1 + 0.2', 0.3],
    ['size(a.items) + 1', 3001],
    ['int("7") * 2.5', 17.5],
    ['max(3, 2.5)', 3],
    ['round(2.345, 2)', 2.35],
    ['[3, 1, 2].sort()', [1, 2, 3]],
    ['{"x": 1} == {"x": 1.0}', true],
    ['timestamp("2031-04-12T00:00:00Z") + duration("24h")', '2031-04-13T00:00:00.000Z'],
  ])('%s is %j', (expression, result) => expect(value(expression)).toEqual(result));

  it.each([
    'a.items.all(i, a.items.all(j, a.items.all(k, i + j + k >= 0)))',
    'a.items.exists(i, a.items.exists(j, a.items.exists(k, i + j + k < 0)))',
    '[a.text].map(b, b + b + b + b).map(c, c + c + c + c).map(d, d + d + d + d)',
    `${'['.repeat(1)}a.items].map(b, [b, b, b, b, b, b, b, b]).map(c, [c, c, c, c, c, c, c, c]).map(d, [d, d, d, d, d, d, d, d])`,
    '9007199254740993',
    '1 / 0',
    'a.constructor',
    'a["__proto__"]',
    'a.items.map(i, a)',
  ])('%s has no value, and says so at once', (expression) => {
    const from = performance.now();
    expect(() => value(expression)).toThrow(ExpressionProblem);
    expect(performance.now() - from).toBeLessThan(5_000);
  });
});
