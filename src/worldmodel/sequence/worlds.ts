// How a world of one kind is put into words: what of its state is shown around a call, and how changes of it are written and read.

import { canonicalJson, type Json, type JsonObject } from '../../core/canonical-json.js';
import type { CallSpec, FactTable, Scene } from '../../env/tools/domain.js';
import type { Operation } from '../../env/tools/prediction.js';
import { factKey, rowOf, Situation, splitByNames } from '../situation.js';
import {
  isMark,
  mark,
  type Names,
  type Piece,
  readPatch,
  type Splitter,
  splitterOf,
  written,
  writtenPatch,
} from './script.js';

/** Facts about objects, or entities in collections, such as `tickets["T-1"].status`. */
export const WORLD_KINDS = ['facts', 'values'] as const;
export type WorldKind = (typeof WORLD_KINDS)[number];

/** A state to be asked about. */
export interface World {
  readonly values: JsonObject;
  /** Where it is facts about objects. */
  readonly scene?: Scene;
}

export const factsOf = ({ values }: World): FactTable => values.facts as FactTable;

export interface Around {
  readonly pieces: readonly Piece[];
  /** Takes texts apart where names of the question stand. */
  readonly split: Splitter;
}

export interface WorldForm {
  /** What is shown around a call; gives names their slots, those of the call first. @param said  the call in words */
  around(call: CallSpec, said: string, world: World, names: Names): Around;
  /** undefined where there are no words for an operation. */
  write(operations: readonly Operation[], names: Names, split: Splitter): Piece[] | undefined;
  /** undefined where they cannot be read. */
  read(pieces: readonly Piece[], names: Names, world: World): Operation[] | undefined;
}

/** What records have shown of the types of objects. */
export interface ObjectTypes {
  /** Their objects never change and are named for what they are: `fridgetype`. They are spelt. */
  readonly constant: readonly string[];
  /** One object in each scene. */
  readonly sole: readonly string[];
}

export interface Surroundings {
  /** Objects in the order in which they are spoken of: those of the action first. */
  readonly objects: readonly string[];
  /** By predicate, sorted. */
  readonly facts: readonly { readonly predicate: string; readonly rows: readonly (readonly string[])[] }[];
}

/** @param spoken  the objects that the action names, in its order */
export function surroundings(at: Situation, spoken: readonly string[], types: ObjectTypes): Surroundings {
  const predicates = [...new Set([...Object.keys(at.scene.facts), ...Object.keys(at.facts)])].sort();
  const isConstant = (name: string) => types.constant.includes(at.typeOf(name) ?? '');
  const changing = predicates.filter((predicate) => at.facts[predicate] !== undefined);
  const soles = types.sole.flatMap((type) => at.allOf(type));
  const core = new Set([...spoken, ...soles]);
  for (const sole of soles) {
    for (const one of linked(at, changing, sole)) if (!isConstant(one)) core.add(one);
  }
  const near = new Set<string>();
  for (const one of core) {
    for (const other of linked(at, predicates, one)) if (!core.has(other) && !isConstant(other)) near.add(other);
  }
  const order = orderOf(at.scene);
  const objects = [...core, ...[...near].sort((a, b) => order.get(a)! - order.get(b)!)];
  const known = new Set(objects);
  const kinds = new Set(spoken.flatMap((one) => linked(at, predicates, one).filter(isConstant)));
  const isShown = (row: readonly string[], changes: boolean) => {
    const things = row.filter((name) => !isConstant(name));
    if (things.length === 0) return row.every((name) => kinds.has(name));
    return things.every((name) => known.has(name)) && (changes || things.length > 1 || core.has(things[0]));
  };
  const places = new Map(objects.map((name, i) => [name, i]));
  const facts = predicates.flatMap((predicate) => {
    const rows = rowsAbout(at, predicate, known, isConstant).filter((row) =>
      isShown(row, at.facts[predicate] !== undefined),
    );
    return rows.length === 0 ? [] : [{ predicate, rows: rows.sort((a, b) => compareRows(a, b, places)) }];
  });
  return { objects, facts };
}

/** What facts link with an object, in no order that means anything. */
function linked(at: Situation, predicates: readonly string[], object: string): string[] {
  return predicates.flatMap((predicate) =>
    rowsWith(at, predicate, object).flatMap((row) => row.filter((other) => other !== object)),
  );
}

