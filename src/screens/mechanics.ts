// What actions come to on nearly every page, whatever its scripts do: writing writes, choosing chooses, ticking ticks, and the keyboard
// follows. What a page makes of a click is for others to say.

import type { Json } from '../core/canonical-json.js';
import { actionLine, isSaid, parseAction, SCREEN_ACTIONS } from '../env/screens/screen-actions.js';
import { type ScreenElement, type ScreenState, tabsOf } from '../env/screens/screen-state.js';
import type { CallSpec, OutcomeClaim } from '../env/tools/domain.js';
import type { Operation } from '../env/tools/prediction.js';
import { optionsOf } from './screen-actions.js';

/** Of these, what is typed is what they hold. */
const TYPED = new Set(['textbox', 'searchbox']);
/** What leaves the caret of a field where it is. */
const KEEPS_CARET = /^(noop|scroll|hover|send_msg_to_user)\(/;
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
  return { ...state, history: [...state.history, actionLine(call)] };
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
      // There is nothing before one before the first step back.
      return state.history.some((line) => line.startsWith('go_back(')) ? undefined : {};
    case 'focus':
      return FIELDS.has(element.role) ? { focused: bid } : undefined;
    case 'press':
      return pressed(state, bid, String(given['key_comb']));
    case 'fill':
    case 'clear':
      return filled(bid, element, String(given['value'] ?? ''));
    case 'select_option':
      return chosen(state, bid, [given['options']].flat().map(String));
    case 'click':
      return clicked(state, bid, element);
    case 'dblclick':
      return FIELDS.has(element.role) ? { focused: bid } : undefined;
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

/** Share of the elements that must be new for it to be another page. */
const ANOTHER = 0.5;

/** What the screen after an action does not show, though it is claimed; one reason each. */
export function unshownOn(before: ScreenState, after: ScreenState, claim: OutcomeClaim): readonly string[] {
  return [
    ...outcomeFaults(before, after, claim),
    ...(claim.shows ?? []).flatMap(({ id, property, value }) => {
      const is = shownOf(after, id, property);
      if (is === value) return [];
      const found = is === undefined ? 'it is not on the screen' : `it is ${JSON.stringify(is)}`;
      return [`it is claimed that ${property} of element "${id}" is ${JSON.stringify(value)} now, and ${found}`];
    }),
  ];
}

function outcomeFaults(before: ScreenState, after: ScreenState, { outcome, title }: OutcomeClaim): string[] {
  const is = after.elements[after.root]?.name ?? '';
  const faults =
    title === undefined || is === title
      ? []
      : [`a page called ${quote(title)} is claimed, and it is called ${quote(is)}`];
  if (outcome === 'page' && !isAnother(before, after))
    faults.push('another page is claimed, and most of it is what was there');
  if (outcome === 'change' && isSameScreen(before, after))
    faults.push('a change of the page is claimed, and nothing changes');
  if (outcome === 'nothing' && !isSameScreen(before, after))
    faults.push('it is claimed that nothing changes, and the page does');
  return faults;
}

/** `gone` and `focused` are asked of the screen; flags that an element does not have are off. */
function shownOf({ elements, focused }: ScreenState, id: string, property: string): string | undefined {
  const element = elements[id];
  if (property === 'gone') return String(element === undefined);
  if (element === undefined) return undefined;
  if (property === 'focused') return String(focused === id);
  const value = element[property];
  if (value !== undefined) return String(value);
  return property === 'value' || property === 'classes' || property === 'color' ? '' : 'false';
}

/** Whether it is another page: most of its elements are new. */
export function isAnother(before: ScreenState, after: ScreenState): boolean {
  const ids = Object.keys(after.elements);
  const fresh = ids.filter((id) => before.elements[id] === undefined);
  return fresh.length > ANOTHER * ids.length;
}

/** Elements that did not change are the same objects in both. */
function isSameScreen(before: ScreenState, after: ScreenState): boolean {
  if (before.focused !== after.focused) return false;
  const ids = Object.keys(after.elements);
  if (ids.length !== Object.keys(before.elements).length) return false;
  return ids.every((id) => {
    const [was, is] = [before.elements[id], after.elements[id]];
    return was === is || JSON.stringify(was) === JSON.stringify(is);
  });
}

const quote = (text: string) => JSON.stringify(text);

/** More are told as one: another screen. */
const MANY = 120;
const SCALARS = ['page', 'goal', 'focused', 'root', 'reward', 'done'] as const;

/** Of everything but the history. */
export function screenChanges(before: ScreenState, after: ScreenState): Operation[] {
  const scalars = SCALARS.flatMap((key): Operation[] =>
    before[key] === after[key] ? [] : [{ op: 'replace', path: `/${key}`, value: after[key] }],
  );
  const tabs = (['tabs', 'tab'] as const).flatMap((key): Operation[] => {
    const value = after[key];
    return value === undefined || isSame(before[key], value as Json) ? [] : [{ op: 'add', path: `/${key}`, value }];
  });
  const elements = elementChanges(before.elements, after.elements);
  const all: Operation[] = [{ op: 'replace', path: '/elements', value: after.elements }];
  return [...scalars, ...tabs, ...(elements.length > MANY ? all : elements)];
}

type Elements = ScreenState['elements'];

function elementChanges(before: Elements, after: Elements): Operation[] {
  const gone = Object.keys(before).filter((id) => after[id] === undefined);
  return [
    ...gone.map((id): Operation => ({ op: 'remove', path: `/elements/${id}` })),
    ...Object.entries(after).flatMap(([id, element]) => changesOf(id, before[id], element)),
  ];
}

function changesOf(id: string, before: ScreenElement | undefined, after: ScreenElement): Operation[] {
  // Most of a screen is the same object before and after.
  if (before === after) return [];
  const path = `/elements/${id}`;
  if (before === undefined) return [{ op: 'add', path, value: after }];
  const gone = Object.keys(before).filter((key) => after[key] === undefined);
  return [
    ...gone.map((key): Operation => ({ op: 'remove', path: `${path}/${key}` })),
    ...(Object.entries(after) as [string, Json][]).flatMap(([key, value]): Operation[] => {
      if (isSame(before[key], value)) return [];
      return [{ op: before[key] === undefined ? 'add' : 'replace', path: `${path}/${key}`, value }];
    }),
  ];
}

function isSame(a: Json | undefined, b: Json): boolean {
  if (!Array.isArray(a) || !Array.isArray(b)) return a === b;
  return a.length === b.length && a.every((id, i) => id === b[i]);
}
