// What people come to screens for, in kinds: a walk without a task begins with one of them in mind, so that walks differ from the start.

import { Rng } from '../../core/rng.js';

/** Of any application; a domain (`goalKinds`) and a scenario (`agent.goalKinds`) add their own. */
export const GOAL_KINDS: readonly string[] = [
  'Find a piece of information that takes several pages to reach, and tell it.',
  'Compare two things of a kind and tell which fits better.',
  'Find one particular thing by searching or by looking through lists.',
  'Create or order something, filling in every field that it needs.',
  'Change something that exists, and check that the change is there.',
  'Remove or undo something that exists.',
  'Narrow a list down by a search, a filter or an order, then open what is left.',
  'Change a setting or a preference, and come back to where it shows.',
  'Do two related things one after the other.',
];

/** The kind of a walk: evenly, by its seed. */
export function goalKindOf(kinds: readonly string[], seed: number): string {
  return kinds[Rng.fromSeed(seed).split('goal kind').int(kinds.length)];
}
