// Actions that a screen offers by what is on it: what agents choose among that write no lines of their own. There are more, as any text
// can be written into a field; these are texts that the task names in quotes.

import { ANSWERS, actionLine, elementKeys, type ScreenAction, textsNamed } from '../env/screens/screen-actions.js';
import { type ScreenElement, type ScreenState, type ScreenView, tabsOf } from '../env/screens/screen-state.js';
import type { CallSpec } from '../env/tools/domain.js';

/** Roles of what is pointed at as a whole. */
const POINTED = new Set(['button', 'link', 'menuitem', 'radio', 'checkbox', 'tab', 'treeitem']);

/**
 * In the order of the screen: clicks, then what is written and chosen; none that the screen refuses.
 * @param answers texts that a task which asks something may be answered with
 */
export function possibleActions(
  state: ScreenState,
  offered: readonly ScreenAction[],
  answers: readonly string[] = [],
): readonly string[] {
  const texts = textsNamed(state.goal);
  const [, ...within] = elementsBelow(state);
  const calls = within.flatMap((bid): CallSpec[] => {
    const element = state.elements[bid];
    const options = optionsOf(state, element);
    const holds = element.children.filter((id) => state.elements[id].role !== 'StaticText');
    // What holds others is pointed at by pointing at one of these.
    if (holds.length > options.length && !POINTED.has(element.role)) return [];
    return [
      { name: 'click', arguments: { bid } },
      ...texts.map((value) => ({ name: 'fill', arguments: { bid, value } })),
      ...options.map(({ name }) => ({ name: 'select_option', arguments: { bid, options: name } })),
    ];
  });
  calls.push(...pageCalls(state), ...answers.map((text) => ({ name: ANSWERS, arguments: { text } })));
  const able = calls.filter((call) => offered.includes(call.name as ScreenAction));
  return able.filter((call) => screenRefusals(state, call).length === 0).map(actionLine);
}

/** Where there are several pages: back, and to other tabs. */
function pageCalls(state: ScreenState): CallSpec[] {
  const { tabs, tab } = tabsOf(state);
  if (tabs.length === 0) return [];
  const others = tabs.flatMap((_, index): CallSpec[] =>
    index === tab ? [] : [{ name: 'tab_focus', arguments: { index } }],
  );
  const closing: CallSpec[] = others.length > 0 ? [{ name: 'tab_close', arguments: {} }] : [];
  return [{ name: 'go_back', arguments: {} }, ...others, ...closing];
}

const WRITABLE = new Set(['textbox', 'searchbox', 'spinbutton', 'combobox', 'slider', 'Date', 'InputTime']);
const CHOOSING = new Set(['combobox', 'listbox']);

/** Reasons why the action must fail here, one sentence each; empty if the page is to be asked. */
export function screenRefusals(state: ScreenState, { name, arguments: given }: CallSpec): readonly string[] {
  if (state.page === '') return ['no page is open'];
  if (state.done) return ['the task has ended'];
  const ids = elementKeys(name).map((key) => String(given[key]));
  const unknown = ids.filter((id) => state.elements[id] === undefined);
  if (unknown.length > 0) return unknown.map((id) => `there is no element "${id}" on the screen`);
  return [...pageRefusals(state, name, given), ...ids.flatMap((id) => elementRefusals(state, id, name, given))];
}

function pageRefusals(state: ScreenState, name: string, given: CallSpec['arguments']): string[] {
  const { tabs } = tabsOf(state);
  if (name === 'tab_close' && tabs.length < 2) return ['it is the only tab'];
  if (name === 'tab_focus' && tabs[Number(given['index'])] === undefined) return [`there is no tab ${given['index']}`];
  if (name !== 'goto' || String(given['url']).startsWith('/')) return [];
  return [`only addresses of the application can be opened, which begin with "/", and not ${given['url']}`];
}

