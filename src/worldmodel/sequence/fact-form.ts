// Worlds of facts in words: predicates and slots.

import { canonicalJson } from '../../core/canonical-json.js';
import type { CallSpec, FactTable } from '../../env/tools/domain.js';
import type { Operation } from '../../env/tools/prediction.js';
import { factKey, rowOf, Situation } from '../situation.js';
import { splitByNames } from '../taken-action.js';
import { isMark, mark, type Names, type Piece } from './script.js';
import { type ObjectTypes, surroundings } from './surroundings.js';
import { type Around, factsOf, type World, type WorldForm } from './world-form.js';

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
