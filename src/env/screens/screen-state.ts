// The typed state of a screen: a tree of elements with ids that last as long as their elements do, what was done, and what it earned.
// The tree is kept flat, an entry an element, so that a change of one is one operation.

import { isDeepStrictEqual } from 'node:util';
import type { JsonObject } from '../../core/canonical-json.js';
import type { ToolsDomain } from '../tools/domain.js';

/** An element of a screen, as accessibility trees have them. */
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

/** What a browser shows of a page. */
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

/** The state of no page. */
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

/** Whether its states are screens. */
export function isScreenDomain({ stateSchema }: Pick<ToolsDomain, 'stateSchema'>): boolean {
  return isDeepStrictEqual(stateSchema, SCREEN_SCHEMA);
}
