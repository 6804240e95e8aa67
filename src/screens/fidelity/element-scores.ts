// How alike two screens are, element by element. An element counts as right with its id, role, name and every property; where it
// stands in the tree is not counted.

import type { ScreenState } from '../../env/screens/screen-state.js';

/** Of a dreamt screen beside the real one that followed from the same. */
export interface ElementScores {
  /** F1 over all elements. */
  readonly elements: number;
  /** F1 over what changed: elements that came, went or became others; null where nothing did in either. */
  readonly changes: number | null;
  /** Whether it says rightly that the page became another: most of its elements new, or the task ended. */
  readonly transition: boolean;
}

export function elementScores(before: ScreenState, real: ScreenState, dreamt: ScreenState): ElementScores {
  return {
    elements: elementF1(real, dreamt),
    changes: f1(changesOf(before, real), changesOf(before, dreamt)),
    transition: isAnother(before, real) === isAnother(before, dreamt) && real.done === dreamt.done,
  };
}

/** 1 for two empty screens. */
export function elementF1(real: ScreenState, dreamt: ScreenState): number {
  return f1(keysOf(real), keysOf(dreamt)) ?? 1;
}

/** Share of the elements of a screen that must be new for it to be another page. */
const ANOTHER = 0.5;

function isAnother(before: ScreenState, after: ScreenState): boolean {
  const ids = Object.keys(after.elements);
  const fresh = ids.filter((id) => before.elements[id] === undefined);
  return fresh.length > ANOTHER * ids.length;
}

function keysOf({ elements }: ScreenState): Set<string> {
  return new Set(Object.keys(elements).map((id) => keyOf({ elements }, id)));
}

function keyOf({ elements }: Pick<ScreenState, 'elements'>, id: string): string {
  const { children: _, ...own } = elements[id];
  const sorted = Object.entries(own).sort(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify([id, sorted]);
}

function changesOf(before: ScreenState, after: ScreenState): Set<string> {
  const [was, is] = [keysOf(before), keysOf(after)];
  const came = [...is].filter((key) => !was.has(key));
  const went = Object.keys(before.elements).filter((id) => after.elements[id] === undefined);
  return new Set([...came, ...went.map((id) => `without ${id}`)]);
}

function f1(real: ReadonlySet<string>, dreamt: ReadonlySet<string>): number | null {
  if (real.size + dreamt.size === 0) return null;
  const both = [...dreamt].filter((key) => real.has(key)).length;
  return (2 * both) / (real.size + dreamt.size);
}
