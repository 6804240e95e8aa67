// Pages written by a language model: in which stages, of what it is told, and what of its replies is believed.

import '../../src/kinds/registry.js';
import { afterEach, describe, expect, it } from 'vitest';
import type { Json, JsonObject } from '../../src/core/canonical-json.js';
import type { ScreenState } from '../../src/env/screens/screen-state.js';
import { applyOperations } from '../../src/env/state/operations.js';
import type { CallSpec, ToolsDomain } from '../../src/env/tools/domain.js';
import type { Prediction } from '../../src/env/tools/prediction.js';
import type { LanguageModel } from '../../src/llm/language-model.js';
import { makeRouter } from '../../src/worldmodel/tools/router.js';
import { parseToolsModelConfig } from '../../src/worldmodel/tools/tools-model-schema.js';
import { testData } from '../data.js';
import { modelOf, serve } from '../llm/helpers.js';
import { prediction, ScriptedModel, sectionsOf } from '../worldmodel/tools/scripted-model.js';
import { pagesDomain } from './fixture.js';

const open: ToolsDomain[] = [];
afterEach(() => {
  for (const domain of open.splice(0)) domain.close();
});

const STATE = testData<ScreenState>('screens/cake-shop.yaml');

const overview = (more: JsonObject): JsonObject => ({
  ...{ thought: 't', overview: 'o', outcome: 'change', title: '', shows: [], memory: '', confidence: 0.9 },
  ...more,
});
const operations = (...all: [string, string, Json][]): JsonObject => ({
  reasoning: 'r',
  operations: all.map(([op, path, value]) => ({ op, path, value: JSON.stringify(value) })),
  confidence: 0.5,
});
const told = (depth: number, role: string, name: string, states: Json[] = []) => ({ depth, role, name, states });

type Replies = Readonly<Record<string, readonly (Json | string)[]>>;

/** By stage, one after the other; the draft is text. */
function scripted(replies: Replies): ScriptedModel & { readonly stages: string[] } {
  const stages: string[] = [];
  const model = new ScriptedModel(({ schema }) => {
    const stage = schema?.name ?? 'draft';
    stages.push(stage);
    const given = replies[stage] ?? [];
    return given[Math.min(stages.filter((one) => one === stage).length, given.length) - 1] ?? new Error(`no ${stage}`);
  });
  return Object.assign(model, { stages });
}

interface Asked {
  readonly state?: JsonObject;
  readonly settings?: JsonObject;
  readonly check?: JsonObject;
  readonly backends?: readonly string[];
}

async function acted(
  model: LanguageModel,
  call: CallSpec,
  { state = STATE, settings = {}, check = {}, backends = ['page-llm'] }: Asked = {},
): Promise<{ answer: Prediction; after: ScreenState }> {
  const domain = pagesDomain('order');
  open.push(domain);
  const config = parseToolsModelConfig({ kind: 'tools', backends, 'page-llm': settings, check } as never);
  const router = await makeRouter(config, { domain, model });
  const task = { id: 'shop.1', family: 'shop', user: { goal: 'Buy it' }, verifier: {} };
  const answer = await router.answer({
    domain,
    task,
    state,
    messages: [],
    call: { id: 'c', ...call },
    step: 0,
    seed: 7,
  });
  return { answer, after: applyOperations(state, answer.operations) as ScreenState };
}

const click = (bid: string): CallSpec => ({ name: 'click', arguments: { bid } });
const PAGE = overview({ outcome: 'page', title: 'All  cakes', memory: 'Plum cake costs 4 EUR.' });
const TREE = {
  reasoning: 'r',
  elements: [
    told(0, 'heading', 'Cakes'),
    told(0, 'list', ''),
    told(1, 'listitem', ''),
    told(2, 'checkbox', 'plum', [{ property: 'checked', value: 'true' }]),
    told(0, 'textbox', 'How many', [{ property: 'value', value: '2' }]),
  ],
  confidence: 0.5,
};

