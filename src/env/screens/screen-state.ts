// The typed state of a screen: a tree of elements with ids that last as long as their elements do, what was done, and what it earned.
// The tree is kept flat, an entry an element, so that a change of one is one operation.

import { isDeepStrictEqual } from 'node:util';
import type { JsonObject } from '../../core/canonical-json.js';
import type { ToolsDomain } from '../tools/domain.js';

export interface ScreenElement extends JsonObject {
  /** A role of WAI-ARIA, `StaticText` for text between elements, `LabelText` for a label, `generic` for what has none. */
  readonly role: string;
  readonly name: string;
  /** Ids, in order. */
  readonly children: readonly string[];
}

/** Properties that an element may have beside its role, name and children. */
const ELEMENT_PROPERTIES = {
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
  // Open pages as they are numbered, and which of them is seen.
  const lines = (view.tabs ?? []).map((told, i) => `Tab ${i}${i === view.tab ? ' (active)' : ''}: ${told}`);
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

function elementText(id: string, element: ScreenElement, isFocused = false): string {
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
