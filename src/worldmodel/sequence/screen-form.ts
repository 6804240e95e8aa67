// Screens in words: the elements that an action is about and those around them, the goal, and changes of elements as JSON Patch. Ids and
// the texts of this page have slots and are copied; what many pages read alike (`Submit`) is spelt.

import type { JsonObject } from '../../core/canonical-json.js';
import { actionLine, textsNamed } from '../../env/screens/screen-actions.js';
import type { ScreenElement, ScreenState } from '../../env/screens/screen-state.js';
import type { CallSpec } from '../../env/tools/domain.js';
import type { Operation } from '../../env/tools/prediction.js';
import { readPatch, splitterOf, writtenPatch } from './patch-words.js';
import { mark, type Names, type Piece, type Splitter, written } from './script.js';
import type { Around, World, WorldForm } from './world-form.js';

/** Elements that are shown around an action, and ids that are kept for new ones: the rest of the slots is for texts. */
const MOST = 20;
const NEW = 8;
/** Pages that read it, from which a text is of all of them. */
const LEAST_SHARED = 4;
/** Longer texts are spelt, as no other text is like them. */
const LONGEST_NAME = 60;

export class ScreenForm implements WorldForm {
  private readonly shared: ReadonlySet<string>;

  /** @param shared texts that are spelt: `sharedTexts` of what was learned from */
  constructor(shared: readonly string[]) {
    this.shared = new Set(shared);
  }

  around({ arguments: given }: CallSpec, _said: string, world: World | undefined, names: Names): Around {
    const state = world!.values as ScreenState;
    const { elements, focused, goal } = state;
    const acted = [given['bid'], given['from_bid'], given['to_bid']].map(String).filter((id) => id in elements);
    const parents = parentsOf(state);
    const shown = elementsAround(state, acted, parents);
    for (const id of shown) names.assign(id);
    for (let i = 1; i <= NEW; i++) names.assign(String(lastId(state) + i));
    const arguments_ = Object.entries(given).filter(([key]) => !key.endsWith('bid'));
    const texts = [
      ...arguments_.flatMap(([, value]) => [value].flat().map(String)),
      ...textsNamed(goal),
      ...shown.flatMap((id) => [elements[id].name, String(elements[id].value ?? '')]),
    ];
    for (const text of texts) if (this.isName(text, goal)) names.assign(text);
    const split = splitterOf(names.all());
    const pieces = [
      mark('goal'),
      ...written(goal, split, names),
      mark('facts'),
      ...written(` focused ${focused}`, split, names),
      ...shown.flatMap((id) => [mark('name'), ...written(lineOf(id, elements[id], parents.get(id)), split, names)]),
    ];
    return { pieces, split };
  }

  /** What was done is told by the call. */
  write(operations: readonly Operation[], names: Names, split: Splitter): Piece[] | undefined {
    return writtenPatch(
      operations.filter(({ path }) => path !== HISTORY),
      names,
      split,
    );
  }

  read(
    pieces: readonly Piece[],
    names: Names,
    _world: World | undefined,
    done: CallSpec | undefined,
  ): Operation[] | undefined {
    const changes = readPatch(pieces, names);
    return changes === undefined || done === undefined
      ? changes
      : [...changes, { op: 'add', path: HISTORY, value: actionLine(done) }];
  }

  /** What the goal speaks of is copied, however often it is read elsewhere: whether it is the same is all that counts. */
  private isName(text: string, goal: string): boolean {
    if (text.length < 2 || text.length > LONGEST_NAME) return false;
    return !this.shared.has(text) || goal.includes(text);
  }
}

const HISTORY = '/history/-';

/** Texts of elements that several pages have; sorted. */
export function sharedTexts(states: Iterable<JsonObject>): string[] {
  const pages = new Map<string, Set<string>>();
  for (const { page, elements } of states as Iterable<ScreenState>) {
    for (const { name } of Object.values(elements)) pages.set(name, (pages.get(name) ?? new Set()).add(page));
  }
  return [...pages].flatMap(([name, of]) => (name !== '' && of.size >= LEAST_SHARED ? [name] : [])).sort();
}

/** Those acted on, what holds them, what stands beside them and within them, what the goal names, what holds a value; then the others. */
function elementsAround(state: ScreenState, acted: readonly string[], parents: ReadonlyMap<string, string>): string[] {
  const { elements, goal, root, focused } = state;
  const lineage = acted.flatMap((id) => ancestorsOf(id, parents));
  const near = acted.flatMap((id) => [...elements[id].children, ...(elements[parents.get(id) ?? '']?.children ?? [])]);
  const all = Object.keys(elements);
  const named = all.filter((id) => elements[id].name.length > 1 && goal.includes(elements[id].name));
  const holding = all.filter((id) => id === focused || isHolding(elements[id]));
  return [...new Set([...acted, ...lineage, ...near, ...named, ...holding, root, ...all])].slice(0, MOST);
}

function isHolding({ checked, selected, expanded, value }: ScreenElement): boolean {
  return checked === true || selected === true || expanded === true || (value !== undefined && value !== '');
}

function ancestorsOf(id: string, parents: ReadonlyMap<string, string>): string[] {
  const found: string[] = [];
  for (let at = parents.get(id); at !== undefined && found.length < MOST; at = parents.get(at)) found.push(at);
  return found;
}

function parentsOf({ elements }: ScreenState): Map<string, string> {
  return new Map(Object.entries(elements).flatMap(([id, { children }]) => children.map((child) => [child, id])));
}

function lastId({ elements }: ScreenState): number {
  return Object.keys(elements).reduce((last, id) => Math.max(last, Number(id) || 0), 0);
}

/** What an element is, where it stands, and what stands in it. */
function lineOf(id: string, { role, name, children, ...states }: ScreenElement, parent: string | undefined): string {
  const told = Object.entries(states).map(([key, value]) => ` ; ${key} ${String(value)}`);
  const holds = children.length === 0 ? '' : ` ; holds ${children.join(' ')}`;
  return `${id} ${role} ${name}${told.join('')}${parent === undefined ? '' : ` ; in ${parent}`}${holds}`;
}
