// What solvers of tasks are written with: elements in the order of the page, by what they are called, and actions on them as lines. A
// solver that finds no element says nothing.

import { actionLine } from '../env/screens/screen-actions.js';
import type { ScreenView } from '../env/screens/screen-state.js';

/** Ids at and below one, in the order of the page; by default of the whole screen. */
export function elementsBelow({ root, elements }: Pick<ScreenView, 'root' | 'elements'>, id = root): string[] {
  const ids: string[] = [];
  const open = [id];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const element = elements[next];
    if (element === undefined) continue;
    ids.push(next);
    open.push(...[...element.children].reverse());
  }
  return ids;
}

/** The first such element at or below another; of any name unless one is given. */
export function findElement(screen: ScreenView, role: string, name?: string, within?: string): string | undefined {
  return elementsBelow(screen, within).find((id) => {
    const element = screen.elements[id];
    return element.role === role && (name === undefined || element.name === name);
  });
}

export function clickOn(bid: string | undefined): string | undefined {
  return bid && actionLine({ name: 'click', arguments: { bid } });
}

export function fillIn(bid: string | undefined, value: string): string | undefined {
  return bid && actionLine({ name: 'fill', arguments: { bid, value } });
}

/** @param option  the text of one of its options */
export function selectIn(bid: string | undefined, option: string): string | undefined {
  return bid && actionLine({ name: 'select_option', arguments: { bid, options: option } });
}
