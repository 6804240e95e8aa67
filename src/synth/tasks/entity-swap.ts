// The things a typed state holds: records of its collections, by id, and where a text or a task names them.

import { isJsonObject, type Json, type JsonObject } from '../../core/canonical-json.js';
import { remembered, rememberedIfFrozen } from '../../core/remembered.js';
import type { Rng } from '../../core/rng.js';
import type { ToolsTask } from '../../env/tools/domain.js';

export interface Entity {
  readonly collection: string;
  readonly id: string;
  readonly record: JsonObject;
}

type Records = ReadonlyMap<string, JsonObject>;

const parsed = new WeakMap<object, Records | null>();

export class Entities {
  /** Top-level parts of the state whose values are records: objects by id, or lists of objects with an id. */
  readonly collections: ReadonlyMap<string, Records>;

  constructor(state: JsonObject) {
    const found = new Map<string, Records>();
    for (const [name, part] of Object.entries(state)) {
      const records = recordsOf(part);
      if (records !== null) found.set(name, records);
    }
    this.collections = found;
  }

  /** The record with this id; the first collection that has one. */
  find(id: string): Entity | undefined {
    for (const [collection, records] of this.collections) {
      const record = records.get(id);
      if (record !== undefined) return { collection, id, record };
    }
    return undefined;
  }

  /** Entities that a value names, in order of first mention; `text` counts words of its strings, not whole strings alone. */
  named(value: Json): readonly Entity[] {
    const found = new Map<string, Entity>();
    for (const word of mentions(value)) {
      if (found.has(word)) continue;
      const entity = this.find(word);
      if (entity !== undefined) found.set(word, entity);
    }
    return [...found.values()];
  }
}

/** An id this short counts where it is a whole value only: as a word of a text it is likelier a number. */
const SHORTEST_WORD = 3;

/** Whole strings, and words of them that may be ids; keys of objects and parts of JSON Pointers too. */
export function* mentions(value: Json): Generator<string> {
  if (typeof value === 'string') {
    yield value;
    for (const word of wordsOf(value)) if (word.length >= SHORTEST_WORD) yield word;
  } else if (Array.isArray(value)) {
    for (const part of value) yield* mentions(part);
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, part] of Object.entries(value)) {
      yield key;
      yield* mentions(part);
    }
  }
}

