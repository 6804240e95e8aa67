// Whether the ids in calls are ids of anything: an invented one makes a task that nobody can solve.

import type { Json, JsonObject } from '../../core/canonical-json.js';
import { Entities } from './entities.js';
import type { PlayedCall } from './task-play.js';

const ID_KEY = /(^|_)ids?$|Ids?$/;

/** One sentence for each id that neither the state nor any answer before the call has. */
export function unknownIds(initialState: JsonObject, answers: readonly PlayedCall[]): string[] {
  let state = initialState;
  let told = '';
  const faults: string[] = [];
  for (const { call, prediction, state: after } of answers) {
    for (const id of idsIn(call.arguments)) {
      if (!told.includes(id) && !isKnown(state, id))
        faults.push(`${call.name} is given the id "${id}", which nothing has`);
    }
    told += `\n${prediction.observation}`;
    state = after;
  }
  return faults;
}

/** Strings under keys that name ids, at any depth. */
export function idsIn(value: Json, key = ''): string[] {
  if (typeof value === 'string') return ID_KEY.test(key) ? [value] : [];
  if (typeof value !== 'object' || value === null) return [];
  if (Array.isArray(value)) return value.flatMap((part) => idsIn(part, key));
  return Object.entries(value).flatMap(([name, part]) => idsIn(part, name));
}

function isKnown(state: JsonObject, id: string): boolean {
  if (new Entities(state).find(id) !== undefined) return true;
  return Object.entries(state).some(([name, part]) => {
    if (name === id) return true;
    if (typeof part !== 'object' || part === null) return part === id;
    // Records stay the same objects from state to state, so what they hold is remembered by record.
    return Object.entries(part).some(([key, value]) => key === id || valuesOf(value as Json).has(id));
  });
}

const remembered = new WeakMap<object, ReadonlySet<string>>();

/** Whole strings and keys that a value holds, at any depth. */
function valuesOf(value: Json): ReadonlySet<string> {
  if (typeof value !== 'object' || value === null) return new Set(typeof value === 'string' ? [value] : []);
  const before = remembered.get(value);
  if (before !== undefined) return before;
  const found = new Set<string>();
  const walk = (part: Json): void => {
    if (typeof part === 'string') found.add(part);
    else if (typeof part === 'object' && part !== null) {
      if (!Array.isArray(part)) for (const key of Object.keys(part)) found.add(key);
      for (const inner of Object.values(part)) walk(inner);
    }
  };
  walk(value);
  if (Object.isFrozen(value)) remembered.set(value, found);
  return found;
}
