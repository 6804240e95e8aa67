// How far one typed state is from another, leaf by leaf: what should have changed and did not, or changed wrongly, or should
// not have changed.

import type { Json, JsonObject } from '../../json.js';

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
  const [inA, inB] = [childrenOf(a), childrenOf(b)];
  if (inA === undefined && inB === undefined) {
    add(found, path, a, b);
    return;
  }
  if (inA !== undefined && inB !== undefined && Array.isArray(a) !== Array.isArray(b)) add(found, path, a, b);
  // A leaf that gave way to a container, or a container to a leaf, is itself gone.
  if (inA === undefined && a !== undefined) add(found, path, a, undefined);
  if (inB === undefined && b !== undefined) add(found, path, undefined, b);
  for (const key of new Set([...Object.keys(inA ?? {}), ...Object.keys(inB ?? {})])) {
    compare(inA?.[key], inB?.[key], `${path}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`, found);
  }
}

/** What a value holds, by key; undefined for leaves. */
function childrenOf(value: Json | undefined): Readonly<Record<string, Json>> | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  return Object.keys(value).length === 0 ? undefined : (value as unknown as Record<string, Json>);
}

function add(found: LeafDifference[], path: string, first: Json | undefined, second: Json | undefined): void {
  if (JSON.stringify(first) === JSON.stringify(second)) return;
  found.push({ path, ...(first === undefined ? {} : { first }), ...(second === undefined ? {} : { second }) });
}
