// The typed state of a screen: a tree of elements with ids that last as long as their elements do, what was done, and what it earned.
// The tree is kept flat, an entry an element, so that a change of one is one operation. And what can be done on it: the actions of
// BrowserGym (Chezelles et al., arXiv 2412.05467) that name elements, each of them a tool, and written as that package writes them:
// `click('12')`, `fill('7', 'a text')`.

import { isDeepStrictEqual } from 'node:util';
import type { JsonObject } from '../../core/canonical-json.js';
import type { CallSpec, ToolSpec, ToolsDomain } from '../tools/domain.js';

export interface ScreenElement extends JsonObject {
  /** A role of WAI-ARIA, `StaticText` for text between elements, `LabelText` for a label, `generic` for what has none. */
  readonly role: string;
  readonly name: string;
  /** Ids, in order. */
  readonly children: readonly string[];
}

/** Properties that an element may have beside its role, name and children. */
export const ELEMENT_PROPERTIES = {
  value: { type: 'string' },
  classes: { type: 'string' },
  color: { type: 'string' },
  checked: { type: 'boolean' },
  selected: { type: 'boolean' },
  expanded: { type: 'boolean' },
  disabled: { type: 'boolean' },
  readonly: { type: 'boolean' },
  multiline: { type: 'boolean' },
  multiselectable: { type: 'boolean' },
} as const satisfies JsonObject;

export interface ScreenState extends JsonObject {
  /** Id of the task. */
  readonly page: string;
  readonly goal: string;
  /** Id of the element that the keyboard writes to; empty where there is none. */
  readonly focused: string;
  readonly root: string;
  readonly elements: Readonly<Record<string, ScreenElement>>;
  /** What the page gave at its end; 0 before. */
  readonly reward: number;
  readonly done: boolean;
  /** What was done since the beginning, a line each: any other browser comes to the same place by it. */
  readonly history: readonly string[];
}

export interface ScreenView {
  readonly focused: string;
  readonly root: string;
  readonly elements: Readonly<Record<string, ScreenElement>>;
  /** Open pages of an application, each its path and title, and which of them is seen; absent where there can be but one. */
  readonly tabs?: readonly string[];
  readonly tab?: number;
}

export const SCREEN_SCHEMA: JsonObject = {
  type: 'object',
  properties: {
    page: { type: 'string' },
    goal: { type: 'string' },
    focused: { type: 'string' },
    root: { type: 'string' },
    elements: {
      type: 'object',
      additionalProperties: {
        type: 'object',
        properties: {
          role: { type: 'string', minLength: 1 },
          name: { type: 'string' },
          children: { type: 'array', items: { type: 'string' } },
          ...ELEMENT_PROPERTIES,
        },
        required: ['role', 'name', 'children'],
        additionalProperties: false,
      },
    },
    reward: { type: 'number' },
    done: { type: 'boolean' },
    tabs: { type: 'array', items: { type: 'string' } },
    tab: { type: 'integer', minimum: 0 },
    history: { type: 'array', items: { type: 'string' } },
    memory: { type: 'array', items: { type: 'string' } },
  },
  required: ['page', 'goal', 'focused', 'root', 'elements', 'reward', 'done', 'history'],
  additionalProperties: false,
};

export const NO_SCREEN: ScreenState = Object.freeze({
  page: '',
  goal: '',
  focused: '',
  root: '',
  elements: Object.freeze({}),
  reward: 0,
  done: false,
  history: Object.freeze([]) as readonly string[],
});

/** Open pages of an application, as a view has them; none where there can be but one. */
export function tabsOf({ tabs, tab }: ScreenState): { readonly tabs: readonly string[]; readonly tab: number } {
  return { tabs: (tabs ?? []) as readonly string[], tab: Number(tab ?? 0) };
}

/** Of a dream: what its writer holds on to so that later pages agree with earlier ones, a line each. No real page has it. */
export function memoryOf({ memory }: ScreenState): readonly string[] {
  return (memory ?? []) as readonly string[];
}

