// Pages shown otherwise: other ids, another order, elements that nobody asked for. The task and its verdict stay what they are.

import { afterAll, describe, expect, it } from 'vitest';
import { actionLine } from '../../src/env/screens/screen-actions.js';
import type { ScreenElement, ScreenView } from '../../src/env/screens/screen-state.js';
import { type ScreenState, treeFaults } from '../../src/env/screens/screen-state.js';
import { applyOperations } from '../../src/env/state/operations.js';
import type { CallSpec } from '../../src/env/tools/domain.js';
import { type Perturbation, perturbationSchema, shownPage } from '../../src/screens/perturbation.js';
import { pagesDomain } from './fixture.js';

const element = (role: string, name: string, ...children: string[]): ScreenElement => ({ role, name, children });
const view: ScreenView = {
  focused: '4',
  root: '1',
  elements: {
    1: element('RootWebArea', 'Form', '2', '10', '20', '21', '22', '23'),
    2: element('list', '', '3', '4', '5', '6'),
    3: element('link', 'one'),
    4: element('link', 'two'),
    5: element('link', 'three'),
    6: element('link', 'four'),
    10: element('row', '', '11', '12'),
    11: element('cell', 'a'),
    12: element('cell', 'b'),
    20: element('textbox', ''),
    21: element('textbox', ''),
    22: element('paragraph', 'First this.'),
    23: element('paragraph', 'Then that.'),
  },
};
const page = (given: Partial<Perturbation>, name = 'form.1') => shownPage(perturbationSchema.parse(given), name, 500);
const wordsOf = ({ elements }: ScreenView) =>
  Object.values(elements)
    .map(({ role, name }) => `${role} ${name}`)
    .sort();

describe('a screen shown otherwise', () => {
  it('has other ids, which mean the elements of the page', () => {
    const { shown, meant } = page({ ids: true });
    const seen = shown(view, 'Click "two".');
    expect(treeFaults(seen)).toEqual([]);
    expect(wordsOf(seen)).toEqual(wordsOf(view));
    expect(seen.elements[seen.focused].name).toBe('two');
    expect(seen.focused).not.toBe('4');
    expect(meant({ name: 'fill', arguments: { bid: seen.focused, value: 'x' } })).toEqual({
      ...{ name: 'fill', arguments: { bid: '4', value: 'x' } },
    });
    expect(meant({ name: 'noop', arguments: {} })).toEqual({ name: 'noop', arguments: {} });
    expect(page({ ids: true, seed: 1 }).shown(view, '')).not.toEqual(seen);
  });

  it('has what stands beside its like in another order, and nothing else', () => {
    const orders = Array.from({ length: 8 }, (_, seed) => page({ order: true, seed }).shown(view, 'Click "first".'));
    expect(new Set(orders.map(({ elements }) => elements[2].children.join())).size).toBeGreaterThan(3);
    for (const { elements } of orders) {
      expect([...elements[2].children].sort()).toEqual(view.elements[2].children);
      expect({ ...elements, 2: null }).toEqual({ ...view.elements, 2: null });
    }
    const named = Array.from({ length: 8 }, (_, seed) =>
      page({ order: true, seed }).shown(view, 'Click the 2nd link.'),
    );
    expect(named).toEqual(named.map(() => view));
  });

  it('keeps that order while the page changes', () => {
    const { shown } = page({ order: true, seed: 2 });
    const { elements } = view;
    const less = { ...view, elements: { ...elements, 2: element('list', '', '3', '5', '6') } };
    const all = shown(view, '').elements[2].children.filter((id) => id !== '4');
    expect(shown(less, '').elements[2].children).toEqual(all);
  });

  it('has more that does nothing, and is not what the goal speaks of', () => {
    const { shown, meant } = page({ distractors: 3 });
    const seen = shown(view, 'Click the button "Send".');
    const added = Object.entries(seen.elements).filter(([id]) => view.elements[id] === undefined);
    expect(added.map(([, { role }]) => role)).toEqual(['link', 'link', 'link']);
    expect(treeFaults(seen)).toEqual([]);
    expect(meant({ name: 'click', arguments: { bid: added[0][0] } })).toEqual({
      ...{ name: 'noop', arguments: { wait_ms: 500 } },
    });
    expect(Object.keys(shown(view, 'A button or a link?').elements)).toHaveLength(Object.keys(view.elements).length);
  });
});

const all = { ids: true, order: true, distractors: 4, seed: 3 };
const domain = pagesDomain('order', { perturb: all });
const plain = pagesDomain('order');
afterAll(() => {
  domain.close();
  plain.close();
});

it('is done by the same actions, and pays the same', () => {
  expect(domain.version).not.toBe(plain.version);
  const begun = (of: typeof domain) =>
    applyOperations(of.initialState, of.tasks[0].initialOperations ?? []) as ScreenState;
  let state = begun(domain);
  expect(state.goal).toBe(begun(plain).goal);
  const act = (name: string, role: string, given: CallSpec['arguments'] = {}, text = '') => {
    const [bid] = Object.entries(state.elements).find(([, one]) => one.role === role && one.name.includes(text))!;
    const { operations, isError } = domain.rules!.execute(state, { id: '', name, arguments: { bid, ...given } });
    expect(isError).toBe(false);
    state = applyOperations(state, operations) as ScreenState;
    return bid;
  };
  const [, options] = /"(\w+)"/.exec(state.goal)!;
  act('fill', 'textbox', { value: "O'Neil" });
  const before = state;
  const bid = act('click', 'link', {}, 'Privacy');
  expect(state).toEqual({ ...before, history: [...before.history, actionLine({ name: 'click', arguments: { bid } })] });
  act('select_option', 'combobox', { options });
  act('click', 'checkbox');
  act('click', 'button', {}, 'Send');
  expect(state).toMatchObject({ done: true, reward: 1 });
}, 60_000);
