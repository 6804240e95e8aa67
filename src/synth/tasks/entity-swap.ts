// The same task about another entity: another order of another customer. Ids, names and amounts are exchanged together,
// in goal, reference, verifier and start; what the text names and cannot be exchanged must be the same in both.

import type { Json, JsonObject } from '../../core/canonical-json.js';
import type { Rng } from '../../core/rng.js';
import type { ToolsTask } from '../../env/tools/domain.js';
import { type Aligned, type Alignment, align, valuesAt } from './alignment.js';
import { Entities, type Entity } from './entities.js';

/**
 * In which states and kinds two entities must be the same: those that the task names, those that the records themselves
 * have as fields, or all they hold. Another state may call for another solution, where no exact check tells.
 */
export type Likeness = 'named' | 'own' | 'all';

export interface SwapRequest {
  readonly task: ToolsTask;
  /** The state the task begins in. */
  readonly state: JsonObject;
  /** Ids that a new task may not be about, e.g. those of tasks for evaluation. */
  readonly except: ReadonlySet<string>;
  readonly rng: Rng;
  /** Ids that must change places with a given one, e.g. a customer with the customer of another task. */
  readonly fixed?: ReadonlyMap<string, string>;
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
  for (const candidate of candidates(entities, root, named, request)) {
    const alignment = align(entities, root, candidate, ids);
    const replacement = alignment && replacementOf(entities, alignment, texts, request);
    if (replacement === undefined || !replacement.strings.has(root.id)) continue;
    if ([...replacement.strings].some(([from, to]) => from !== to && isKept(to, request))) continue;
    yield { ...request.task, ...(replacer(replacement)(parts) as unknown as Partial<ToolsTask>) };
  }
}

/** The named entity from which most of the others are reached by references. */
function rootOf(entities: Entities, named: readonly Entity[]): Entity | undefined {
  const ids = new Set(named.map(({ id }) => id));
  let best: Entity | undefined;
  let most = -1;
  for (const entity of named) {
    const reached = align(entities, entity, entity, ids)?.ids;
    const covered = named.filter(({ id }) => reached?.has(id)).length;
    if (covered > most) [best, most] = [entity, covered];
  }
  return best;
}

/** Others of the collection in random order, those first that share the root's states and kinds. */
function candidates(
  entities: Entities,
  root: Entity,
  named: readonly Entity[],
  { rng, alike, fixed, ...request }: SwapRequest,
): Entity[] {
  const records = entities.collections.get(root.collection)!;
  const taken = new Set(named.map(({ id }) => id));
  const free = [...records.keys()].filter((id) => !taken.has(id) && !isKept(id, { ...request, fixed }));
  const kinds = Object.keys(root.record).filter((key) => isKind(entities, root.collection, `/${key}`));
  const likeness = (id: string) => kinds.filter((key) => records.get(id)![key] === root.record[key]).length;
  const isPossible = (id: string) => fixed === undefined || refersTo(id, records.get(id)!, new Set(fixed.values()));
  const order = Array.from(rng.split('entity').permutation(free.length), (at) => free[at]).filter(isPossible);
  const scored = order.map((id) => ({ id, likeness: likeness(id) })).sort((a, b) => b.likeness - a.likeness);
  const fit = alike !== 'named' ? scored.filter((candidate) => candidate.likeness === kinds.length) : scored;
  return fit.map(({ id }) => ({ collection: root.collection, id, record: records.get(id)! }));
}

/** Whether an id is one of tasks for evaluation, unless it must take its place. */
function isKept(id: string, { except, fixed }: Pick<SwapRequest, 'except' | 'fixed'>): boolean {
  return except.has(id) && ![...(fixed?.values() ?? [])].includes(id);
}

function refersTo(id: string, record: JsonObject, targets: ReadonlySet<string>): boolean {
  return targets.has(id) || Object.values(record).some((value) => typeof value === 'string' && targets.has(value));
}

const MOST_KINDS = 50;
/** What belongs to one person, though few values may recur. */
const PERSONAL = /(first|last|given|family|full|sur)_?name$|\/(city|zip|phone|email|dob|address\w*)$/i;
const kindsByRecords = new WeakMap<object, Map<string, boolean>>();

