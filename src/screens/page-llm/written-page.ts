// What the model wrote, as the screen after the action: a tree, changes, or HTML that was drawn. None of it touches what the task is, what
// was earned or whether it is over.

import type { Json } from '../../core/canonical-json.js';
import { ReverieError } from '../../core/errors.js';
import { type ScreenElement, type ScreenState, type ScreenView, tabsOf } from '../../env/screens/screen-state.js';
import { applyOperations } from '../../env/state/operations.js';
import type { Operation } from '../../env/tools/prediction.js';
import type { DrawnPage } from '../page/still-page.js';
import { screenOfDrawn } from '../screen-drawn.js';
import type { OverviewReply, TreeElement } from './replies.js';

/** The screen after, or what is wrong with it, a sentence each. */
export type Written = { readonly after: ScreenState } | { readonly problems: readonly string[] };

const MAX_ELEMENTS = 800;
const TEXTS = new Set(['value']);

/** A tree that is told flat. New elements get the next ids in the order of the page, as in a browser. */
export function pageOfTree(
  before: ScreenState,
  { title }: Pick<OverviewReply, 'title'>,
  told: readonly TreeElement[],
  taken: number,
): Written {
  const problems = faultsOf(told);
  if (problems.length > 0) return { problems };
  const root = String(taken + 1);
  const name = titleOf(title);
  const elements: Record<string, ScreenElement> = {};
  const children = new Map<string, string[]>([[root, []]]);
  const open = [root];
  told.forEach(({ depth, role, name, states }, i) => {
    const id = String(taken + 2 + i);
    children.get(open[depth])!.push(id);
    children.set(id, []);
    open[depth + 1] = id;
    const own = states.map(({ property, value }) => [property, TEXTS.has(property) ? value : value === 'true']);
    elements[id] = { role, name, ...Object.fromEntries(own), children: children.get(id)! } as ScreenElement;
  });
  const page = { role: 'RootWebArea', name, children: children.get(root)! } as ScreenElement;
  return { after: shownNext(before, { root, focused: '', elements: { [root]: page, ...elements } }, name) };
}

/** As browsers have it. */
export function titleOf(title: string): string {
  return title.replace(/\s+/g, ' ').trim();
}

function faultsOf(told: readonly TreeElement[]): string[] {
  if (told.length === 0) return ['The page has no elements.'];
  if (told.length > MAX_ELEMENTS) return [`The page has ${told.length} elements; at most ${MAX_ELEMENTS} are drawn.`];
  return told.flatMap(({ depth, role, states }, i) => {
    const before = told[i - 1];
    const called = `Element ${i + 1} (${role || 'without a role'})`;
    const deepest = before === undefined ? 0 : before.depth + 1;
    const faults: string[] = [];
    if (role.trim() === '') faults.push(`Element ${i + 1} has no role.`);
    if (depth > deepest)
      faults.push(`${called} has depth ${depth}; after the one before it can have at most ${deepest}.`);
    else if (before?.role === 'StaticText' && depth === deepest && i > 0)
      faults.push(`${called} stands within a StaticText.`);
    const flags = states.filter(({ property, value }) => !TEXTS.has(property) && value !== 'true' && value !== 'false');
    return [
      ...faults,
      ...flags.map(({ property, value }) => `${called}: ${property} is "${value}"; it is "true" or "false".`),
    ];
  });
}

/** Changes of elements and of what has the keyboard, of nothing else. */
export function pageOfChanges(before: ScreenState, operations: readonly Operation[]): Written {
  const others = operations.filter(({ path }) => !/^\/(focused$|elements\/[^/]+(\/|$))/.test(path));
  if (others.length > 0) {
    const paths = others.map(({ path }) => `"${path}"`).join(', ');
    return { problems: [`The operations change ${paths}; a page changes "/elements/ID" and "/focused" alone.`] };
  }
  try {
    return { after: applyOperations(before, operations) as ScreenState };
  } catch (error) {
    if (error instanceof ReverieError && error.code === 'OPERATION_INVALID') return { problems: [error.message] };
    throw error;
  }
}

export function pageOfDrawn(
  before: ScreenState,
  drawn: DrawnPage | string,
  { isAnother, taken }: { readonly isAnother: boolean; readonly taken: number },
): Written {
  if (typeof drawn === 'string') return { problems: [`The page cannot be drawn: ${drawn}.`] };
  const screen = screenOfDrawn(drawn, { before, isAnother, taken });
  if ('faults' in screen) return { problems: screen.faults.map((fault) => `The page cannot be drawn: ${fault}.`) };
  return { after: isAnother ? shownNext(before, screen, drawn.title) : { ...before, ...screen } };
}

/** Another page in the same tab: where there are tabs, its title is told there. Its address is nobody's to say. */
function shownNext(before: ScreenState, view: ScreenView, title: string): ScreenState {
  const { tabs, tab } = tabsOf(before);
  const told = tabs.map((one, i) => (i === tab ? `${one.split(' ')[0]} ${title}`.trim() : one));
  return { ...before, ...view, ...(tabs.length > 0 && { tabs: told as Json }) } as ScreenState;
}
