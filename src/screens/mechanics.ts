// What actions come to on nearly every page, whatever its scripts do: writing writes, choosing chooses, ticking ticks, and the keyboard
// follows. What a page makes of a click is for others to say.

import { actionLine, isSaid, parseAction, SCREEN_ACTIONS } from '../env/screens/screen-actions.js';
import { type ScreenElement, type ScreenState, tabsOf } from '../env/screens/screen-state.js';
import type { CallSpec } from '../env/tools/domain.js';
import { optionsOf } from './refusals.js';

/** Of these, what is typed is what they hold. */
const TYPED = new Set(['textbox', 'searchbox']);
/** What leaves the caret of a field where it is. */
const KEEPS_CARET = /^(noop|scroll|hover|send_msg_to_user|keyboard_type|keyboard_insert_text)\(/;
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
    case 'scroll':
      return {};
    case 'tab_focus':
      return Number(given['index']) === tabsOf(state).tab ? {} : undefined;
    case 'go_forward':
      // There is nothing before one where nobody went back.
      return state.history.some((line) => line.startsWith('go_back(')) ? undefined : {};
    case 'focus':
      return FIELDS.has(element.role) ? { focused: bid } : undefined;
    case 'press':
      return pressed(state, bid, String(given['key_comb']));
    case 'keyboard_press':
      return pressed(state, state.focused, String(given['key']));
    case 'keyboard_type':
    case 'keyboard_insert_text':
      return written(state, state.focused, (value) => `${value}${given['text']}`, String(given['text']));
    case 'fill':
    case 'clear':
      return filled(bid, element, String(given['value'] ?? ''));
    case 'select_option':
      return chosen(state, bid, [given['options']].flat().map(String));
    case 'click':
      return isPlainClick(given) ? clicked(state, bid, element) : undefined;
    case 'dblclick':
      return isPlainClick(given) && FIELDS.has(element.role) ? { focused: bid } : undefined;
    default:
      return undefined;
  }
}

/** What these fields hold is of a form; whatever else is written into one, it becomes what the browser makes of it. */
const FORMS: Readonly<Record<string, RegExp>> = {
  spinbutton: /^(-?\d+(\.\d+)?)?$/,
  Date: /^(\d{4}-(0[1-9]|1[0-2])-(0[1-9]|1\d|2[0-8]))?$/,
  InputTime: /^(([01]\d|2[0-3]):[0-5]\d)?$/,
  slider: /^\b$/,
  ColorWell: /^\b$/,
};

function filled(bid: string, element: ScreenElement, value: string): Change | undefined {
  if (FORMS[element.role]?.test(value) === false) return undefined;
  return { focused: bid, elements: { [bid]: { ...element, value } } };
}

/** What other buttons and keys that are held make of it is the page's affair. */
function isPlainClick({ button = 'left', modifiers = [] }: CallSpec['arguments']): boolean {
  return button === 'left' && [modifiers].flat().length === 0;
}

function clicked(state: ScreenState, bid: string, element: ScreenElement): Change | undefined {
  if (FIELDS.has(element.role)) return { focused: bid };
  if (typeof element.checked !== 'boolean') return undefined;
  if (element.role === 'radio') return chosenOne(state, bid, element);
  if (element.role !== 'checkbox') return undefined;
  return { focused: bid, elements: { [bid]: { ...element, checked: !element.checked } } };
}

/** A screen does not tell which radio buttons are of one group: where another is chosen, it may lose the choice or keep it. */
function chosenOne({ elements }: ScreenState, bid: string, element: ScreenElement): Change | undefined {
  if (element.checked) return { focused: bid };
  const others = Object.values(elements).some(({ role, checked }) => role === 'radio' && checked === true);
  return others ? undefined : { focused: bid, elements: { [bid]: { ...element, checked: true } } };
}

/** A character, or the one before the caret taken away; other keys are the page's affair. */
function pressed(state: ScreenState, bid: string, key: string): Change | undefined {
  if (key === 'Backspace') return written(state, bid, (value) => Array.from(value).slice(0, -1).join(''));
  return [...key].length === 1 ? written(state, bid, (value) => `${value}${key}`, key) : undefined;
}

/** What is typed at the end of a field of text, where its caret is known to be there. */
function written(state: ScreenState, bid: string, change: (value: string) => string, text = ''): Change | undefined {
  const field = state.elements[bid];
  if (field === undefined || !TYPED.has(field.role) || typeof field.value !== 'string') return undefined;
  const isOpen = field.disabled !== true && field.readonly !== true && optionsOf(state, field).length === 0;
  // Line breaks may send a form.
  if (!isOpen || /[\n\r\t]/.test(text) || !(field.value === '' || endsAtCaret(state, bid))) return undefined;
  return { focused: bid, elements: { [bid]: { ...field, value: change(field.value) } } };
}

/** Whether it was written in just now, at its end, and nothing moved the caret since. */
function endsAtCaret({ history, focused }: ScreenState, bid: string): boolean {
  const last = history.findLast((line) => !KEEPS_CARET.test(line));
  const call = last === undefined ? '' : parseAction(last, SCREEN_ACTIONS);
  if (typeof call === 'string' || focused !== bid || call.arguments['bid'] !== bid) return false;
  const key = String(call.arguments['key_comb']);
  return call.name === 'fill' || (call.name === 'press' && (key === 'Backspace' || [...key].length === 1));
}

function chosen(state: ScreenState, bid: string, names: readonly string[]): Change {
  const field = state.elements[bid];
  const options = new Set<ScreenElement>(optionsOf(state, field));
  const changed = Object.entries(state.elements).flatMap(([id, option]): [string, ScreenElement][] =>
    options.has(option) ? [[id, { ...option, selected: names.includes(option.name) }]] : [],
  );
  return { elements: { ...Object.fromEntries(changed), [bid]: { ...field, value: names.join(', ') } } };
}
