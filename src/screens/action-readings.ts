// Actions in words: a line names its element by an id, which says nothing to who knows words alone. What is told is what the element
// is, how it stands, and what it is called; where it is called nothing, the text beside it (as DOM-Q-NET, Jia et al., arXiv 1902.07257,
// reads an element with its neighbours).

import type { ScreenElement, ScreenState } from '../env/screens/screen-state.js';
import type { CallSpec } from '../env/tools/domain.js';

/** A reading of each call, in order; what it names must be on the screen. */
export function actionReadings(state: ScreenState, calls: readonly CallSpec[]): readonly string[] {
  const labels = textsBeside(state);
  return calls.map(({ name, arguments: { bid, ...given } }) => {
    const element = state.elements[String(bid)];
    const values = Object.values(given).flat().map(String);
    if (element === undefined) return [name, ...values].join(' ');
    const called = element.name || element.classes || labels.get(String(bid)) || '';
    return [name, ...values, element.role, ...standingOf(element), called].filter((word) => word !== '').join(' ');
  });
}

function standingOf({ checked, selected, expanded, value }: ScreenElement): string[] {
  const flags = { checked, selected, expanded };
  const told = Object.entries(flags).flatMap(([flag, is]) =>
    is === undefined ? [] : [is === true ? flag : `un${flag}`],
  );
  return [...told, ...(value === undefined || value === '' ? [] : ['holding', String(value)])];
}

/** The last text that stands before each element, in the order of the screen; of what it holds itself, the first. */
function textsBeside({ root, elements }: ScreenState): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  let last = '';
  const open = [root];
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    const { name, children } = elements[id];
    const own = children.map((child) => elements[child].name).find((text) => text !== '');
    found.set(id, own ?? last);
    if (name !== '' && id !== root) last = name;
    open.push(...[...children].reverse());
  }
  return found;
}
