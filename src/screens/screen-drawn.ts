// A page that was drawn, as the screen that follows another: elements that it names by their `data-bid` are those that were there, with
// their ids, text that still stands in them keeps its own, and everything else is new.

import type { ScreenElement, ScreenView } from '../env/screens/screen-state.js';
import type { DrawnPage } from './page/still-page.js';

/** The screen, or what is wrong with the page, one sentence each. */
export type DrawnScreen = ScreenView | { readonly faults: readonly string[] };

export interface DrawnAfter {
  readonly before: ScreenView;
  /** Another page: nothing of the one before is on it. */
  readonly isAnother: boolean;
  /** Ids up to this one are or were somebody's. */
  readonly taken: number;
}

export function screenOfDrawn(drawn: DrawnPage, { before, isAnother, taken }: DrawnAfter): DrawnScreen {
  const given = isAnother ? {} : drawn.given;
  const faults = [...faultsOf(given, before), ...(drawn.elements[drawn.root].children.length === 0 ? [EMPTY] : [])];
  if (faults.length > 0) return { faults };
  const ids = idsOf(drawn, { before, isAnother, taken, given });
  const elements: Record<string, ScreenElement> = {};
  for (const [own, id] of ids) {
    const { children, ...element } = drawn.elements[own];
    elements[id] = { ...element, children: children.map((child) => ids.get(child)!) } as ScreenElement;
  }
  return { root: ids.get(drawn.root)!, elements, focused: ids.get(drawn.focused) ?? '' };
}

const EMPTY = 'the page shows nothing';

function faultsOf(given: DrawnPage['given'], before: ScreenView): string[] {
  const bids = Object.values(given);
  const twice = bids.filter((bid, i) => bids.indexOf(bid) !== i);
  const unknown = bids.filter(
    (bid) => before.elements[bid] === undefined || before.elements[bid].role === 'StaticText',
  );
  return [
    ...[...new Set(twice)].map((bid) => `two elements have data-bid "${bid}"`),
    ...unknown.map((bid) => `data-bid "${bid}" is no element of the screen before`),
  ];
}

/** By the ids of the view, in the order of the tree, in which new ones are given out. */
function idsOf(
  { root, elements }: DrawnPage,
  { before, isAnother, taken, given }: DrawnAfter & { readonly given: DrawnPage['given'] },
): Map<string, string> {
  const ids = new Map<string, string>();
  const used = new Set(Object.values(given));
  let last = taken;
  const claim = (id: string | undefined) => {
    const own = id === undefined || used.has(id) ? String(++last) : id;
    used.add(own);
    return own;
  };
  const visit = (own: string, id: string) => {
    ids.set(own, id);
    const texts = (before.elements[id]?.children ?? []).filter((child) => before.elements[child].role === 'StaticText');
    for (const child of elements[own].children) {
      const { role, name } = elements[child];
      const text = role === 'StaticText' ? texts.find((one) => before.elements[one].name === name) : undefined;
      if (text !== undefined) texts.splice(texts.indexOf(text), 1);
      visit(child, given[child] ?? claim(text));
    }
  };
  visit(root, isAnother ? claim(undefined) : before.root);
  return ids;
}
