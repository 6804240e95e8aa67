// What actions come to on nearly every page, whatever its scripts do: writing writes, choosing chooses, ticking ticks, and the keyboard
// follows. What a page makes of a click is for others to say.

import type { CallSpec } from '../tools/domain.js';
import { optionsOf } from './refusals.js';
import { actionLine, isSaid } from './screen-actions.js';
import type { ScreenElement, ScreenState } from './screen-state.js';

const FIELDS = new Set(['textbox', 'searchbox', 'spinbutton', 'Date', 'InputTime']);

/** The screen after an action that it does not refuse; undefined where that is the page's affair. */
export function mechanicalScreen(state: ScreenState, call: CallSpec): ScreenState | undefined {
  const said = saidOn(state, call);
  if (said !== undefined) return said;
  const change = changeOf(state, call);
  if (change === undefined) return undefined;
  const { focused = state.focused, elements } = change;
  return {
    ...state,
    focused,
    elements: { ...state.elements, ...elements },
    history: [...state.history, actionLine(call)],
  };
}

/** The screen after something was said, which no page knows of; undefined for whatever is done. */
export function saidOn(state: ScreenState, call: CallSpec): ScreenState | undefined {
  if (!isSaid(call)) return undefined;
  const done = call.name === 'report_infeasible' ? { done: true } : {};
  return { ...state, ...done, history: [...state.history, actionLine(call)] };
}

/** What a screen that an action led to does not show, though the action says so; empty where all is well. */
export function unmetOn(after: ScreenState, { name, arguments: given }: CallSpec): readonly string[] {
  const element = after.elements[String(given['bid'])];
  const wanted = { fill: given['value'], clear: '', select_option: [given['options']].flat().join(', ') }[name];
  // Where the page took the element away, nothing can be said of it.
  if (wanted === undefined || element === undefined || element.value === wanted) return [];
  return [
    `after ${actionLine({ name, arguments: given })} the element's value is ${JSON.stringify(element.value ?? '')}`,
  ];
}

interface Change {
  readonly focused?: string;
  readonly elements?: Readonly<Record<string, ScreenElement>>;
}

function changeOf(state: ScreenState, { name, arguments: given }: CallSpec): Change | undefined {
  const bid = String(given['bid']);
  const element = state.elements[bid];
  switch (name) {
    case 'noop':
    case 'hover':
      return {};
    case 'focus':
      return FIELDS.has(element.role) ? { focused: bid } : undefined;
    case 'fill':
    case 'clear':
      return { focused: bid, elements: { [bid]: { ...element, value: String(given['value'] ?? '') } } };
    case 'select_option':
      return chosen(state, bid, [given['options']].flat().map(String));
    case 'click':
      return clicked(bid, element);
    default:
      return undefined;
  }
}

function clicked(bid: string, element: ScreenElement): Change | undefined {
  if (FIELDS.has(element.role)) return { focused: bid };
  if (element.role !== 'checkbox' || typeof element.checked !== 'boolean') return undefined;
  return { focused: bid, elements: { [bid]: { ...element, checked: !element.checked } } };
}

function chosen(state: ScreenState, bid: string, names: readonly string[]): Change {
  const field = state.elements[bid];
  const options = new Set<ScreenElement>(optionsOf(state, field));
  const changed = Object.entries(state.elements).flatMap(([id, option]): [string, ScreenElement][] =>
    options.has(option) ? [[id, { ...option, selected: names.includes(option.name) }]] : [],
  );
  return { elements: { ...Object.fromEntries(changed), [bid]: { ...field, value: names.join(', ') } } };
}
