// What of one entity stands where in another of its kind: the values to exchange when a task is moved between them,
// along references to further entities (an order's user, that user's name).

import type { Json, JsonObject } from '../../core/canonical-json.js';
import { type Entities, type Entity, isRecord } from './entities.js';

export interface Aligned {
  /** Where the value lies within the collection's records; keys that are ids, and numbers of lists, are `*`. */
  readonly collection: string;
  readonly path: string;
  readonly from: string | number;
  /** Absent where the other has nothing there. */
  readonly to?: string | number;
}

export interface Alignment {
  /** Entities that correspond, by id. */
  readonly ids: ReadonlyMap<string, string>;
  readonly values: readonly Aligned[];
  /** Whether all lists are of equal length and all keys have their like. */
  readonly sameShape: boolean;
}

/** References followed from the first pair. */
const FARTHEST = 3;

interface Pair {
  readonly from: Entity;
  readonly to: Entity;
  readonly depth: number;
}

/**
 * Pairs up everything that two entities of one collection hold; undefined where their references contradict one another.
 * Lists pair their entries by place, which says little: they are followed to entities that are `named` only.
 */
export function align(entities: Entities, from: Entity, to: Entity, named: ReadonlySet<string>): Alignment | undefined {
  const ids = new Map([[from.id, to.id]]);
  const taken = new Set([to.id]);
  const values: Aligned[] = [];
  let sameShape = true;
  const queue: Pair[] = [{ from, to, depth: 0 }];
  for (let pair = queue.shift(); pair !== undefined; pair = queue.shift()) {
    const found = leavesOf(entities, pair);
    sameShape &&= found.sameShape;
    for (const leaf of found.leaves) {
      values.push(leaf);
      const further = furtherPair(entities, leaf, pair.depth);
      if (further === undefined) continue;
      const known = ids.get(further.from.id);
      if (known === further.to.id) continue;
      const isFree = known === undefined && !taken.has(further.to.id);
      const isListed = leaf.path.includes('*');
      if (!isFree && !isListed) return undefined;
      if (!isFree || (isListed && !named.has(further.from.id))) continue;
      ids.set(further.from.id, further.to.id);
      taken.add(further.to.id);
      queue.push(further);
    }
  }
  return { ids, values, sameShape };
}

function furtherPair(entities: Entities, leaf: Aligned, depth: number): Pair | undefined {
  if (depth >= FARTHEST || typeof leaf.from !== 'string' || typeof leaf.to !== 'string') return undefined;
  const from = entities.find(leaf.from);
  const to = entities.find(leaf.to);
  return from && to && from.collection === to.collection ? { from, to, depth: depth + 1 } : undefined;
}

function leavesOf(entities: Entities, { from, to }: Pair): { leaves: Aligned[]; sameShape: boolean } {
  const leaves: Aligned[] = [];
  const { collection } = from;
  let sameShape = true;
  const walk = (a: Json, b: Json | undefined, path: string): void => {
    sameShape &&= sizeOf(a) === sizeOf(b);
    if (isLeaf(a)) leaves.push({ collection, path, from: a, to: b !== undefined && isLeaf(b) ? b : undefined });
    else if (Array.isArray(a))
      for (const [i, part] of a.entries()) walk(part, Array.isArray(b) ? b[i] : undefined, `${path}/*`);
    else if (isRecord(a)) {
      const other = b !== undefined && isRecord(b) ? b : {};
      for (const [key, counterpart] of keyPairs(entities, a, other)) {
        const isId = isRecord(a[key]) || entities.find(key) !== undefined;
        if (key !== counterpart && isId) leaves.push({ collection, path: `${path}/*`, from: key, to: counterpart });
        const next = counterpart === undefined ? undefined : other[counterpart];
        walk(a[key], next, key === counterpart ? `${path}/${key}` : `${path}/*`);
      }
    }
  };
  walk(from.record, to.record, '');
  return { leaves, sameShape };
}

/** Entries of a list or record; 0 for what has none, -1 for nothing. */
function sizeOf(value: Json | undefined): number {
  if (value === undefined) return -1;
  return typeof value === 'object' && value !== null ? Object.keys(value).length : 0;
}

/** Each key with its like: itself where shared; of what is left, ids of a collection with such, records with alike ones, in order. */
function keyPairs(entities: Entities, a: JsonObject, b: JsonObject): [key: string, counterpart: string | undefined][] {
  const kindOf = (record: JsonObject, key: string): string | undefined => {
    const value = record[key];
    return isRecord(value) ? likeness(value) : entities.find(key)?.collection;
  };
  const left = Object.keys(b).filter((key) => !(key in a) && kindOf(b, key) !== undefined);
  return Object.keys(a).map((key) => {
    if (key in b) return [key, key];
    const kind = kindOf(a, key);
    const at = kind === undefined ? -1 : left.findIndex((other) => kindOf(b, other) === kind);
    return [key, at < 0 ? undefined : left.splice(at, 1)[0]];
  });
}

/** Keys of a record, and its kind where it says one. */
function likeness(record: JsonObject): string {
  const kind = record.kind ?? record.type ?? record.source ?? '';
  return JSON.stringify([kind, ...Object.keys(record).sort()]);
}

function isLeaf(value: Json): value is string | number {
  return typeof value === 'string' || typeof value === 'number';
}

/** Values at a path of `Aligned` in every record of a collection. */
export function valuesAt(records: Iterable<JsonObject>, path: string): Set<Json> {
  const found = new Set<Json>();
  const parts = path.split('/').slice(1);
  for (const record of records) collect(record, parts, 0, found);
  return found;
}

function collect(value: Json, parts: readonly string[], at: number, found: Set<Json>): void {
  if (at === parts.length) found.add(value);
  else if (typeof value !== 'object' || value === null) return;
  else if (parts[at] === '*') for (const part of Object.values(value)) collect(part, parts, at + 1, found);
  else if (parts[at] in value) collect((value as JsonObject)[parts[at]], parts, at + 1, found);
}