/** Facts that have the object in any place. */
function rowsWith(at: Situation, predicate: string, object: string): (readonly string[])[] {
  const arity = arityOf(at, predicate);
  return Array.from({ length: arity }, (_, place) => at.about(predicate, place, object)).flat();
}

/** Facts about any of the objects, and those about constants alone; none twice. */
function rowsAbout(
  at: Situation,
  predicate: string,
  objects: ReadonlySet<string>,
  isConstant: (name: string) => boolean,
): (readonly string[])[] {
  const first = at.rows(predicate)[0];
  if (first === undefined) return [];
  if (first.every(isConstant)) return [...at.rows(predicate)];
  const rows = [...objects].flatMap((object) => rowsWith(at, predicate, object));
  return [...new Map(rows.map((row) => [factKey(row), row])).values()];
}

function arityOf(at: Situation, predicate: string): number {
  return at.rows(predicate)[0]?.length ?? 0;
}

function compareRows(a: readonly string[], b: readonly string[], places: ReadonlyMap<string, number>): number {
  for (let i = 0; i < Math.min(a.length, b.length); i++) {
    const difference = (places.get(a[i]) ?? Infinity) - (places.get(b[i]) ?? Infinity);
    if (difference !== 0 && !Number.isNaN(difference)) return difference;
    if (a[i] !== b[i]) return a[i] < b[i] ? -1 : 1;
  }
  return a.length - b.length;
}

const orders = new WeakMap<Scene, ReadonlyMap<string, number>>();

function orderOf(scene: Scene): ReadonlyMap<string, number> {
  let order = orders.get(scene);
  if (order === undefined) {
    order = new Map(scene.objects.map(({ name }, i) => [name, i]));
    orders.set(scene, order);
  }
  return order;
}

/**
 * Types as states show them: constant are those that no fact that can change speaks of, though facts do; sole those with one object
 * in each scene.
 */
export function objectTypes(worlds: Iterable<{ readonly scene: Scene; readonly facts: FactTable }>): ObjectTypes {
  const [all, changing, several, named] = Array.from({ length: 4 }, () => new Set<string>());
  const seen = new WeakSet<object>();
  for (const { scene, facts } of worlds) {
    const at = new Situation(scene, facts);
    const note = (tables: FactTable, sets: readonly Set<string>[]) => {
      for (const table of Object.values(tables).filter((one) => !seen.has(one))) {
        seen.add(table);
        const types = Object.keys(table).flatMap((key) => rowOf(key).map((name) => at.typeOf(name) ?? ''));
        for (const type of types) for (const set of sets) set.add(type);
      }
    };
    note(facts, [changing, named]);
    if (seen.has(scene)) continue;
    seen.add(scene);
    note(scene.facts, [named]);
    for (const { type } of scene.objects) {
      all.add(type);
      if (at.allOf(type).length > 1) several.add(type);
    }
  }
  const types = [...all].sort();
  return {
    constant: types.filter((type) => named.has(type) && !changing.has(type)),
    sole: types.filter((type) => !several.has(type) && changing.has(type)),
  };
}

interface FactChange {
  readonly adds: boolean;
  readonly predicate: string;
  readonly objects: readonly string[];
}

export class FactForm implements WorldForm {
  constructor(private readonly types: ObjectTypes) {}

  around(_call: CallSpec, said: string, world: World, names: Names): Around {
    const { scene } = world;
    const split = (text: string) => splitByNames(text, scene!);
    const spoken = [...new Set(split(said).objects)];
    const { objects, facts } = surroundings(new Situation(scene!, factsOf(world)), spoken, this.types);
    for (const name of objects) names.assign(name);
    const told = facts.flatMap(({ predicate, rows }): Piece[] => [
      { text: ` ${predicate}` },
      ...rows.flatMap((row) => row.map((name) => slotOr(name, names))),
    ]);
    return { pieces: [mark('facts'), ...told], split };
  }

  write(operations: readonly Operation[], names: Names): Piece[] | undefined {
    const changes = changesOf(operations);
    return (
      changes &&
      inOrder(changes, names).flatMap(({ adds, predicate, objects }) => [
        mark(adds ? 'add' : 'remove'),
        { text: ` ${predicate}` },
        ...objects.flatMap((name) =>
          (names.slotOf(name) === undefined ? [mark('name')] : []).concat(slotOr(name, names)),
        ),
      ])
    );
  }

