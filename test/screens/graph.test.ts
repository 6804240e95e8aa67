// A navigation graph in a file: what is done there, what it refuses, who finds the way, and what is wrong with one that cannot be used.

import '../../src/kinds/registry.js';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { checkEnvironment } from '../../src/env/check-environment.js';
import { parseAction, SCREEN_ACTIONS } from '../../src/env/screens/screen-actions.js';
import type { ScreenState } from '../../src/env/screens/screen-state.js';
import { stateHash } from '../../src/env/state/state.js';
import type { CallSpec, ToolsDomain } from '../../src/env/tools/domain.js';
import { makeDomain } from '../../src/env/tools/domains.js';
import { rulesResponder } from '../../src/env/tools/rules-responder.js';
import { initialStateOf } from '../../src/env/tools/situation.js';
import { lineEnvironment } from '../../src/env/tools/text-environment.js';
import { graphDomain } from '../../src/screens/graph/graph-domain.js';
import { rulesEnvironment } from '../env/tools/library.js';
import { temporaryFolder } from '../temporary-folder.js';

// biome-ignore lint/suspicious/noExplicitAny: a file to be spoilt, at any place
type Loose = any;

const SHOP = 'packs/shop/shop.yaml';
const WRITTEN: Loose = parse(readFileSync(SHOP, 'utf8'));
const folder = temporaryFolder('graph');
const shop = graphDomain(SHOP, { seeds: 1 });
afterAll(() => shop.close());

function played(domain: ToolsDomain, task: string) {
  const tools = rulesEnvironment(domain, { responder: rulesResponder(domain, 'real'), maxSteps: 30 });
  const read = (line: string) => ({ call: { id: '', ...(parseAction(line, SCREEN_ACTIONS) as CallSpec) } });
  const env = lineEnvironment(tools, { family: 'screen', read });
  const find = (role: string, name: string) => {
    const { elements } = tools.state as ScreenState;
    return Object.keys(elements).find((id) => elements[id].role === role && elements[id].name === name);
  };
  return { env, find, begin: () => env.reset({ task, seed: 1 }), state: () => tools.state as ScreenState };
}

describe('a graph as a domain', () => {
  it('is a sound environment, whose tasks are all done by the way that is found', async () => {
    for (const domain of [shop, graphDomain(SHOP, { seeds: 1, screens: ['find'] })]) {
      for (const task of domain.tasks.filter(({ split }) => split === 'train')) {
        const { env, begin } = played(domain, task.id);
        await begin();
        const lines = task.reference!.calls.map(
          ({ name, arguments: given }) =>
            `${name}(${Object.values(given)
              .map((one) => JSON.stringify(one))
              .join(', ')})`,
        );
        let last = { reward: 0, terminated: false };
        for (const line of lines) last = await env.step(line);
        expect([task.id, last.reward, last.terminated]).toEqual([task.id, 1, true]);
      }
    }
    const tools = rulesEnvironment(shop, { responder: rulesResponder(shop, 'real') });
    expect((await checkEnvironment(tools)).checks.flatMap(({ problems }) => problems)).toEqual([]);
  });

  it('keeps a cart a cart: what was put in stays, counts and can be taken out again', async () => {
    const { env, find, begin, state } = played(shop, 'order.0');
    await begin();
    const click = async (role: string, name: string) => env.step(`click('${find(role, name)}')`);
    await click('button', 'Search');
    await click('link', 'Honey');
    await env.step(`select_option('${find('combobox', 'How many')}', '2')`);
    await click('button', 'Add to cart');
    await click('button', 'Add to cart');
    await click('link', 'Cart (1)');
    const texts = () => Object.values(state().elements).map(({ name }) => name);
    expect(texts()).toEqual(expect.arrayContaining(['Honey', '4', 'Total 26']));
    const before = state();
    await env.step('go_back()');
    expect(find('combobox', 'How many')).toBeDefined();
    await env.step('go_forward()');
    expect(texts()).toEqual(Object.values(before.elements).map(({ name }) => name));
    await click('button', 'Remove Honey');
    expect(texts()).toEqual(expect.arrayContaining(['Nothing is in it.', 'Total 0']));
    const refused = await env.step(`click('${find('button', 'Checkout')}')`);
    expect(refused.observation).toMatch(/^Error: .*is disabled/);
    expect((await env.step("click('999')")).observation).toMatch(/no element "999"/);
  });

  it('ends by a wrong answer or what counts as over, without a reward', async () => {
    const price = played(shop, 'price.0');
    await price.begin();
    expect(await price.env.step("send_msg_to_user('a lot')")).toMatchObject({ reward: 0, terminated: true });
    const empty = played(shop, 'empty-cart.0');
    await empty.begin();
    await empty.env.step(`click('${empty.find('link', 'Cart (2)')}')`);
    const [one] = Object.values(empty.state().elements).filter(({ name }) => name.startsWith('Remove Sample'));
    await empty.env.step(`click('${empty.find('button', one.name)}')`);
    expect(empty.state()).toMatchObject({ done: false });
    const [other] = Object.values(empty.state().elements).filter(({ name }) => name.startsWith('Remove '));
    expect(await empty.env.step(`click('${empty.find('button', other.name)}')`)).toMatchObject({
      reward: 0,
      terminated: true,
    });
  });

  it('is the same by its name, and every state follows from what was done', async () => {
    const named = await makeDomain({ id: 'screen-graph', graph: SHOP, seeds: 1 });
    expect(named.version).toBe(shop.version);
    const task = named.tasks.find(({ id }) => id === 'find.0')!;
    const state = initialStateOf(named, task);
    const call = { id: '', name: 'click', arguments: { bid: '4' } };
    const [first, second] = [named, shop].map(({ rules }) => rules!.execute(state, call));
    expect(stateHash(first as never)).toBe(stateHash(second as never));
  });
});

