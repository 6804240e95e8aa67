// How far one typed state is from another, leaf by leaf: what should have changed and did not, or changed wrongly, or should
// not have changed.

import type { Json, JsonObject } from '../../core/json.js';

/** A scalar or an empty container whose values differ; one that is absent has no value. */
export interface LeafDifference {
  /** JSON Pointer (RFC 6901). */
  readonly path: string;
  readonly first?: Json;
  readonly second?: Json;
}

/** Parts that are the same object are not looked into. Elements of lists are compared by position. */
export function leafDifferences(first: JsonObject, second: JsonObject): LeafDifference[] {
  const found: LeafDifference[] = [];
  compare(first, second, '', found);
  return found;
}

export interface StateDistance {
  /** Wrong leaves among those that changed, truly or in the dream; 0 where nothing did. */
  readonly distance: number;
  readonly wrong: readonly LeafDifference[];
}

/** @param before the state that both came from */
export function stateDistance(before: JsonObject, real: JsonObject, dreamt: JsonObject): StateDistance {
  const wrong = leafDifferences(real, dreamt);
  if (wrong.length === 0) return { distance: 0, wrong };
  const paths = [...leafDifferences(before, real), ...leafDifferences(before, dreamt), ...wrong].map(
    ({ path }) => path,
  );
  return { distance: wrong.length / new Set(paths).size, wrong };
}

function compare(a: Json | undefined, b: Json | undefined, path: string, found: LeafDifference[]): void {
  if (a === b) return;
  if (!isContainer(a) || !isContainer(b)) {
    // What gave way to a leaf is gone leaf by leaf, and the other way round.
    if (isContainer(a) || isContainer(b))
      for (const leaf of [...leavesOf(a, path, 'first'), ...leavesOf(b, path, 'second')]) found.push(leaf);
    else found.push(difference(path, a, b));
  } else if (Array.isArray(a) !== Array.isArray(b)) found.push(difference(path, a, b));
  else {
    for (const key of new Set([...Object.keys(a), ...Object.keys(b)])) {
      compare((a as JsonObject)[key], (b as JsonObject)[key], pointer(path, key), found);
    }
  }
}

function isContainer(value: Json | undefined): value is JsonObject | readonly Json[] {
  return typeof value === 'object' && value !== null;
}

/** Empty containers are leaves; nothing has none. */
function leavesOf(value: Json | undefined, path: string, side: 'first' | 'second'): LeafDifference[] {
  if (value === undefined) return [];
  const keys = isContainer(value) ? Object.keys(value) : [];
  if (keys.length === 0) return [{ path, [side]: value }];
  return keys.flatMap((key) => leavesOf((value as JsonObject)[key], pointer(path, key), side));
}

function difference(path: string, first: Json | undefined, second: Json | undefined): LeafDifference {
  return { path, ...(first === undefined ? {} : { first }), ...(second === undefined ? {} : { second }) };
}

function pointer(path: string, key: string): string {
  return `${path}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}
