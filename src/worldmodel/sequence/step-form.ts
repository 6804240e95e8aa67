// How a step of a world of facts about objects is asked and answered in words. Asked: the call, the goal, the facts around the call.
// Answered: whether it is done, which facts come and go, what is said, and whether that ends the episode, with its reward.

import { canonicalJson, type JsonObject } from '../../core/canonical-json.js';
import { remembered } from '../../env/state/records.js';
import type { CallSpec, FactTable, Scene } from '../../env/tools/domain.js';
import type { Operation } from '../../env/tools/prediction.js';
import { factKey, rowOf, Situation, splitByNames } from '../situation.js';
import { isMark, mark, Names, type Piece, readText, type Splitter, written } from './script.js';

/** A state to be asked about. */
export interface World {
  readonly values: JsonObject;
  /** Where it is facts about objects. */
  readonly scene?: Scene;
}

export const factsOf = ({ values }: World): FactTable => values.facts as FactTable;

/** What records have shown of the types of objects: what a model was trained to be shown. */
export interface ObjectTypes {
  /** Their objects never change and are named for what they are: `fridgetype`. They are spelt. */
  readonly constant: readonly string[];
  /** One object in each scene. */
  readonly sole: readonly string[];
}

export interface StepQuestion {
  readonly call: CallSpec;
  readonly goal: string;
  /** Before the call. */
  readonly world: World;
}

export interface StepAnswer {
  readonly isError: boolean;
  readonly operations: readonly Operation[];
  readonly observation: string;
  /** The reward, where the step ends the episode. */
  readonly ends?: number;
}

/** A question in words, and what its slots stand for. */
export interface Asked {
  readonly pieces: readonly Piece[];
  readonly names: Names;
  /** Takes texts apart where names of the question stand. */
  readonly split: Splitter;
  readonly world: World;
}

export class StepForm {
  constructor(readonly types: ObjectTypes) {}

  /** Names get their slots in the order in which they are spoken of, those of the call first. */
  ask({ call, goal, world }: StepQuestion): Asked {
    const names = new Names();
    const said = callText(call);
    const split = (text: string) => splitByNames(text, world.scene!);
    const spoken = [...new Set(split(said).objects)];
    const { objects, facts } = surroundings(new Situation(world.scene!, factsOf(world)), spoken, this.types);
    for (const name of objects) names.assign(name);
    const told = facts.flatMap(({ predicate, rows }): Piece[] => [
      { text: ` ${predicate}` },
      ...rows.flatMap((row) => row.map((name) => slotOr(name, names))),
    ]);
    const sections = [mark('goal'), { text: goal }, mark('facts'), ...told, mark('answer')];
    return { pieces: [mark('call'), ...written(said, split, names), ...sections], names, split, world };
  }

  /** An answer in the words of its question; undefined where there are none for its operations. */
  answer({ isError, operations, observation, ends }: StepAnswer, { names, split }: Asked): Piece[] | undefined {
    const changes = changesOf(operations);
    if (changes === undefined) return undefined;
    const told = inOrder(changes, names).flatMap(({ adds, predicate, objects }) => [
      mark(adds ? 'add' : 'remove'),
      { text: ` ${predicate}` },
      ...objects.flatMap((name) =>
        names.slotOf(name) === undefined ? [mark('name'), slotOr(name, names)] : [slotOr(name, names)],
      ),
    ]);
    return [
      mark(isError ? 'refused' : 'done'),
      ...told,
      mark('says'),
      ...written(observation, split, names),
      ...(ends === undefined ? [mark('goes-on')] : [mark('ends'), { text: ` ${ends}` }]),
    ];
  }