it('is as the page on screens shows it: all tasks of its example are done', () => {
  const [, example] = /```yaml\n# notes\.yaml\n([\s\S]*?)```/.exec(readFileSync('docs/screens.md', 'utf8'))!;
  const file = join(folder, 'notes.yaml');
  writeFileSync(file, example);
  const notes = graphDomain(file, { seeds: 1 });
  const ways = notes.tasks.map(({ id, reference }) => [
    id.split('.')[0],
    reference!.calls.map(({ name }) => name).join(),
  ]);
  expect(Object.fromEntries(ways)).toEqual({
    add: 'click,fill,click',
    delete: 'click,click',
    count: 'send_msg_to_user',
  });
});

describe('a graph that cannot be used', () => {
  const cases: [string, (graph: Loose) => unknown, RegExp][] = [
    [
      'a page',
      ({ edges: [edge] }) => Object.assign(edge, { to: 'result' }),
      /edges\.0\.to: there is no page "result" \(did you mean "results"\?\)/,
    ],
    [
      'an element',
      ({ edges: [edge] }) => Object.assign(edge, { on: 'serch' }),
      /edges\.0\.on: there is no element of page "home" "serch"/,
    ],
    [
      'a condition',
      ({ edges: [edge] }) => Object.assign(edge, { when: [{ value: '{query}' }] }),
      /edges\.0\.when\.0: it compares with nothing/,
    ],
    [
      'a brace',
      ({ tasks: [one] }) => Object.assign(one, { goal: 'Open {this one}' }),
      /tasks\.0\.goal: "\{this one\}" is no reference/,
    ],
    ['a goal', ({ tasks: [one] }) => delete one.done, /tasks\.0: it says neither when it is done or over/],
  ];

  it.each(cases)('names the place of %s', (_, spoil, message) => {
    const graph = structuredClone(WRITTEN);
    spoil(graph);
    const file = join(folder, 'spoilt.json');
    writeFileSync(file, JSON.stringify(graph));
    expect(() => graphDomain(file, { seeds: 1 })).toThrow(message);
  });

  it('says which task is done as it begins, and which by no way at all', () => {
    const graph = structuredClone(WRITTEN);
    graph.tasks[0].done = [{ page: 'home' }];
    graph.tasks[2].done = [{ page: 'cart' }, { value: '{lines}', atLeast: 1 }, { value: '{customer}', is: 'Nobody' }];
    graph.edges = graph.edges.filter(({ to }: { to: string }) => to === 'cart');
    const file = join(folder, 'undoable.json');
    writeFileSync(file, JSON.stringify(graph));
    const domain = graphDomain(file, { seeds: 1 });
    expect(() => domain.tasks.find(({ id }) => id === 'find.0')!.user.goal).toThrow(
      /tasks\.0: it is over as soon as it begins/,
    );
    expect(() => domain.tasks.find(({ id }) => id === 'fill-cart.0')!.reference).toThrow(
      /tasks\.2: no way through the pages/,
    );
  });
});
