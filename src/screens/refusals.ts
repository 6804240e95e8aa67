// What a screen refuses, whatever its page would do: actions on elements that it does not have, or that cannot do this.

import { elementKeys } from '../env/screens/screen-actions.js';
import { type ScreenElement, type ScreenState, tabsOf } from '../env/screens/screen-state.js';
import type { CallSpec } from '../env/tools/domain.js';

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
