// Rules declared in rules.yaml: their effect on calls, the checks of other backends, and errors of invalid rules.

import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import type { JsonObject } from '../../../src/core/canonical-json.js';
import { applyOperations } from '../../../src/env/state/operations.js';
import { ExpressionProblem, readExpression } from '../../../src/env/tools/cel.js';
import type { ToolsDomain } from '../../../src/env/tools/domain.js';
import { loadDomain } from '../../../src/env/tools/load-domain.js';
import { rulesResponder } from '../../../src/env/tools/rules-responder.js';
import { checkProposal } from '../../../src/worldmodel/tools/checks.js';
import { makeRouter } from '../../../src/worldmodel/tools/router.js';
import { parseToolsModelConfig } from '../../../src/worldmodel/tools/tools-model-schema.js';
import { testData } from '../../data.js';
import { temporaryFolder } from '../../temporary-folder.js';
import { fixture } from './library.js';

const root = temporaryFolder('declared');

const bolts = fixture('bolts');
const BOLTS = Object.fromEntries(readdirSync(bolts).map((name) => [name, readFileSync(join(bolts, name), 'utf8')]));
const RULES = BOLTS['rules.yaml'];

let made = 0;
async function load(
  rules: string | JsonObject,
  change: (files: Record<string, string>) => void = () => {},
): Promise<ToolsDomain> {
  const folder = join(root, `d${made++}`);
  mkdirSync(folder);
  const files = { ...BOLTS, 'rules.yaml': typeof rules === 'string' ? rules : stringify(rules) };
  change(files);
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
  return loadDomain(folder);
}

describe('declared rules', () => {
  it.each(testData<[string, JsonObject, unknown, object[]][]>('env/tools/bolts-answers.yaml'))(
    'answer %s %j',
    async (name, given, answer, operations) => {
      const { rules, initialState } = await load(RULES);
      const outcome = rules!.execute(initialState, { id: 'c', name, arguments: given });
      expect(typeof answer === 'string' ? outcome.observation : JSON.parse(outcome.observation)).toEqual(answer);
      expect([outcome.operations.length, outcome.operations]).toMatchObject([operations.length, operations]);
      expect(rules!.invariants(initialState, applyOperations(initialState, outcome.operations))).toEqual([]);
    },
  );

  it.each([
    [{ remove: '/steps/{key}', each: 'state.steps', if: 'it.done' }, [2, 5]],
    [{ remove: '/steps/{key}', each: 'state.steps' }, []],
    [{ remove: '/steps', value: 'it', each: 'state.steps', if: 'it.done' }, [2, 5]],
    [{ remove: '/steps/{key}/done', each: 'state.steps', if: 'it.n < 3' }, [1, 2, 3, 4, 5]],
  ])('remove of a list what they say, and nothing beside it: %j', async (effect, left) => {
    const steps = [1, 2, 3, 4, 5].map((n) => ({ n, done: n !== 2 && n !== 5 }));
    const domain = await load(
      { tools: { tidy: { effects: [effect], answers: 'state.steps.map(one, one.n)' } } },
      (files) =>
        Object.assign(files, {
          'tools.yaml': stringify([
            { name: 'tidy', description: 'tidies', kind: 'write', parameters: { type: 'object' } },
          ]),
          'state.json': JSON.stringify({ steps }),
          'state.schema.json': '{}',
          'tasks.yaml': stringify([{ id: 't', family: 't', user: { goal: 'g' }, verifier: { rubric: ['r'] } }]),
        }),
    );
    const { observation } = domain.rules!.execute(domain.initialState, { id: 'c', name: 'tidy', arguments: {} });
    expect(JSON.parse(observation)).toEqual(left);
  });

  it('hold their invariants in reality as in a simulation: the call that would break one is refused with its reason', async () => {
    const take = { effects: [{ increment: '/left', by: '-call.n' }], answers: 'state.left' };
    const invariants = [{ require: 'state.left >= 0', error: 'only {before.left} are left' }];
    const domain = await load({ tools: { take }, invariants } as JsonObject, (files) =>
      Object.assign(files, {
        'tools.yaml': stringify([
          {
            ...{ name: 'take', description: 'takes', kind: 'write' },
            parameters: { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] },
          },
        ]),
        'state.json': '{ "left": 5 }',
        'state.schema.json': '{}',
        'tasks.yaml': stringify([{ id: 't', family: 't', user: { goal: 'g' }, verifier: { rubric: ['r'] } }]),
      }),
    );
    const router = await makeRouter(parseToolsModelConfig({ backends: ['rules'] }), { domain });
    for (const responder of [router, rulesResponder(domain)])
      for (const [n, observation] of [
        [5, '0'],
        [6, 'Error: only 5 are left'],
      ] as const) {
        const call = { id: 'c', name: 'take', arguments: { n } };
        const query = {
          domain,
          state: domain.initialState,
          call,
          messages: [],
          seed: 1,
          step: 0,
          task: domain.tasks[0],
        };
        const { operations, ...answer } = await responder.answer(query);
        expect(answer).toMatchObject({ observation, isError: n === 6 });
        expect(answer).not.toHaveProperty('refused');
        expect(operations.length).toBe(n === 6 ? 0 : 1);
      }
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
      const tools = parse(files['tools.yaml']);
      tools[2].returns = { schema: { type: 'object', required: ['is'] } };
      files['tools.yaml'] = stringify(tools);
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

  it.each(testData<[string, string, string][]>('env/tools/wrong-rules.yaml'))(
    '%s as %s: one error with file, line and expression',
    async (from, to, said) => {
      expect(RULES).toContain(from);
      const error = await load(RULES.replace(from, to)).then(
        () => 'no error',
        ({ message }: Error) => message,
      );
      expect(error).toMatch(new RegExp(said));
      expect(error).toMatch(/rules\.yaml/);
    },
  );

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
    ['0.1 + 0.2 == 0.3 && a.items.size() > 0', true],
    ['[0.1, 0.2, 0.3].sum() * 3', 1.8],
    ['1 / 3 * 3', 1],
    ['1700000000.123', 1700000000.123],
    ['{"paid": 12345678901.25, "at": [52.520008123456789]}', { paid: 12345678901.25, at: [52.52000812345679] }],
    ['[{"a": 1, "b": 2}, {"b": 2, "a": 1}].unique()', false],
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