/** Whether a path holds one of few values that recur (a status, a cabin, a product's name) rather than something of one's own. */
function isKind(entities: Entities, collection: string, path: string): boolean {
  if (PERSONAL.test(path)) return false;
  const records = entities.collections.get(collection)!;
  const known = kindsByRecords.get(records) ?? new Map<string, boolean>();
  kindsByRecords.set(records, known);
  let answer = known.get(path);
  if (answer === undefined) {
    const distinct = valuesAt(records.values(), path).size;
    answer = distinct <= Math.min(MOST_KINDS, Math.max(2, records.size / 4));
    known.set(path, answer);
  }
  return answer;
}

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
    const known = this.used.get(value);
    if (known !== undefined) return known;
    const isUsed = this.whole.has(value) || (value.length >= SHORTEST_TEXT && holds(this.lower, value.toLowerCase()));
    this.used.set(value, isUsed);
    return isUsed;
  }

  /** Whether it is used in just this spelling, so that it can be exchanged. */
  isWritten(value: string): boolean {
    return this.whole.has(value) || holds(this.exact, value);
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

const SHORTEST_TEXT = 3;
/** Whole numbers below this are counts, which many things share. */
const SMALLEST_AMOUNT = 10;

/** Whether a text holds another as a word, or as words. */
function holds(text: string, words: string): boolean {
  const isLetter = (at: number) => at >= 0 && at < text.length && /[\p{L}\p{N}_]/u.test(text[at]);
  for (let at = text.indexOf(words); at >= 0; at = text.indexOf(words, at + 1))
    if (!isLetter(at - 1) && !isLetter(at + words.length)) return true;
  return false;
}

/** What to exchange; undefined where something the task names cannot be. */
function replacementOf(
  entities: Entities,
  alignment: Alignment,
  texts: Texts,
  { fixed = new Map(), alike }: SwapRequest,
): Replacement | undefined {
  for (const [from, to] of fixed) if ((alignment.ids.get(from) ?? from) !== to) return undefined;
  const draft = { strings: new Map<string, string>(), numbers: new Map<number, number>() };
  for (const [from, to] of alignment.ids) if (texts.isWritten(from)) draft.strings.set(from, to);
  const values = alignment.values.filter(({ from }) => typeof from === 'number' || !alignment.ids.has(from));
  if (alike === 'all' && !alignment.sameShape) return undefined;
  const compared = alike === 'all' ? values : alike === 'own' ? values.filter(({ path }) => isField(path)) : [];
  if (compared.some((value) => isFixed(entities, value))) return undefined;
  const used = values.flatMap(wordwise).filter(({ from }) => texts.isUsed(from));
  const canAll = used.every((value) => !isFixed(entities, value) && exchange(value, draft, texts));
  return canAll ? draft : undefined;
}

function isField(path: string): boolean {
  return path.lastIndexOf('/') === 0;
}

/** Whether a value differs where it may not. */
function isFixed(entities: Entities, { collection, path, from, to }: Aligned): boolean {
  return from !== to && isKind(entities, collection, path);
}

/** Notes a value's exchange; false where it has none, was exchanged for another, or is written in another way. */
function exchange(
  { from, to }: Aligned,
  draft: { strings: Map<string, string>; numbers: Map<number, number> },
  texts: Texts,
): boolean {
  if (typeof from === 'number') return typeof to === 'number' && put(draft.numbers, from, to);
  if (typeof to !== 'string') return false;
  return (from === to || texts.isWritten(from)) && put(draft.strings, from, to);
}

function put<T>(into: Map<T, T>, from: T, to: T): boolean {
  if (into.has(from) && into.get(from) !== to) return false;
  into.set(from, to);
  return true;
}

/** A name of several words, and each of its words: goals say "Emma" where records say "Emma Kim". */
function wordwise(value: Aligned): Aligned[] {
  if (typeof value.from !== 'string' || typeof value.to !== 'string') return [value];
  const from = value.from.split(' ');
  const to = value.to.split(' ');
  const isName =
    from.length > 1 && from.length === to.length && [...from, ...to].every((word) => /^\p{Lu}/u.test(word));
  if (!isName) return [value];
  return [value, ...from.map((word, i) => ({ ...value, from: word, to: to[i] }))];
}

// Replaces values throughout JSON at once: whole strings and numbers, words within texts, keys, parts of JSON Pointers.

interface Replacement {
  readonly strings: ReadonlyMap<string, string>;
  readonly numbers: ReadonlyMap<number, number>;
}

/** A function that replaces everywhere in a value; all at once, so that two values can change places. */
export function replacer(replacement: Replacement): <T extends Json>(value: T) => T {
  const inText = textReplacer(replacement);
  const replaceString = (text: string): string => replacement.strings.get(text) ?? inText(text);
  const replace = (value: Json): Json => {
    if (typeof value === 'string') return replaceString(value);
    if (typeof value === 'number') return replacement.numbers.get(value) ?? value;
    if (Array.isArray(value)) return value.map(replace);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value as JsonObject).map(([key, part]) => [replaceString(key), replace(part)]),
    );
  };
  return <T extends Json>(value: T) => replace(value) as T;
}

function textReplacer({ strings, numbers }: Replacement): (text: string) => string {
  const words = new Map(strings);
  for (const [from, to] of numbers) for (const form of numberForms(from)) words.set(form(from), form(to));
  if (words.size === 0) return (text) => text;
  const longestFirst = [...words.keys()].sort((a, b) => b.length - a.length || (a < b ? -1 : 1));
  const pattern = new RegExp(
    `(?<![\\p{L}\\p{N}_])(?:${longestFirst.map(escapeWord).join('|')})(?![\\p{L}\\p{N}_]|[.,]\\p{N})`,
    'gu',
  );
  return (text) => text.replace(pattern, (word) => words.get(word)!);
}

/** How a number is written in texts. */
function numberForms(value: number): ((value: number) => string)[] {
  const plain = (n: number) => String(n);
  const cents = (n: number) => n.toFixed(2);
  return Number.isInteger(value) || value.toFixed(2) !== String(value) ? [plain, cents] : [cents];
}

function escapeWord(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&');
}
