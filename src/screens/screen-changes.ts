// From one screen to the next as operations: an element that changed a little is changed, not told anew.

import type { Json } from '../core/canonical-json.js';
import type { ScreenElement, ScreenState } from '../env/screens/screen-state.js';
import type { Operation } from '../env/tools/prediction.js';

/** More are told as one: another screen. */
const MANY = 120;
const SCALARS = ['page', 'goal', 'focused', 'root', 'reward', 'done'] as const;

/** Of everything but the history. */
export function screenChanges(before: ScreenState, after: ScreenState): Operation[] {
  const scalars = SCALARS.flatMap((key): Operation[] =>
    before[key] === after[key] ? [] : [{ op: 'replace', path: `/${key}`, value: after[key] }],
  );
  const tabs = (['tabs', 'tab'] as const).flatMap((key): Operation[] => {
    const value = after[key];
    return value === undefined || isSame(before[key], value as Json) ? [] : [{ op: 'add', path: `/${key}`, value }];
  });
  const elements = elementChanges(before.elements, after.elements);
  const all: Operation[] = [{ op: 'replace', path: '/elements', value: after.elements }];
  return [...scalars, ...tabs, ...(elements.length > MANY ? all : elements)];
}

type Elements = ScreenState['elements'];

function elementChanges(before: Elements, after: Elements): Operation[] {
  const gone = Object.keys(before).filter((id) => after[id] === undefined);
  return [
    ...gone.map((id): Operation => ({ op: 'remove', path: `/elements/${id}` })),
    ...Object.entries(after).flatMap(([id, element]) => changesOf(id, before[id], element)),
  ];
}

function changesOf(id: string, before: ScreenElement | undefined, after: ScreenElement): Operation[] {
  // Most of a screen is the same object before and after.
  if (before === after) return [];
  const path = `/elements/${id}`;
  if (before === undefined) return [{ op: 'add', path, value: after }];
  const gone = Object.keys(before).filter((key) => after[key] === undefined);
  return [
    ...gone.map((key): Operation => ({ op: 'remove', path: `${path}/${key}` })),
    ...(Object.entries(after) as [string, Json][]).flatMap(([key, value]): Operation[] => {
      if (isSame(before[key], value)) return [];
      return [{ op: before[key] === undefined ? 'add' : 'replace', path: `${path}/${key}`, value }];
    }),
  ];
}

function isSame(a: Json | undefined, b: Json): boolean {
  if (!Array.isArray(a) || !Array.isArray(b)) return a === b;
  return a.length === b.length && a.every((id, i) => id === b[i]);
}
