// What a proposal says of its own outcome, held against the screen that its changes lead to. A model that says the box is ticked now, and
// whose changes tick nothing, is wrong about one of the two.

import type { ScreenState } from '../env/screens/screen-state.js';
import type { OutcomeClaim } from '../env/tools/domain.js';

/** Share of the elements that must be new for it to be another page. */
const ANOTHER = 0.5;

/** What the screen after an action does not show, though it is claimed; one reason each. */
export function unshownOn(before: ScreenState, after: ScreenState, claim: OutcomeClaim): readonly string[] {
  return [
    ...outcomeFaults(before, after, claim),
    ...(claim.shows ?? []).flatMap(({ id, property, value }) => {
      const is = shownOf(after, id, property);
      if (is === value) return [];
      const found = is === undefined ? 'it is not on the screen' : `it is ${JSON.stringify(is)}`;
      return [`it is claimed that ${property} of element "${id}" is ${JSON.stringify(value)} now, and ${found}`];
    }),
  ];
}

function outcomeFaults(before: ScreenState, after: ScreenState, { outcome, title }: OutcomeClaim): string[] {
  const is = after.elements[after.root]?.name ?? '';
  const faults =
    title === undefined || is === title
      ? []
      : [`a page called ${quote(title)} is claimed, and it is called ${quote(is)}`];
  if (outcome === 'page' && !isAnother(before, after))
    faults.push('another page is claimed, and most of it is what was there');
  if (outcome === 'change' && isSame(before, after))
    faults.push('a change of the page is claimed, and nothing changes');
  if (outcome === 'nothing' && !isSame(before, after))
    faults.push('it is claimed that nothing changes, and the page does');
  return faults;
}

/** `gone` and `focused` are asked of the screen; flags that an element does not have are off. */
function shownOf({ elements, focused }: ScreenState, id: string, property: string): string | undefined {
  const element = elements[id];
  if (property === 'gone') return String(element === undefined);
  if (element === undefined) return undefined;
  if (property === 'focused') return String(focused === id);
  const value = element[property];
  if (value !== undefined) return String(value);
  return property === 'value' || property === 'classes' || property === 'color' ? '' : 'false';
}

function isAnother(before: ScreenState, after: ScreenState): boolean {
  const ids = Object.keys(after.elements);
  const fresh = ids.filter((id) => before.elements[id] === undefined);
  return fresh.length > ANOTHER * ids.length;
}

/** Elements that did not change are the same objects in both. */
function isSame(before: ScreenState, after: ScreenState): boolean {
  if (before.focused !== after.focused) return false;
  const ids = Object.keys(after.elements);
  if (ids.length !== Object.keys(before.elements).length) return false;
  return ids.every((id) => {
    const [was, is] = [before.elements[id], after.elements[id]];
    return was === is || JSON.stringify(was) === JSON.stringify(is);
  });
}

const quote = (text: string) => JSON.stringify(text);