function elementRefusals(state: ScreenState, id: string, name: string, given: CallSpec['arguments']): string[] {
  const element = state.elements[id];
  const called = `element "${id}" (${element.role})`;
  if (element.role === 'StaticText') return [`${called} is text, which nothing can be done with`];
  if (element.role === 'option') return [`${called} is an option: use select_option on the field it belongs to`];
  if (element.disabled === true && name !== 'hover') return [`${called} is disabled`];
  if (name === 'fill' || name === 'clear') {
    if (!WRITABLE.has(element.role) || optionsOf(state, element).length > 0)
      return [`${called} is no field to write in`];
    return element.readonly === true ? [`${called} can only be read`] : [];
  }
  return name === 'select_option' ? optionRefusals(state, element, called, given['options']) : [];
}

function optionRefusals(state: ScreenState, element: ScreenElement, called: string, wanted: unknown): string[] {
  const options = optionsOf(state, element);
  if (!CHOOSING.has(element.role) || options.length === 0) return [`${called} has no options to choose from`];
  const names = (Array.isArray(wanted) ? wanted : [wanted]).map(String);
  if (names.length > 1 && element.multiselectable !== true) return [`of ${called} only one option can be chosen`];
  const known = options.map((option) => option.name);
  return names.filter((one) => !known.includes(one)).map((one) => `${called} has no option "${one}"`);
}

/** Options of a field, in order, those within groups too. */
export function optionsOf({ elements }: ScreenState, { children }: ScreenElement): ScreenElement[] {
  return children.flatMap((id) => {
    const child = elements[id];
    if (child === undefined) return [];
    return child.role === 'option'
      ? [child]
      : child.role === 'group'
        ? optionsOf({ elements } as ScreenState, child)
        : [];
  });
}

/** Ids at and below one, in the order of the page; by default of the whole screen. */
export function elementsBelow({ root, elements }: Pick<ScreenView, 'root' | 'elements'>, id = root): string[] {
  const ids: string[] = [];
  const open = [id];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const element = elements[next];
    if (element === undefined) continue;
    ids.push(next);
    open.push(...[...element.children].reverse());
  }
  return ids;
}

/** The first such element at or below another; of any name unless one is given. */
export function findElement(screen: ScreenView, role: string, name?: string, within?: string): string | undefined {
  return elementsBelow(screen, within).find((id) => {
    const element = screen.elements[id];
    return element.role === role && (name === undefined || element.name === name);
  });
}

export function clickOn(bid: string | undefined): string | undefined {
  return bid && actionLine({ name: 'click', arguments: { bid } });
}

export function fillIn(bid: string | undefined, value: string): string | undefined {
  return bid && actionLine({ name: 'fill', arguments: { bid, value } });
}

/** @param option  the text of one of its options */
export function selectIn(bid: string | undefined, option: string): string | undefined {
  return bid && actionLine({ name: 'select_option', arguments: { bid, options: option } });
}

/** A reading of each call, in order; what it names must be on the screen. */
export function actionReadings(state: ScreenState, calls: readonly CallSpec[]): readonly string[] {
  const labels = textsBeside(state);
  return calls.map(({ name, arguments: { bid, ...given } }) => {
    const element = state.elements[String(bid)];
    const values = Object.values(given).flat().map(String);
    if (element === undefined) return [name, ...values].join(' ');
    const called = element.name || element.classes || labels.get(String(bid)) || '';
    return [name, ...values, element.role, ...standingOf(element), called].filter((word) => word !== '').join(' ');
  });
}

function standingOf({ checked, selected, expanded, value }: ScreenElement): string[] {
  const flags = { checked, selected, expanded };
  const told = Object.entries(flags).flatMap(([flag, is]) =>
    is === undefined ? [] : [is === true ? flag : `un${flag}`],
  );
  return [...told, ...(value === undefined || value === '' ? [] : ['holding', String(value)])];
}

/** The last text that stands before each element, in the order of the screen; of what it holds itself, the first. */
function textsBeside({ root, elements }: ScreenState): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  let last = '';
  const open = [root];
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    const { name, children } = elements[id];
    const own = children.map((child) => elements[child].name).find((text) => text !== '');
    found.set(id, own ?? last);
    if (name !== '' && id !== root) last = name;
    open.push(...[...children].reverse());
  }
  return found;
}