describe('another page', () => {
  it('is told, drafted and written, and what must stay true of it is kept', async () => {
    const model = scripted({ page_overview: [PAGE], draft: ['Cakes: plum, 4 EUR'], page_tree: [TREE] });
    const { answer, after } = await acted(model, click('2'));
    expect(model.stages).toEqual(['page_overview', 'draft', 'page_tree']);
    expect(answer).toMatchObject({
      backend: 'page-llm',
      isError: false,
      confidence: 0.45,
      reward: null,
      terminated: false,
    });
    expect(answer.cost.calls).toBe(3);
    expect(after).toMatchObject({ root: '5', focused: '', reward: 0, done: false, history: ["click('2')"] });
    expect(after.memory).toEqual(['Plum cake costs 4 EUR.']);
    expect(after.elements['5']).toEqual({ role: 'RootWebArea', name: 'All cakes', children: ['6', '7', '10'] });
    expect(after.elements['9']).toEqual({ role: 'checkbox', name: 'plum', checked: true, children: [] });
    expect(answer.observation).toContain("[10] textbox 'How many', value='2'");
    // What is told is data on one line each, and the goal is not told.
    for (const { messages } of model.requests) {
      const lines = messages[1].content!.split('\n').filter((line) => line !== '' && !line.startsWith('## '));
      expect(lines.every((line) => JSON.parse(line) !== undefined)).toBe(true);
      expect(JSON.stringify(messages)).not.toContain('SECRETLY');
    }
    const next = scripted({ page_overview: [overview({ outcome: 'nothing' })] });
    expect((await acted(next, click('6'), { state: after })).answer.refused).toBeUndefined();
    expect(sectionsOf(next.requests[0])).toMatchObject({ Memory: ['Plum cake costs 4 EUR.'] });
  }, 60_000);

  it('is refused where it has no shape, and begun again at the stage that failed', async () => {
    const wrong = { ...TREE, elements: [told(0, 'heading', 'Cakes'), told(2, 'link', 'lost')] };
    const model = scripted({ page_overview: [PAGE], draft: ['d'], page_tree: [wrong, TREE] });
    expect((await acted(model, click('2'))).answer).toMatchObject({ repaired: true, isError: false });
    expect(model.stages).toEqual(['page_overview', 'draft', 'page_tree', 'page_tree']);
    expect(sectionsOf(model.requests[3]).Refused).toMatchObject({
      problems: ['Element 2 (link) has depth 2; after the one before it can have at most 1.'],
    });
    const hopeless = scripted({ page_overview: [PAGE], draft: ['d'], page_tree: [wrong] });
    const { answer, after } = await acted(hopeless, click('2'));
    expect([answer.isError, answer.refused?.length, answer.cost.calls]).toEqual([true, 2, 4]);
    expect(after).toEqual(STATE);
  }, 60_000);
});

describe('a change of the page', () => {
  const ticked = overview({ shows: [{ id: '3', property: 'checked', value: 'true' }] });

  it('is what it claims to be, or is refused', async () => {
    const other = operations(['replace', '/elements/4/expanded', true]);
    const right = operations(['replace', '/elements/3/checked', true]);
    const model = scripted({ page_overview: [ticked], page_operations: [other, right] });
    const { answer, after } = await acted(model, click('3'));
    expect(answer).toMatchObject({ repaired: true, backend: 'page-llm' });
    expect(answer.why.join(' ')).toContain(
      'it is claimed that checked of element "3" is "true" now, and it is "false"',
    );
    expect(after.elements['3'].checked).toBe(true);
    const believed = scripted({ page_overview: [ticked], page_operations: [other] });
    const unchecked = await acted(believed, click('3'), { check: { outcome: false } });
    expect(unchecked.answer).toMatchObject({ isError: false, backend: 'page-llm' });
    expect(unchecked.after.elements['3'].checked).toBe(false);
  }, 60_000);

  it.each<[string, JsonObject, string]>([
    ['rewards', operations(['replace', '/reward', 1], ['replace', '/done', true]), 'a page changes "/elements/ID"'],
    ['a dangling child', operations(['replace', '/elements/1/children', ['2', '3', '4', '9']]), 'no such element'],
    ['nothing at all', operations(), 'a change of the page is claimed, and nothing changes'],
  ])(
    'has no %s',
    async (_, reply, reason) => {
      const model = scripted({ page_overview: [overview({})], page_operations: [reply] });
      const { answer, after } = await acted(model, click('4'));
      expect(answer.refused?.join(' ')).toContain(reason);
      expect(after).toEqual(STATE);
    },
    60_000,
  );
});

it('what is asked of the model and replies that are all cut off are refused, and counted', async () => {
  const server = await serve(() => ({ text: '{"thought": "the page', finishReason: 'length' }));
  const { answer, after } = await acted(await modelOf(server), click('3'));
  expect(answer).toMatchObject({ isError: true, operations: [], confidence: 0 });
  expect(answer.refused).toEqual([
    expect.stringContaining('page-llm, at first: The overview:'),
    expect.stringContaining('page-llm, after repair: The overview:'),
  ]);
  expect([answer.cost.calls, server.requests.length]).toEqual([2, 2]);
  expect(after).toEqual(STATE);
}, 60_000);

it('a language model that proposes changes of the whole state earns nothing by them', async () => {
  const minted = [
    { op: 'replace', path: '/reward', value: '1' },
    { op: 'replace', path: '/done', value: 'true' },
  ];
  const model = new ScriptedModel(() => prediction({ observation: 'Done.', operations: minted }));
  const { answer, after } = await acted(model, click('3'), { backends: ['llm'] });
  expect(answer.refused?.[0]).toContain('The operations change "/reward", "/done"');
  expect(after).toEqual(STATE);
}, 60_000);