  /** What an answer says; a sentence where it says nothing that can be understood. */
  read(pieces: readonly Piece[], { names, world }: Asked): StepAnswer | string {
    const [first, ...rest] = pieces;
    if (first === undefined || !(isMark(first, 'done') || isMark(first, 'refused')))
      return 'it does not say whether the call is carried out';
    const says = rest.findIndex((piece) => isMark(piece, 'says'));
    const end = rest.findIndex((piece) => isMark(piece, 'goes-on') || isMark(piece, 'ends'));
    if (says < 0 || end < says) return 'it breaks off';
    const changes = readChanges(rest.slice(0, says), names);
    if (changes === undefined) return 'it changes what cannot be read';
    const observation = readText(rest.slice(says + 1, end), names);
    if (observation === undefined) return 'it speaks of a thing that has no name here';
    const reward = isMark(rest[end], 'ends') ? Number(readText(rest.slice(end + 1), names)) : undefined;
    return {
      isError: isMark(first, 'refused'),
      operations: operationsOf(changes, factsOf(world)),
      observation,
      ...(reward !== undefined && Number.isFinite(reward) && { ends: reward }),
    };
  }
}

/** A call of a tool whose one argument is a text is told by that text. */
function callText({ name, arguments: given }: CallSpec): string {
  const values = Object.values(given);
  if (values.length === 1 && typeof values[0] === 'string') return `${name}: ${values[0].trim()}`;
  return `${name} ${canonicalJson(given)}`;
}

function slotOr(name: string, names: Names): Piece {
  const slot = names.slotOf(name);
  return slot === undefined ? { text: ` ${name}` } : { slot };
}

type Row = readonly string[];

/**
 * Objects in the order in which they are spoken of, and facts by predicate, sorted.
 * @param spoken  the objects that the action names, in its order
 */
function surroundings(at: Situation, spoken: readonly string[], types: ObjectTypes) {
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
  const order = remembered(orders, at.scene, () => new Map(at.scene.objects.map(({ name }, i) => [name, i])));
  const objects = [...core, ...[...near].sort((a, b) => order.get(a)! - order.get(b)!)];
  const places = new Map(objects.map((name, i) => [name, i]));
  const kinds = new Set(spoken.flatMap((one) => linked(at, predicates, one).filter(isConstant)));
  const isShown = (row: Row, changes: boolean) => {
    const things = row.filter((name) => !isConstant(name));
    if (things.length === 0) return row.every((name) => kinds.has(name));
    return things.every((name) => places.has(name)) && (changes || things.length > 1 || core.has(things[0]));
  };
  const facts = predicates.flatMap((predicate) => {
    const all = at.rows(predicate);
    // Facts about any of the objects, and those about constants alone; none twice.
    const about = all[0]?.every(isConstant) ? all : objects.flatMap((object) => rowsWith(at, predicate, object));
    const rows = [...new Map(about.map((row) => [factKey(row), row])).values()].filter((row) =>
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
function rowsWith(at: Situation, predicate: string, object: string): Row[] {
  const arity = at.rows(predicate)[0]?.length ?? 0;
  return Array.from({ length: arity }, (_, place) => at.about(predicate, place, object)).flat();
}

function compareRows(a: Row, b: Row, places: ReadonlyMap<string, number>): number {
  for (let i = 0; i < Math.min(a.length, b.length); i++) {
    const difference = (places.get(a[i]) ?? Infinity) - (places.get(b[i]) ?? Infinity);
    if (difference !== 0 && !Number.isNaN(difference)) return difference;
    if (a[i] !== b[i]) return a[i] < b[i] ? -1 : 1;
  }
  return a.length - b.length;
}

const orders = new WeakMap<Scene, ReadonlyMap<string, number>>();

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

/** undefined where an operation is no change of a fact; a new empty table is none, and is made where it is needed. */
function changesOf(operations: readonly Operation[]): FactChange[] | undefined {
  const changes: FactChange[] = [];
  for (const operation of operations) {
    const [, root, predicate, key, ...more] = operation.path
      .split('/')
      .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
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
  const escaped = (key: string) => key.replaceAll('~', '~0').replaceAll('/', '~1');
  const lacking = new Set(changes.map(({ predicate }) => predicate).filter((one) => facts[one] === undefined));
  const tables = [...lacking].map((one): Operation => ({ op: 'add', path: `/facts/${escaped(one)}`, value: {} }));
  const made = changes.map(({ adds, predicate, objects }): Operation => {
    const path = `/facts/${escaped(predicate)}/${escaped(factKey(objects))}`;
    return adds ? { op: 'add', path, value: true } : { op: 'remove', path };
  });
  return [...tables, ...made];
}

/** undefined where they cannot be read. */
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
