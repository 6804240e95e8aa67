// Worlds of entities in collections in words: those that the call names by their ids or values, with what these refer to, and changes as
// JSON Patch. What a value says (an id, a name, a date) has a slot and is copied; what it is of (`open` or `closed`) is spelt.

import type { Json, JsonObject } from '../../core/canonical-json.js';
import type { CallSpec } from '../../env/tools/domain.js';
import type { Operation } from '../../env/tools/prediction.js';
import { readPatch, splitterOf, writtenPatch } from './patch-words.js';
import { mark, type Names, type Piece, type Splitter, written } from './script.js';
import type { Around, World, WorldForm } from './world-form.js';

/** Entities that are shown around a call. */
const MOST = 6;
/** A value that so few entities have is theirs, and not one of a kind. */
const LEAST_SHARED = 4;

interface Entity {
  readonly collection: string;
  readonly id: string;
  readonly value: JsonObject;
}

/** A value in an entity, and where it stands. */
type Leaf = readonly [path: string, value: Json];

export class ValueForm implements WorldForm {
  private readonly kinds: ReadonlySet<string>;

  /** @param kinds  values that are spelt: `sharedValues` of what was learned from */
  constructor(kinds: readonly string[]) {
    this.kinds = new Set(kinds);
  }

  around({ arguments: given }: CallSpec, _said: string, { values }: World, names: Names): Around {
    const own = leavesOf(given).flatMap(([, value]) => (this.isName(value) ? [String(value)] : []));
    const shown = entitiesAround(values, own);
    for (const name of own) names.assign(name);
    for (const { id } of shown) names.assign(id);
    const rest = Object.entries(values).filter(([, part]) => !isCollection(part));
    const loose = rest.flatMap(([key, part]) => leavesOf(part, key));
    const leaves = shown.map(({ value }) => leavesOf(value));
    for (const [, value] of [...leaves.flat(), ...loose]) if (this.isName(value)) names.assign(String(value));
    const split = splitterOf(names.all());
    const pieces = [
      mark('facts'),
      ...written(loose.map(lineOf).join(''), split, names),
      ...shown.flatMap(({ collection, id }, i) => [
        mark('name'),
        ...written(`${collection} ${id}${leaves[i].map(lineOf).join('')}`, split, names),
      ]),
    ];
    return { pieces, split };
  }

  write(operations: readonly Operation[], names: Names, split: Splitter): Piece[] | undefined {
    return writtenPatch(operations, names, split);
  }

  read(pieces: readonly Piece[], names: Names): Operation[] | undefined {
    return readPatch(pieces, names);
  }

  private isName(value: Json): boolean {
    return (typeof value === 'string' && value.length > 1 && !this.kinds.has(value)) || isLongNumber(value);
  }
}

/** Values that many entities share, wherever they stand: kinds, states, yes and no; sorted. */
export function sharedValues(states: Iterable<JsonObject>): string[] {
  const owners = new Map<string, Set<string>>();
  const seen = new WeakSet<object>();
  for (const values of states) {
    for (const { collection, id, value } of entitiesOf(values)) {
      if (seen.has(value)) continue;
      seen.add(value);
      for (const [, leaf] of leavesOf(value)) {
        if (typeof leaf !== 'string') continue;
        const of = owners.get(leaf) ?? new Set();
        owners.set(leaf, of.add(`${collection}/${id}`));
      }
    }
  }
  const shared = [...owners].filter(([value, of]) => of.size >= LEAST_SHARED && !/\d/.test(value));
  return shared.map(([value]) => value).sort();
}

/** Those that the words name by id or by value, then what these refer to, and what refers to them. */
function entitiesAround(values: JsonObject, words: readonly string[]): Entity[] {
  const all = [...entitiesOf(values)];
  const wanted = new Set(words);
  const named = all.filter(({ id }) => wanted.has(id));
  const valued = all.filter(({ value }) => leavesOf(value).some(([, leaf]) => wanted.has(String(leaf))));
  const referred = new Set(named.flatMap(({ value }) => leavesOf(value).map(([, leaf]) => String(leaf))));
  const linked = all.filter(({ id }) => referred.has(id));
  return [...new Set([...named, ...valued, ...linked])].slice(0, MOST);
}

function* entitiesOf(values: JsonObject): Generator<Entity> {
  for (const [collection, part] of Object.entries(values)) {
    if (!isCollection(part)) continue;
    for (const [id, value] of Object.entries(part)) yield { collection, id, value: value as JsonObject };
  }
}

/** An object of objects. */
function isCollection(part: Json): part is { [id: string]: JsonObject } {
  if (!isObject(part)) return false;
  const entries = Object.values(part);
  return entries.length > 0 && entries.every(isObject);
}

function isObject(value: Json): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const known = new WeakMap<object, readonly Leaf[]>();

/** States share entities that did not change, so that each is taken apart once. Keys of nested objects are part of the path. */
function leavesOf(value: Json, path = ''): readonly Leaf[] {
  if (typeof value !== 'object' || value === null) return [[path, value]];
  if (path === '' && known.has(value)) return known.get(value)!;
  const join = (key: string) => (path === '' ? key : `${path}.${key}`);
  const parts = Array.isArray(value) ? value.map((one, i) => [String(i), one] as const) : Object.entries(value);
  const leaves = parts.flatMap(([key, part]) => leavesOf(part, join(key)));
  if (path === '') known.set(value, leaves);
  return leaves;
}

function lineOf([path, value]: Leaf): string {
  return ` ; ${path} ${typeof value === 'string' ? value : JSON.stringify(value)}`;
}

function isLongNumber(value: Json): boolean {
  return typeof value === 'number' && String(value).length > 2;
}
