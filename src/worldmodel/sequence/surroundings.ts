// What a model is shown of a world of facts: what the action names, what is the only one of its kind (an agent) with its place and what
// it holds, and what a single fact links with these. The rest of a house does not matter to one action, and would not fit a short context.

import type { FactTable, Scene } from '../../env/tools/domain.js';
import { factKey, rowOf, Situation } from '../situation.js';

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