  read(pieces: readonly Piece[], names: Names, world: World): Operation[] | undefined {
    const changes = readChanges(pieces, names);
    return changes && operationsOf(changes, factsOf(world));
  }
}

function slotOr(name: string, names: Names): Piece {
  const slot = names.slotOf(name);
  return slot === undefined ? { text: ` ${name}` } : { slot };
}

/** undefined where an operation is no change of a fact; a new empty table is none, and is made where it is needed. */
function changesOf(operations: readonly Operation[]): FactChange[] | undefined {
  const changes: FactChange[] = [];
  for (const operation of operations) {
    const [, root, predicate, key, ...more] = operation.path.split('/').map(unescaped);
    if (root !== 'facts' || predicate === undefined || more.length > 0) return undefined;
    if (operation.op === 'add' && key === undefined && canonicalJson(operation.value) === '{}') continue;
    if (key === undefined || (operation.op !== 'remove' && !(operation.op === 'add' && operation.value === true)))
      return undefined;
    changes.push({ adds: operation.op === 'add', predicate, objects: rowOf(key) });
  }
  return changes;
}

/** What goes before what comes, then by predicate and slots: one order, so that nothing is left to guess. */
function inOrder(changes: readonly FactChange[], names: Names): FactChange[] {
  const keyOf = ({ adds, predicate, objects }: FactChange) => {
    const slots = objects.map((name) => String(names.slotOf(name) ?? name).padStart(3, '0'));
    return `${adds ? 1 : 0} ${predicate} ${slots.join()}`;
  };
  const keyed = changes.map((change) => ({ change, key: keyOf(change) }));
  return keyed.sort((a, b) => (a.key < b.key ? -1 : 1)).map(({ change }) => change);
}

function operationsOf(changes: readonly FactChange[], facts: FactTable): Operation[] {
  const lacking = new Set(changes.map(({ predicate }) => predicate).filter((one) => facts[one] === undefined));
  const tables = [...lacking].map((one): Operation => ({ op: 'add', path: `/facts/${escaped(one)}`, value: {} }));
  const made = changes.map(({ adds, predicate, objects }): Operation => {
    const path = `/facts/${escaped(predicate)}/${escaped(factKey(objects))}`;
    return adds ? { op: 'add', path, value: true } : { op: 'remove', path };
  });
  return [...tables, ...made];
}

function readChanges(pieces: readonly Piece[], names: Names): FactChange[] | undefined {
  const changes: { adds: boolean; predicate: string; objects: string[] }[] = [];
  let isNamed = false;
  for (const piece of pieces) {
    const last = changes.at(-1);
    if (isMark(piece, 'add') || isMark(piece, 'remove')) {
      changes.push({ adds: isMark(piece, 'add'), predicate: '', objects: [] });
    } else if (last === undefined) return undefined;
    else if ('slot' in piece) {
      const name = names.nameOf(piece.slot);
      if (name === undefined) return undefined;
      last.objects.push(name);
    } else if ('text' in piece) {
      if (isNamed) last.objects.push(piece.text.trim());
      else if (last.predicate === '') last.predicate = piece.text.trim();
      else return undefined;
    } else if (piece.mark !== 'name') return undefined;
    isNamed = isMark(piece, 'name');
  }
  return changes.every(({ predicate }) => predicate !== '') ? changes : undefined;
}

function escaped(key: string): string {
  return key.replaceAll('~', '~0').replaceAll('/', '~1');
}

function unescaped(part: string): string {
  return part.replaceAll('~1', '/').replaceAll('~0', '~');
}

/** Entities that are shown around a call. */
const MOST_ENTITIES = 6;
/** A value that so few entities have is theirs, and not one of a kind. */
const LEAST_OWNERS = 4;

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
      ...written(loose.map(leafLine).join(''), split, names),
      ...shown.flatMap(({ collection, id }, i) => [
        mark('name'),
        ...written(`${collection} ${id}${leaves[i].map(leafLine).join('')}`, split, names),
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
  const shared = [...owners].filter(([value, of]) => of.size >= LEAST_OWNERS && !/\d/.test(value));
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
  return [...new Set([...named, ...valued, ...linked])].slice(0, MOST_ENTITIES);
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

function leafLine([path, value]: Leaf): string {
  return ` ; ${path} ${typeof value === 'string' ? value : JSON.stringify(value)}`;
}

function isLongNumber(value: Json): boolean {
  return typeof value === 'number' && String(value).length > 2;
}
