// Tasks of MiniWoB++ in both browsers: the same actions done in each, and what is seen held against each other.

import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Rng } from '../src/core/rng.js';
import { parseAction, type ScreenAction } from '../src/env/screens/screen-actions.js';
import type { ScreenState } from '../src/env/screens/screen-state.js';
import { applyOperations } from '../src/env/state/operations.js';
import type { CallSpec, ToolsDomain, ToolsTask } from '../src/env/tools/domain.js';
import type { BrowserName } from '../src/screens/page/page-browser.js';
import { possibleActions } from '../src/screens/screen-actions.js';

/** What policies learn in the studies of screens: tasks that jsdom offers. */
export const LEARNT_TASKS = [
  'choose-list',
  'click-button',
  'click-button-sequence',
  'click-checkboxes',
  'click-link',
  'click-option',
  'click-test-2',
  'click-widget',
  'enter-text',
  'focus-text-2',
  'login-user',
  'odd-or-even',
];

/** Some pages look for places until they find some, which they never do without layout. */
const TIMEOUT_SECONDS = 20;

/** The same pages in two browsers. */
export interface Pair {
  readonly jsdom: ToolsDomain;
  readonly chromium: ToolsDomain;
  close(): void;
}

export interface SeedFound {
  readonly seed: number;
  /** Screens compared, the first included. */
  readonly screens: number;
  /** Walks that ended at an element which only jsdom could act on. */
  readonly unreachable: number;
  /** What differs first, and after how many actions; absent where nothing does. */
  readonly difference?: { readonly after: number; readonly what: string };
}

interface Pages {
  homeOf(given: string | undefined, folder: string): string;
  domainOf(
    home: string,
    settings: { names: readonly string[]; seeds: number; browser: BrowserName; timeoutSeconds: number },
  ): ToolsDomain;
}

/** @throws where the pages are not found */
export async function openPair(root: string, names: readonly string[], seeds: number): Promise<Pair> {
  const module = pathToFileURL(join(root, 'packs', 'miniwob', 'pages.mjs')).href;
  const { homeOf, domainOf } = (await import(module)) as Pages;
  const home = homeOf(undefined, root);
  const open = (browser: BrowserName) => domainOf(home, { names, seeds, browser, timeoutSeconds: TIMEOUT_SECONDS });
  const [jsdom, chromium] = [open('jsdom'), open('chromium')];
  const close = () => {
    jsdom.close();
    chromium.close();
  };
  return { jsdom, chromium, close };
}

/** One task: its solution where one is known, then a walk of chance from the beginning. */
export function compareTask({ jsdom, chromium }: Pair, id: string, steps: number): SeedFound {
  const task = taskOf(jsdom, id);
  const seed = Number(id.split('.').at(-1));
  const solution = reference(task);
  const solved = walk(jsdom, chromium, id, (_, at) => solution[at]);
  if (solved.difference !== undefined) return { seed, ...solved };
  const rng = Rng.fromSeed(seed).split('walk', id);
  const walked = walk(jsdom, chromium, id, (state, at) => (at < steps ? drawn(jsdom, state, rng) : undefined));
  const unreachable = solved.unreachable + walked.unreachable;
  return { seed, ...walked, screens: solved.screens + walked.screens, unreachable };
}

type Choose = (state: ScreenState, at: number) => CallSpec | undefined;

function walk(jsdom: ToolsDomain, chromium: ToolsDomain, id: string, choose: Choose): Omit<SeedFound, 'seed'> {
  const domains = [jsdom, chromium];
  let states = domains.map((domain) => {
    const { initialOperations = [] } = taskOf(domain, id);
    return applyOperations(domain.initialState, initialOperations) as ScreenState;
  });
  for (let after = 0; ; after++) {
    const what = differenceOf(states[0], states[1]);
    if (what !== undefined) return { screens: after + 1, unreachable: 0, difference: { after, what } };
    const call = states[0].done ? undefined : choose(states[0], after);
    if (call === undefined) return { screens: after + 1, unreachable: 0 };
    const outcomes = domains.map(({ rules }, i) => rules!.execute(states[i], { id: '', ...call }));
    // An element that takes no room cannot be pointed at; without layout nobody knows.
    if (outcomes[1].isError && !outcomes[0].isError) return { screens: after + 1, unreachable: 1 };
    if (outcomes[0].isError) {
      const what = `${call.name}: ${outcomes.map(({ observation }) => observation.split('\n')[0]).join(' | ')}`;
      return { screens: after + 2, unreachable: 0, difference: { after: after + 1, what } };
    }
    states = states.map((state, i) => applyOperations(state, outcomes[i].operations) as ScreenState);
  }
}

function drawn({ tools }: ToolsDomain, state: ScreenState, rng: Rng): CallSpec | undefined {
  const offered = tools.map(({ name }) => name as ScreenAction);
  const lines = possibleActions(state, offered);
  if (lines.length === 0) return undefined;
  return parseAction(lines[rng.int(lines.length)], offered) as CallSpec;
}

function reference({ reference: known }: ToolsTask): readonly CallSpec[] {
  return known?.calls ?? [];
}

/** Goal, focus, elements, reward and end. */
function differenceOf(a: ScreenState, b: ScreenState): string | undefined {
  for (const key of ['goal', 'reward', 'done', 'focused'] as const) {
    if (a[key] !== b[key]) return `${key}: ${String(a[key])} | ${String(b[key])}`;
  }
  for (const id of new Set([...Object.keys(a.elements), ...Object.keys(b.elements)])) {
    const [one, other] = [a, b].map(({ elements }) => JSON.stringify(elements[id] ?? null));
    if (one !== other) return `element ${id}: ${one.slice(0, 200)} | ${other.slice(0, 200)}`;
  }
  return undefined;
}

function taskOf({ tasks }: ToolsDomain, id: string): ToolsTask {
  return tasks.find((task) => task.id === id)!;
}