/** What is wrong with the tree, one sentence each: an element that is not there, that is nowhere, or that is in two places. */
export function treeFaults({ root, elements, focused }: ScreenView): readonly string[] {
  const faults: string[] = [];
  const placed = new Set<string>();
  const open = root === '' ? [] : [root];
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    if (elements[id] === undefined) faults.push(`element "${id}" is a child, and there is no such element`);
    else if (placed.has(id)) faults.push(`element "${id}" stands in two places`);
    else open.push(...elements[id].children);
    placed.add(id);
  }
  for (const id of Object.keys(elements)) if (!placed.has(id)) faults.push(`element "${id}" is nowhere on the screen`);
  if (focused !== '' && elements[focused] === undefined) faults.push(`the focused element "${focused}" does not exist`);
  return faults;
}

export function isScreenDomain({ stateSchema }: Pick<ToolsDomain, 'stateSchema'>): boolean {
  return isDeepStrictEqual(stateSchema, SCREEN_SCHEMA);
}

/** Roles whose state is always told, as in BrowserGym. */
const CHECKED = new Set(['checkbox', 'radio', 'switch']);
/** What is told by its bare name where it is so. */
const LOOKS = ['classes', 'color'] as const;
const FLAGS = ['selected', 'disabled', 'readonly', 'multiline', 'multiselectable'] as const;

/** One line an element, indented by tabs. */
export function screenText(view: ScreenView): string {
  const lines = tabLines(view);
  const open: [string, number][] = view.root === '' ? [] : [[view.root, 0]];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [id, depth] = next;
    const element = view.elements[id];
    if (element === undefined) continue;
    const isTold = isWorthTelling(element, id === view.focused);
    if (isTold) lines.push(`${'\t'.repeat(depth)}${elementText(id, element, id === view.focused)}`);
    for (const child of [...element.children].reverse()) open.push([child, isTold ? depth + 1 : depth]);
  }
  return lines.join('\n');
}

/** Open pages as they are numbered, and which of them is seen. */
function tabLines({ tabs = [], tab }: ScreenView): string[] {
  return tabs.map((told, i) => `Tab ${i}${i === tab ? ' (active)' : ''}: ${told}`);
}

export function elementText(id: string, element: ScreenElement, isFocused = false): string {
  const { role, name } = element;
  const head = role === 'StaticText' || role === 'RootWebArea' ? role : `[${id}] ${role}`;
  return [`${head} ${quoted(name)}`, ...propertiesOf(element, isFocused)].join(', ');
}

/** A text as Python writes it, which is how agents of this syntax quote. */
export function quoted(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  const escaped = text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('\t', '\\t').replaceAll('\r', '\\r');
  return `${quote}${quote === "'" ? escaped.replaceAll("'", "\\'") : escaped}${quote}`;
}

function isWorthTelling(element: ScreenElement, isFocused: boolean): boolean {
  const { role, name } = element;
  return isFocused || role !== 'generic' || name !== '' || propertiesOf(element, false).length > 0;
}

function propertiesOf({ role, value, checked, expanded, ...rest }: ScreenElement, isFocused: boolean): string[] {
  const told: string[] = [];
  if (value !== undefined && value !== '') told.push(`value=${quoted(String(value))}`);
  for (const key of LOOKS) if (rest[key] !== undefined) told.push(`${key}=${quoted(String(rest[key]))}`);
  if (isFocused) told.push('focused');
  if (CHECKED.has(role) || checked !== undefined) told.push(`checked='${checked === true}'`);
  if (expanded !== undefined) told.push(`expanded=${expanded === true ? 'True' : 'False'}`);
  return [...told, ...FLAGS.filter((flag) => rest[flag] === true)];
}

const bid = { type: 'string', description: 'id of an element, as the screen has it in brackets' } as const;
const text = (description: string) => ({ type: 'string', description }) as const;

interface ActionForm {
  readonly summary: string;
  /** Arguments in their order, by name. */
  readonly takes: Readonly<Record<string, JsonObject>>;
  /** How many of them must be given. */
  readonly needs: number;
}