/** Words as ids are written: letters, digits and `_#@.-+`, without a full stop at the end. A pointer's parts are words. */
export function wordsOf(text: string): string[] {
  const words = text.match(/[#@]?[\p{L}\p{N}_][\p{L}\p{N}_@.+-]*/gu) ?? [];
  return words.map((word) => word.replace(/[.+-]+$/, ''));
}

function recordsOf(part: Json): Records | null {
  if (typeof part !== 'object' || part === null) return null;
  return rememberedIfFrozen(parsed, part, () =>
    Array.isArray(part) ? listedRecords(part) : keyedRecords(part as JsonObject),
  );
}

function keyedRecords(part: JsonObject): Records | null {
  const entries = Object.entries(part);
  if (entries.length === 0 || !entries.every(([, value]) => isJsonObject(value))) return null;
  return new Map(entries as [string, JsonObject][]);
}

function listedRecords(part: readonly Json[]): Records | null {
  if (part.length === 0 || !part.every(isJsonObject)) return null;
  const key = Object.keys(part[0]).find((name) => name === 'id' || /(_id|Id)$/.test(name));
  if (key === undefined) return null;
  const ids = part.map((record) => record[key]);
  if (!ids.every((id) => typeof id === 'string') || new Set(ids).size < ids.length) return null;
  return new Map(part.map((record, i) => [ids[i] as string, record]));
}

/**
 * In which states and kinds two entities must be the same: those that the task names, those that the records themselves
 * have as fields, or all they hold. Another state may call for another solution, where no exact check tells.
 */
export type Likeness = 'named' | 'own' | 'all';

interface SwapRequest {
  readonly task: ToolsTask;
  /** The state the task begins in. */
  readonly state: JsonObject;
  /** Ids that a new task may not be about, e.g. those of tasks for evaluation. */
  readonly except: ReadonlySet<string>;
  readonly rng: Rng;
  readonly alike: Likeness;
}

/** Parts of a task that name entities. */
export function entityParts({ user, initialOperations, verifier, reference, failures }: ToolsTask): JsonObject {
  const parts = { user, initialOperations, verifier, reference, failures };
  // Parts that are absent have no place in JSON.
  return Object.fromEntries(Object.entries(parts).filter(([, part]) => part !== undefined)) as unknown as JsonObject;
}

/** Tasks about other entities, likeliest to work first; the caller plays each and takes the first that does. */
export function* swappedTasks(request: SwapRequest): Generator<ToolsTask> {
  const entities = new Entities(request.state);
  const parts = entityParts(request.task);
  const named = entities.named(parts);
  const root = rootOf(entities, named);
  if (root === undefined) return;
  const ids = new Set(named.map(({ id }) => id));
  const texts = new Texts(parts);
  for (const candidate of candidates(entities, root, ids, request)) {
    const alignment = align(entities, root, candidate, ids);
    const replacement = alignment && replacementOf(entities, alignment, texts, request);
    if (replacement === undefined || !replacement.strings.has(root.id)) continue;
    if ([...replacement.strings].some(([from, to]) => from !== to && request.except.has(to))) continue;
    yield { ...request.task, ...(replacer(replacement)(parts) as unknown as Partial<ToolsTask>) };
  }
}

/** The named entity from which most of the others are reached by references. */
function rootOf(entities: Entities, named: readonly Entity[]): Entity | undefined {
  const ids = new Set(named.map(({ id }) => id));
  const covered = named.map((entity) => {
    const reached = align(entities, entity, entity, ids)?.ids;
    return named.filter(({ id }) => reached?.has(id)).length;
  });
  return named[covered.indexOf(Math.max(...covered))];
}

/** Others of the collection in random order, those first that share the root's states and kinds. */
function candidates(
  entities: Entities,
  { collection, record: own }: Entity,
  taken: ReadonlySet<string>,
  { rng, alike, except }: SwapRequest,
): Entity[] {
  const records = entities.collections.get(collection)!;
  const free = [...records.keys()].filter((id) => !taken.has(id) && !except.has(id));
  const kinds = Object.keys(own).filter((key) => isKind(entities, collection, `/${key}`));
  const order = Array.from(rng.split('entity').permutation(free.length), (at) => free[at]);
  const scored = order
    .map((id) => ({ id, likeness: kinds.filter((key) => records.get(id)![key] === own[key]).length }))
    .sort((a, b) => b.likeness - a.likeness);
  const fit = alike === 'named' ? scored : scored.filter(({ likeness }) => likeness === kinds.length);
  return fit.map(({ id }) => ({ collection, id, record: records.get(id)! }));
}

const MOST_KINDS = 50;
/** What belongs to one person, though few values may recur. */
const PERSONAL = /(first|last|given|family|full|sur)_?name$|\/(city|zip|phone|email|dob|address\w*)$/i;
const kindsByRecords = new WeakMap<object, Map<string, boolean>>();

/** Whether a path holds one of few values that recur (a status, a cabin, a product's name) rather than something of one's own. */
function isKind(entities: Entities, collection: string, path: string): boolean {
  if (PERSONAL.test(path)) return false;
  const records = entities.collections.get(collection)!;
  const known = remembered(kindsByRecords, records, () => new Map<string, boolean>());
  let answer = known.get(path);
  if (answer === undefined) {
    const distinct = valuesAt(records.values(), path).size;
    answer = distinct <= Math.min(MOST_KINDS, Math.max(2, records.size / 4));
    known.set(path, answer);
  }
  return answer;
}

/** Values at a path of `Aligned` in every record of a collection. */
function valuesAt(records: Iterable<JsonObject>, path: string): Set<Json> {
  const parts = path.split('/').slice(1);
  const at = (value: Json, depth: number): Json[] => {
    const part = parts[depth];
    if (part === undefined) return [value];
    if (typeof value !== 'object' || value === null) return [];
    if (part === '*') return Object.values(value).flatMap((inner) => at(inner, depth + 1));
    return part in value ? at((value as JsonObject)[part], depth + 1) : [];
  };
  return new Set([...records].flatMap((record) => at(record, 0)));
}

/** A value of one entity and what stands in its place in another of its kind. */
interface Aligned {
  /** Where the value lies within the collection's records; keys that are ids, and numbers of lists, are `*`. */
  readonly collection: string;
  readonly path: string;
  readonly from: string | number;
  /** Absent where the other has nothing there. */
  readonly to?: string | number;
}

interface Alignment {
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
 * Pairs up everything that two entities of one collection hold, along references to further entities (an order's user, that user's
 * name); undefined where their references contradict one another. Lists pair their entries by place, which says little: they are
 * followed to entities that are `named` only.
 */
function align(entities: Entities, from: Entity, to: Entity, named: ReadonlySet<string>): Alignment | undefined {
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
  const [from, to] = [entities.find(leaf.from), entities.find(leaf.to)];
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
    else if (isJsonObject(a)) {
      const other = isJsonObject(b) ? b : {};
      for (const [key, counterpart] of keyPairs(entities, a, other)) {
        const isId = isJsonObject(a[key]) || entities.find(key) !== undefined;
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

function isLeaf(value: Json): value is string | number {
  return typeof value === 'string' || typeof value === 'number';
}

/** Each key with its like: itself where shared; of what is left, ids of a collection with such, records with alike ones, in order. */
function keyPairs(entities: Entities, a: JsonObject, b: JsonObject): [key: string, counterpart: string | undefined][] {
  const kindOf = (record: JsonObject, key: string): string | undefined => {
    const value = record[key];
    if (!isJsonObject(value)) return entities.find(key)?.collection;
    // Keys of a record, and its kind where it says one.
    return JSON.stringify([value.kind ?? value.type ?? value.source ?? '', ...Object.keys(value).sort()]);
  };
  const left = Object.keys(b).filter((key) => !(key in a) && kindOf(b, key) !== undefined);
  return Object.keys(a).map((key) => {
    if (key in b) return [key, key];
    const kind = kindOf(a, key);
    const at = kind === undefined ? -1 : left.findIndex((other) => kindOf(b, other) === kind);
    return [key, at < 0 ? undefined : left.splice(at, 1)[0]];
  });
}

const SHORTEST_TEXT = 3;
/** Whole numbers below this are counts, which many things share. */
const SMALLEST_AMOUNT = 10;

/** What a task says: which values are used in it, as texts, words or numbers. */
class Texts {
  private readonly whole = new Set<string>();
  private readonly numbers = new Set<number>();
  private readonly exact: string;
  private readonly lower: string;
  private readonly used = new Map<string, boolean>();

  constructor(parts: Json) {
    this.collect(parts);
    this.exact = [...this.whole].join('\n');
    this.lower = this.exact.toLowerCase();
    for (const [number] of this.exact.matchAll(/\d+(?:\.\d+)?/g)) this.numbers.add(Number(number));
  }

  isUsed(value: string | number): boolean {
    if (typeof value === 'number')
      return this.numbers.has(value) && !(Number.isInteger(value) && value < SMALLEST_AMOUNT);
    const isUsed =
      this.used.get(value) ??
      (this.whole.has(value) || (value.length >= SHORTEST_TEXT && hasWords(this.lower, value.toLowerCase())));
    this.used.set(value, isUsed);
    return isUsed;
  }

  /** Whether it is used in just this spelling, so that it can be exchanged. */
  isWritten(value: string): boolean {
    return this.whole.has(value) || hasWords(this.exact, value);
  }

  private collect(part: Json): void {
    if (typeof part === 'string') this.whole.add(part);
    else if (typeof part === 'number') this.numbers.add(part);
    else if (typeof part === 'object' && part !== null) {
      if (!Array.isArray(part)) for (const key of Object.keys(part)) this.whole.add(key);
      for (const inner of Object.values(part)) this.collect(inner);
    }
  }
}

/** Whether a text holds another as a word, or as words. */
function hasWords(text: string, words: string): boolean {
  const isLetter = (at: number) => at >= 0 && at < text.length && /[\p{L}\p{N}_]/u.test(text[at]);
  for (let at = text.indexOf(words); at >= 0; at = text.indexOf(words, at + 1))
    if (!isLetter(at - 1) && !isLetter(at + words.length)) return true;
  return false;
}

interface Replacement {
  readonly strings: Map<string, string>;
  readonly numbers: Map<number, number>;
}

/** What to exchange; undefined where something the task names cannot be. */
function replacementOf(
  entities: Entities,
  { ids, values: all, sameShape }: Alignment,
  texts: Texts,
  { alike }: SwapRequest,
): Replacement | undefined {
  if (alike === 'all' && !sameShape) return undefined;
  const values = all.filter(({ from }) => typeof from === 'number' || !ids.has(from));
  const isCompared = ({ path }: Aligned) => alike === 'all' || (alike === 'own' && path.lastIndexOf('/') === 0);
  // A value that differs where it may not.
  const isFixed = ({ collection, path, from, to }: Aligned) => from !== to && isKind(entities, collection, path);
  if (values.some((value) => isCompared(value) && isFixed(value))) return undefined;
  const draft: Replacement = { strings: new Map(), numbers: new Map() };
  for (const [from, to] of ids) if (texts.isWritten(from)) draft.strings.set(from, to);
  const used = values.flatMap(wordwise).filter(({ from }) => texts.isUsed(from));
  return used.every((value) => !isFixed(value) && exchange(value, draft, texts)) ? draft : undefined;
}

/** Notes a value's exchange; false where it has none, was exchanged for another, or is written in another way. */
function exchange({ from, to }: Aligned, { strings, numbers }: Replacement, texts: Texts): boolean {
  if (typeof from === 'number') return typeof to === 'number' && put(numbers, from, to);
  return typeof to === 'string' && (from === to || texts.isWritten(from)) && put(strings, from, to);
}

function put<T>(into: Map<T, T>, from: T, to: T): boolean {
  if (into.has(from) && into.get(from) !== to) return false;
  into.set(from, to);
  return true;
}

/** A name of several words, and each of its words: goals say "Emma" where records say "Emma Kim". */
function wordwise(value: Aligned): Aligned[] {
  if (typeof value.from !== 'string' || typeof value.to !== 'string') return [value];
  const [from, to] = [value.from.split(' '), value.to.split(' ')];
  const isName =
    from.length > 1 && from.length === to.length && [...from, ...to].every((word) => /^\p{Lu}/u.test(word));
  return isName ? [value, ...from.map((word, i) => ({ ...value, from: word, to: to[i] }))] : [value];
}

/**
 * A function that replaces values throughout JSON at once, so that two can change places: whole strings and numbers, words within
 * texts, keys, parts of JSON Pointers.
 */
export function replacer(replacement: Replacement): <T extends Json>(value: T) => T {
  const inText = textReplacer(replacement);
  const inString = (text: string): string => replacement.strings.get(text) ?? inText(text);
  const replace = (value: Json): Json => {
    if (typeof value === 'string') return inString(value);
    if (typeof value === 'number') return replacement.numbers.get(value) ?? value;
    if (Array.isArray(value)) return value.map(replace);
    if (!isJsonObject(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([key, part]) => [inString(key), replace(part)]));
  };
  return <T extends Json>(value: T) => replace(value) as T;
}

function textReplacer({ strings, numbers }: Replacement): (text: string) => string {
  const words = new Map(strings);
  for (const [from, to] of numbers) for (const form of numberForms(from)) words.set(form(from), form(to));
  if (words.size === 0) return (text) => text;
  const longestFirst = [...words.keys()].sort((a, b) => b.length - a.length || (a < b ? -1 : 1));
  const alternatives = longestFirst.map((word) => word.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&')).join('|');
  const pattern = new RegExp(`(?<![\\p{L}\\p{N}_])(?:${alternatives})(?![\\p{L}\\p{N}_]|[.,]\\p{N})`, 'gu');
  return (text) => text.replace(pattern, (word) => words.get(word)!);
}

/** How a number is written in texts. */
function numberForms(value: number): ((value: number) => string)[] {
  const cents = (n: number) => n.toFixed(2);
  return Number.isInteger(value) || value.toFixed(2) !== String(value) ? [String, cents] : [cents];
}
