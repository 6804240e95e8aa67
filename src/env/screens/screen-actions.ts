// What can be done on a screen: the actions of BrowserGym (Chezelles et al., arXiv 2412.05467) that name elements, each of them a
// tool, and written as that package writes them: `click('12')`, `fill('7', 'a text')`.

import type { JsonObject } from '../../core/canonical-json.js';
import type { CallSpec, ToolSpec } from '../tools/domain.js';
import { quoted } from './screen-state.js';

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
  drag_and_drop: { summary: 'Drags an element onto another.', takes: { from_bid: bid, to_bid: bid }, needs: 2 },
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