const FORMS = {
  noop: {
    summary: 'Does nothing for a while.',
    takes: { wait_ms: { type: 'number', minimum: 0, maximum: 60_000, description: 'milliseconds; 1000 by default' } },
    needs: 0,
  },
  click: { summary: 'Clicks an element.', takes: { bid }, needs: 1 },
  dblclick: { summary: 'Clicks an element twice.', takes: { bid }, needs: 1 },
  hover: { summary: 'Moves the pointer over an element.', takes: { bid }, needs: 1 },
  focus: { summary: 'Gives an element the keyboard.', takes: { bid }, needs: 1 },
  fill: {
    summary: 'Writes a text into a field, in place of what is there.',
    takes: { bid, value: text('what the field is to hold') },
    needs: 2,
  },
  clear: { summary: 'Empties a field.', takes: { bid }, needs: 1 },
  press: {
    summary: 'Gives an element the keyboard and presses a key.',
    takes: { bid, key_comb: text("a character, or a key's name, such as Enter, Tab, Backspace or ArrowDown") },
    needs: 2,
  },
  select_option: {
    summary: 'Chooses among the options of a field.',
    takes: {
      bid,
      options: {
        anyOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' } }],
        description: 'an option as it reads, or several',
      },
    },
    needs: 2,
  },
  drag_and_drop: {
    summary: 'Drags an element onto another.',
    takes: { from_bid: bid, to_bid: bid },
    needs: 2,
  },
  scroll: {
    summary: 'Turns the wheel.',
    takes: {
      delta_x: { type: 'number', description: 'pixels to the right' },
      delta_y: { type: 'number', description: 'pixels down' },
    },
    needs: 2,
  },
  goto: {
    summary: 'Opens another page of the application.',
    takes: { url: text("its address below the application's, such as /") },
    needs: 1,
  },
  go_back: { summary: 'Goes back to the page before.', takes: {}, needs: 0 },
  go_forward: { summary: 'Goes forward again.', takes: {}, needs: 0 },
  new_tab: { summary: 'Opens another tab, on the first page, and goes there.', takes: {}, needs: 0 },
  tab_close: { summary: 'Closes the tab.', takes: {}, needs: 0 },
  tab_focus: {
    summary: 'Goes to another tab.',
    takes: { index: { type: 'integer', minimum: 0, description: 'its number' } },
    needs: 1,
  },
  send_msg_to_user: {
    summary: 'Says something to who set the task, or answers what was asked.',
    takes: { text: text('what is said') },
    needs: 1,
  },
} as const satisfies Readonly<Record<string, ActionForm>>;

/** The action that answers a question, of worlds whose tasks ask some. */
export const ANSWERS = 'send_msg_to_user';

/** Actions on pages, which applications have several of. */
export const PAGE_ACTIONS = ['goto', 'go_back', 'go_forward', 'new_tab', 'tab_close', 'tab_focus'] as const;

export type ScreenAction = keyof typeof FORMS;

/** What is said and not done: no page knows of it. */
export function isSaid({ name }: Pick<CallSpec, 'name'>): boolean {
  return name === ANSWERS;
}

export const SCREEN_ACTIONS = Object.keys(FORMS) as readonly ScreenAction[];

/** The actions as tools, in the order of BrowserGym. */
export function screenTools(names: readonly ScreenAction[]): readonly ToolSpec[] {
  return SCREEN_ACTIONS.filter((name) => names.includes(name)).map((name) => {
    const { summary, takes, needs } = FORMS[name];
    const required = Object.keys(takes).slice(0, needs);
    const parameters: JsonObject = { type: 'object', properties: takes, required, additionalProperties: false };
    return { name, description: summary, parameters, kind: 'write' };
  });
}

export function elementKeys(name: string): readonly string[] {
  const takes: Readonly<Record<string, JsonObject>> = FORMS[name as ScreenAction]?.takes ?? {};
  return Object.keys(takes).filter((key) => takes[key] === bid);
}

