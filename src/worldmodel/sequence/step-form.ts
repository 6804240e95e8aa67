// How a step is asked and answered in words. Asked: the call, the goal, facts around the action (or, from text alone, what names mean),
// earlier steps that speak of the same things, the last steps. Answered: whether it is done, which facts become so and which no longer
// are, what is said, and whether that ends the episode, with its reward.

import { canonicalJson } from '../../core/canonical-json.js';
import type { CallSpec, FactTable, Operation, Scene } from '../../env/index.js';
import { splitByNames } from '../operators/actions.js';
import { factKey, rowOf, Situation } from '../operators/situation.js';
import { mark, Names, type Piece, readText, type Splitter, written } from './script.js';
import { type ObjectTypes, surroundings } from './surroundings.js';

/** What a model was trained to be shown. */
export interface FormSettings {
  /** Whether it sees the typed state and answers with its changes; else text alone. */
  readonly typed: boolean;
  /** Last steps of the episode that are shown. */
  readonly history: number;
  /** Earlier steps that are shown for the names they share with the call. */
  readonly memory: number;
  readonly types: ObjectTypes;
}

export interface PastStep {
  readonly call: CallSpec;
  readonly observation: string;
}

export interface StepQuestion {
  readonly call: CallSpec;
  readonly goal: string;
  /** Of the state now; absent where it is not known. */
  readonly world?: { readonly scene: Scene; readonly facts: FactTable };
  /** The episode so far, oldest first. */
  readonly past: readonly PastStep[];
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
  readonly split: Splitter;
}

/** Names in worlds without a typed state: a word and a number. */
const NUMBERED = /\p{L}+ \d+/gu;

export class StepForm {
  constructor(readonly settings: FormSettings) {}

  /** @throws nothing; a question without a world is asked as text */
  ask(question: StepQuestion): Asked {
    const { call, goal, world, past } = question;
    const names = new Names();
    const split = splitterOf(this.settings.typed ? world?.scene : undefined);
    const text = callText(call);
    const spoken = split(text).objects;
    for (const name of spoken) names.assign(name);
    const around =
      this.settings.typed && world !== undefined
        ? surroundings(new Situation(world.scene, world.facts), [...new Set(spoken)], this.settings.types)
        : undefined;
    for (const name of around?.objects ?? []) names.assign(name);
    const recent = this.settings.history === 0 ? [] : past.slice(-this.settings.history);
    const recalled = this.recalled(past.slice(0, past.length - recent.length), spoken, split);
    const steps = [
      ...recalled.map((step) => ['memory', step] as const),
      ...recent.map((step) => ['past', step] as const),
    ];
    for (const [, step] of steps) {
      for (const said of [callText(step.call), step.observation])
        for (const name of split(said).objects) names.assign(name);
    }
    const shown: Piece[] = [
      mark('call'),
      ...written(text, split, names),
      mark('goal'),
      { text: goal },
      ...(around === undefined ? namePieces(names) : factPieces(around.facts, names)),
      ...steps.flatMap(([kind, step]) => [
        mark(kind),
        ...written(callText(step.call), split, names),
        mark('says'),
        ...written(step.observation, split, names),
      ]),
      mark('answer'),
    ];
    return { pieces: shown, names, split };
  }

  /** An answer in the words of its question; undefined where its operations are no changes of facts. */
  answer({ isError, operations, observation, ends }: StepAnswer, { names, split }: Asked): Piece[] | undefined {
    const changes = this.settings.typed ? changesOf(operations) : [];
    if (changes === undefined) return undefined;
    return [
      mark(isError ? 'refused' : 'done'),
      ...inOrder(changes, names).flatMap(({ adds, predicate, objects }) => [
        mark(adds ? 'add' : 'remove'),
        { text: ` ${predicate}` },
        ...objects.flatMap((name) => namePiece(name, names)),
      ]),
      mark('says'),
      ...written(observation, split, names),
      ...(ends === undefined ? [mark('goes-on')] : [mark('ends'), { text: ` ${ends}` }]),
    ];
  }

  /** What an answer says; a sentence where it says nothing that can be understood. */
  read(pieces: readonly Piece[], { names }: Asked, facts: FactTable = {}): StepAnswer | string {
    const [first, ...rest] = pieces;
    if (first === undefined || !('mark' in first) || (first.mark !== 'done' && first.mark !== 'refused'))
      return 'it does not say whether the call is carried out';
    const says = rest.findIndex((piece) => isMark(piece, 'says'));
    const end = rest.findIndex((piece) => isMark(piece, 'goes-on') || isMark(piece, 'ends'));
    if (says < 0 || end < says) return 'it breaks off';
    const changes = readChanges(rest.slice(0, says), names);
    if (changes === undefined) return 'it changes facts that cannot be read';
    const observation = readText(rest.slice(says + 1, end), names);
    if (observation === undefined) return 'it speaks of a thing that has no name here';
    const reward = isMark(rest[end], 'ends') ? Number(readText(rest.slice(end + 1), names)) : undefined;
    return {
      isError: first.mark === 'refused',
      operations: operationsOf(changes, facts),
      observation,
      ...(reward !== undefined && Number.isFinite(reward) && { ends: reward }),
    };
  }

  /** Earlier steps that share most names with the call, the later the better; in their order, one of each call. */
  private recalled(past: readonly PastStep[], spoken: readonly string[], split: Splitter): PastStep[] {
    if (this.settings.memory === 0) return [];
    const wanted = new Set(spoken);
    const latest = new Map(past.map((step, i) => [callText(step.call), i]));
    const scored = [...latest.values()].map((i) => {
      const own = new Set([callText(past[i].call), past[i].observation].flatMap((text) => split(text).objects));
      return { i, score: [...wanted].filter((name) => own.has(name)).length };
    });
    const best = scored.filter(({ score }) => score > 0).sort((a, b) => b.score - a.score || b.i - a.i);
    const kept = best.slice(0, this.settings.memory).map(({ i }) => i);
    return kept.sort((a, b) => a - b).map((i) => past[i]);
  }
}

/** A call of a tool whose one argument is a text is told by that text. */
export function callText({ name, arguments: given }: CallSpec): string {
  const values = Object.values(given);
  if (values.length === 1 && typeof values[0] === 'string') return `${name}: ${values[0].trim()}`;
  return `${name} ${canonicalJson(given)}`;
}

function splitterOf(scene: Scene | undefined): Splitter {
  if (scene !== undefined) return (text) => splitByNames(text, scene);
  return (text) => {
    const objects = text.match(NUMBERED) ?? [];
    return { between: text.split(NUMBERED), objects };
  };
}

function factPieces(facts: ReturnType<typeof surroundings>['facts'], names: Names): Piece[] {
  const told = facts.flatMap(({ predicate, rows }): Piece[] => [
    { text: ` ${predicate}` },
    ...rows.flatMap((row) => row.map((name) => slotOr(name, names, { text: ` ${name}` }))),
  ]);
  return [mark('facts'), ...told];
}

function namePieces(names: Names): Piece[] {
  return [mark('names'), ...names.all().flatMap((name, slot): Piece[] => [{ slot }, { text: ` ${name}` }])];
}

function slotOr(name: string, names: Names, otherwise: Piece): Piece {
  const slot = names.slotOf(name);
  return slot === undefined ? otherwise : { slot };
}

function namePiece(name: string, names: Names): Piece[] {
  const slot = names.slotOf(name);
  return slot === undefined ? [mark('name'), { text: ` ${name}` }] : [{ slot }];
}

function isMark(piece: Piece, name: string): boolean {
  return 'mark' in piece && piece.mark === name;
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
