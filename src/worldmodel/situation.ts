// A world of facts at one moment: what is so for good (its scene) and what is so now, looked up as one.

import { canonicalJson, type Json } from '../core/canonical-json.js';
import { remembered } from '../core/remembered.js';
import type { CallSpec, FactTable, Scene } from '../env/tools/domain.js';

/** What stands between the objects of a fact in a table's keys. */
const BETWEEN = ', ';

type Row = readonly string[];

interface Relation {
  readonly rows: readonly Row[];
  /** By place, then by object: the rows that have it there. */
  readonly at: readonly ReadonlyMap<string, readonly Row[]>[];
}

const NONE: readonly Row[] = [];
/** States share what did not change, so a relation is worked out once for all states that have it. */
const relations = new WeakMap<object, Relation>();

export class Situation {
  constructor(
    readonly scene: Scene,
    readonly facts: FactTable,
  ) {}

  holds(predicate: string, objects: Row): boolean {
    if (predicate === '=') return objects[0] === objects[1];
    const key = objects.length === 1 ? objects[0] : objects.join(BETWEEN);
    return this.facts[predicate]?.[key] === true || this.scene.facts[predicate]?.[key] === true;
  }

  /** The facts of a predicate that have the object at a place. */
  about(predicate: string, place: number, object: string): readonly Row[] {
    return this.either(predicate, ({ at }) => at[place]?.get(object) ?? NONE);
  }

  /** The only object of a type; undefined where there are none or several. */
  onlyOf(type: string): string | undefined {
    const names = this.allOf(type);
    return names.length === 1 ? names[0] : undefined;
  }

  typeOf(object: string): string | undefined {
    return namesOf(this.scene).types.get(object);
  }

  /** All objects of a type. */
  allOf(type: string): Row {
    return namesOf(this.scene).byType.get(type) ?? [];
  }

  /** All facts of a predicate. */
  rows(predicate: string): readonly Row[] {
    return this.either(predicate, ({ rows }) => rows);
  }

  private either(predicate: string, rowsOfOne: (relation: Relation) => readonly Row[]): readonly Row[] {
    const [now, always] = [this.facts[predicate], this.scene.facts[predicate]].map((table) =>
      table === undefined ? NONE : rowsOfOne(relationOf(table)),
    );
    return always.length === 0 ? now : now.length === 0 ? always : [...now, ...always];
  }
}

/** The key of a fact in the table of its predicate. */
export function factKey(objects: Row): string {
  return objects.join(BETWEEN);
}

/** The objects of a fact by its key. */
export function rowOf(key: string): string[] {
  return key.split(BETWEEN);
}

function relationOf(table: Readonly<Record<string, true>>): Relation {
  return remembered(relations, table, () => {
    const rows = Object.keys(table).map(rowOf);
    return { rows, at: indexed(rows) };
  });
}

function indexed(rows: readonly Row[]): Map<string, Row[]>[] {
  const at: Map<string, Row[]>[] = [];
  for (const row of rows) {
    row.forEach((object, place) => {
      at[place] ??= new Map();
      const list = at[place].get(object);
      if (list === undefined) at[place].set(object, [row]);
      else list.push(row);
    });
  }
  return at;
}

export interface Parameter {
  /** With its question mark: `?receptacle`. */
  readonly name: string;
  readonly type: string;
}

/** One action as it was taken: which, and on which objects. */
export interface TakenAction {
  /** Equal for the same action on objects of the same types. */
  readonly name: string;
  readonly parameters: readonly Parameter[];
  /** One for each parameter. */
  readonly objects: readonly string[];
}

interface Names {
  readonly pattern: RegExp;
  readonly types: ReadonlyMap<string, string>;
  readonly byType: ReadonlyMap<string, readonly string[]>;
}

const names = new WeakMap<Scene, Names>();

/** A call of a tool whose one argument is a text is told by that text alone. */
export function takenAction({ name, arguments: given }: CallSpec, scene: Scene): TakenAction {
  const { types } = namesOf(scene);
  const objects: string[] = [];
  const parameters: Parameter[] = [];
  const lifted = (text: string) => {
    const split = splitByNames(text.trim(), scene);
    return split.between.reduce((before, piece, i) => {
      const object = split.objects[i - 1];
      const type = types.get(object)!;
      const same = parameters.filter((one) => one.type === type).length;
      parameters.push({ name: same === 0 ? `?${type}` : `?${type}${same + 1}`, type });
      objects.push(object);
      return `${before}{${type}}${piece}`;
    });
  };
  const keys = Object.keys(given).sort();
  const parts = keys.map((key) => written(given[key], lifted));
  const isText = keys.length === 1 && typeof given[keys[0]] === 'string';
  const action = isText ? `${name}: ${parts[0]}` : `${name}(${keys.map((key, i) => `${key}=${parts[i]}`).join(', ')})`;
  return { name: action, parameters, objects };
}

/** A text taken apart: `between` has what stands before each object, and what stands after the last. */
export function splitByNames(text: string, scene: Scene): { readonly between: string[]; readonly objects: string[] } {
  const between: string[] = [];
  const objects: string[] = [];
  let from = 0;
  for (const { 0: object, index } of text.matchAll(namesOf(scene).pattern)) {
    between.push(text.slice(from, index));
    objects.push(object);
    from = index + object.length;
  }
  return { between: [...between, text.slice(from)], objects };
}

function written(value: Json, lifted: (text: string) => string): string {
  return typeof value === 'string' ? lifted(value) : canonicalJson(value);
}

function namesOf(scene: Scene): Names {
  return remembered(names, scene, () => {
    const types = new Map(scene.objects.map(({ name, type }) => [name, type]));
    const byType = new Map<string, string[]>();
    for (const { name, type } of scene.objects) byType.set(type, [...(byType.get(type) ?? []), name]);
    // Where one name begins another, the longer one is meant.
    const sorted = [...types.keys()].sort((a, b) => b.length - a.length || (a < b ? -1 : 1));
    const alternatives = sorted.map((name) => name.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')).join('|');
    const pattern = new RegExp(`(?<![\\p{L}\\p{N}_])(?:${alternatives || '(?!)'})(?![\\p{L}\\p{N}_])`, 'gu');
    return { pattern, types, byType };
  });
}