/** The line that an action is written as. What comes after an argument that is missing, or has no place, is written by its name. */
export function actionLine({ name, arguments: given }: CallSpec): string {
  const order = Object.keys(FORMS[name as ScreenAction]?.takes ?? {});
  const missing = order.findIndex((key) => given[key] === undefined);
  const placed = missing < 0 ? order : order.slice(0, missing);
  const others = Object.keys(given).filter((key) => !placed.includes(key) && given[key] !== undefined);
  const values = [...placed.map((key) => written(given[key])), ...others.map((key) => `${key}=${written(given[key])}`)];
  return `${name}(${values.join(', ')})`;
}

function written(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(written).join(', ')}]`;
  return typeof value === 'string' ? quoted(value) : String(value);
}

/**
 * The action that a line is, or what is wrong with it. Arguments may be named, as in `fill(bid='7', value='a text')`. Whether the
 * values fit is the tools' schemas to say, and whether the element exists the screen's.
 */
export function parseAction(line: string, offered: readonly ScreenAction[]): CallSpec | string {
  const [, name, rest] = /^\s*([A-Za-z_]\w*)\s*\(([\s\S]*)\)\s*;?\s*$/.exec(line) ?? [];
  if (name === undefined) return `an action is written like click('12'), and not like ${shortened(line)}`;
  if (!offered.includes(name as ScreenAction)) return `unknown action "${name}"; there are: ${offered.join(', ')}`;
  const order = Object.keys(FORMS[name as ScreenAction].takes);
  const read = readArguments(rest, order);
  if (typeof read === 'string') return `${name}: ${read}`;
  const missing = order.slice(0, FORMS[name as ScreenAction].needs).filter((key) => read[key] === undefined);
  return missing.length === 0 ? { name, arguments: read } : `${name} needs ${missing.join(' and ')}`;
}

function shortened(line: string): string {
  return JSON.stringify(line.length > 80 ? `${line.slice(0, 80)}…` : line);
}

const VALUE = /'(?:[^'\\]|\\[\s\S])*'|"(?:[^"\\]|\\[\s\S])*"|[-+]?\d+(?:\.\d*)?(?![\w.])/.source;
const VALUES = new RegExp(VALUE, 'g');
/** By place or by name: a text, a number, or a list of these. */
const ARGUMENT = new RegExp(
  `^(?:([A-Za-z_]\\w*)\\s*=\\s*)?(${VALUE}|\\[(?:\\s*(?:${VALUE})\\s*(?:,|(?=\\])))*\\s*\\])`,
);
const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', '\n': '' };

/** Arguments of a call in Python, or what is wrong with them. */
function readArguments(source: string, order: readonly string[]): JsonObject | string {
  const given: Record<string, JsonObject[string]> = {};
  let left = source.trim();
  for (let place = 0; left !== ''; place++) {
    const [all, name, value] = ARGUMENT.exec(left) ?? [];
    if (all === undefined) return unreadable(left);
    const key = name ?? order[place];
    if (key === undefined) return `it takes ${order.length} arguments at most: ${order.join(', ')}`;
    if (!order.includes(key)) return `it has no argument "${key}"; it has: ${order.join(', ')}`;
    if (given[key] !== undefined) return `the argument "${key}" is given twice`;
    given[key] = readValue(value);
    left = left.slice(all.length).trimStart();
    if (left !== '' && !left.startsWith(',')) return unreadable(left);
    left = left.slice(1).trimStart();
  }
  return given;
}

function readValue(text: string): string | number | readonly (string | number)[] {
  if (text.startsWith('[')) return [...text.matchAll(VALUES)].map(([one]) => readValue(one) as string | number);
  if (!/^['"]/.test(text)) return Number(text);
  return text.slice(1, -1).replaceAll(/\\([\s\S])/g, (_, character: string) => ESCAPES[character] ?? character);
}

function unreadable(rest: string): string {
  const why = /^\)\s*[;\n]?\s*\w+\s*\(/.test(rest) ? 'a turn is one action' : 'texts stand in quotes';
  return `the arguments cannot be read at ${shortened(rest)}: ${why}`;
}

export function textsNamed(goal: string): readonly string[] {
  return [...goal.matchAll(/"([^"]+)"/g)].map(([, text]) => text);
}
