// Expressions that may explain a value: the arguments of a call, fields of the records these name, fields of records that those
// refer to, constants, and products, sums and differences of two numbers. The simplest that agrees with every example wins;
// others that agree as well are reported, for the person who must decide between them.

import type { Json, JsonObject } from '../../core/canonical-json.js';
import { isName, parseExpression, type Scope } from '../../worldmodel/induced/expression.js';
import {
  type Beliefs,
  collectionOf,
  isIdName,
  listed,
  type Records,
  type Sighting,
  same,
  valueIn,
} from './observed.js';

export interface Example {
  readonly at: string;
  readonly scope: Scope;
  readonly value: Json;
}

export interface Explanation {
  readonly text: string;
  readonly agree: readonly Example[];
  readonly differ: readonly Example[];
  readonly alternatives: readonly string[];
}

/** A record that a call's arguments lead to: `rooms[bookings[booking_id].room_id]`. */
export interface Reach {
  readonly collection: string;
  readonly key: string;
  /** `rooms[room_id]`. */
  readonly text: string;
}

const MAX_ALTERNATIVES = 4;
/** Of numbers that are combined two by two. */
const MAX_OPERANDS = 24;
/** Of a field that has few values. */
const MAX_VALUES = 8;

export function evaluate(text: string, scope: Scope): Json | undefined {
  return parseExpression(text)(scope);
}

/** In the state the call was made in. */
export function evaluateAt(text: string, { call, before }: Sighting): Json | undefined {
  return evaluate(text, scopeOf(before, call.arguments));
}

export function scopeOf(state: Records, given: JsonObject): Scope {
  return { state: state as JsonObject, arguments: given };
}

export function distinct<T>(values: Iterable<T>): T[] {
  return [...new Set(values)];
}

/** Names of arguments of calls. */
export function argumentNames(sightings: readonly Sighting[]): string[] {
  return distinct(sightings.flatMap(({ call }) => Object.keys(call.arguments))).filter(isName);
}

/** What the state looks like: which fields records have, and which of these name other records. */
export class StateShape {
  readonly fields: ReadonlyMap<string, readonly string[]>;
  private readonly keys: ReadonlyMap<string, ReadonlySet<string>>;
  private readonly identities: ReadonlySet<string>;

  constructor({ starts, ends }: Pick<Beliefs, 'starts' | 'ends'>) {
    const all = [...starts, ...ends].flatMap(listed);
    const fields = new Map<string, string[]>();
    const keys = new Map<string, Set<string>>();
    for (const { collection, key, fields: own } of all) {
      fields.set(collection, distinct([...(fields.get(collection) ?? []), ...Object.keys(own).filter(isName)]));
      keys.set(collection, (keys.get(collection) ?? new Set()).add(key));
    }
    this.fields = fields;
    this.keys = keys;
    const isIdentity = (collection: string, field: string) =>
      all.every((each) => each.collection !== collection || String(each.fields[field]) === each.key);
    this.identities = new Set(
      [...fields].flatMap(([collection, own]) =>
        own.filter((field) => isIdentity(collection, field)).map((field) => `${collection}.${field}`),
      ),
    );
  }

  /** The collection that values of this name are keys of. */
  refersTo(name: string, values: readonly Json[]): string | undefined {
    if (isIdName(name) && this.keys.has(collectionOf(name))) return collectionOf(name);
    const texts = values.filter((value) => typeof value === 'string');
    if (texts.length === 0 || texts.length < values.length) return undefined;
    return [...this.keys].find(([, keys]) => texts.every((value) => keys.has(value)))?.[0];
  }

  /** Records that arguments lead to, directly or over one reference, in states of the calls. */
  reaches(sightings: readonly Sighting[], states = sightings.map(({ before }) => before)): Reach[] {
    const calls = sightings.map(({ call }) => call.arguments);
    const reach = (collection: string, key: string): Reach => ({ collection, key, text: `${collection}[${key}]` });
    const direct = argumentNames(sightings).flatMap((name): Reach[] => {
      const collection = this.refersTo(
        name,
        calls.flatMap((given) => (Object.hasOwn(given, name) ? [given[name]] : [])),
      );
      return collection === undefined ? [] : [reach(collection, name)];
    });
    const referred = direct.flatMap(({ collection, text }) =>
      (this.fields.get(collection) ?? []).flatMap((field): Reach[] => {
        const records = states.flatMap((state) => Object.values(state[collection] ?? {}));
        const to = this.refersTo(
          field,
          records.flatMap((record) => (field in record ? [record[field]] : [])),
        );
        return to === undefined || to === collection ? [] : [reach(to, `${text}.${field}`)];
      }),
    );
    const all = [...direct, ...referred];
    return all.filter(({ text }, i) => all.findIndex((other) => other.text === text) === i);
  }

  /** What values may be made of: arguments, and fields of what they lead to without those that repeat the key. */
  candidates(sightings: readonly Sighting[], reaches: readonly Reach[]): string[] {
    const fields = reaches.flatMap(({ collection, text }) =>
      (this.fields.get(collection) ?? [])
        .filter((field) => !this.isKey(collection, field))
        .map((field) => `${text}.${field}`),
    );
    return [...argumentNames(sightings), ...fields];
  }

  /** Whether the field of every record is its key. */
  isKey(collection: string, field: string): boolean {
    return this.identities.has(`${collection}.${field}`);
  }

  /**
   * What may be said of records of other collections that refer to one of this: `bookings.room_id == KEY`, and the same of those
   * with a certain status.
   */
  referringConditions(collection: string, sightings: readonly Sighting[]): ((key: string) => string)[] {
    return [...this.fields].flatMap(([other, fields]) => {
      if (other === collection) return [];
      const enumerated = fields.filter((field) => isEnumerated(sightings, other, field));
      const records = sightings.flatMap(({ before }) => Object.values(before[other] ?? {}));
      const conditions = enumerated.flatMap((field) => {
        const values = distinct(records.flatMap((record) => (field in record ? [record[field]] : []))).sort();
        return values.map((value) => `${field} == ${JSON.stringify(value)}`);
      });
      const references = fields.filter((field) => isIdName(field) && collectionOf(field) === collection);
      return references.flatMap((field) => {
        const reference = (key: string) => `${other}.${field} == ${key}`;
        return [reference, ...conditions.map((condition) => (key: string) => `${reference(key)} and ${condition}`)];
      });
    });
  }
}

/** A word or a yes or no that several records share, or that changes. */
export function isEnumerated(sightings: readonly Sighting[], collection: string, field: string): boolean {
  const records = sightings.flatMap(({ before }) => Object.entries(before[collection] ?? {}));
  const keysOf = new Map<Json, Set<string>>();
  for (const [key, record] of records)
    if (Object.hasOwn(record, field)) keysOf.set(record[field], (keysOf.get(record[field]) ?? new Set()).add(key));
  const isWord = [...keysOf.keys()].every(
    (value) => typeof value === 'boolean' || (typeof value === 'string' && !/\d/.test(value)),
  );
  if (!isWord || keysOf.size === 0 || keysOf.size > MAX_VALUES) return false;
  if ([...keysOf.values()].some((keys) => keys.size > 1)) return true;
  return sightings.some(({ before, after }) =>
    Object.keys(after[collection] ?? {}).some((key) => {
      const [was, is] = [before, after].map((state) => valueIn(state, collection, key, field));
      return was !== undefined && is !== undefined && !same(was, is);
    }),
  );
}

/**
 * The simplest expression for all examples. Where none agrees with all, the one that most agree with, if these are two or
 * more and the majority.
 * @param wanted  name of what is explained: an expression that ends in it comes first
 */
export function explain(
  examples: readonly Example[],
  candidates: readonly string[],
  wanted: string,
): Explanation | undefined {
  if (examples.length === 0) return undefined;
  const endsIn = (text: string) => text === wanted || text.endsWith(`.${wanted}`);
  const named = [...candidates].sort((a, b) => Number(endsIn(b)) - Number(endsIn(a)));
  const simple = isAmbiguous(examples) ? named.filter(endsIn) : named;
  const texts = [...simple, ...products(examples, named), ...constants(examples), ...named, ...sums(examples, named)];
  const tried = distinct(texts).map((text) => {
    const agree = examples.filter(({ scope, value }) => same(evaluate(text, scope), value));
    return { text, agree, differ: examples.filter((example) => !agree.includes(example)) };
  });
  const whole = tried.filter(({ differ }) => differ.length === 0);
  const best = whole[0] ?? tried.sort((a, b) => b.agree.length - a.agree.length)[0];
  if (best === undefined) return undefined;
  const isMost = best.agree.length >= 2 && best.agree.length * 2 > examples.length;
  if (whole.length === 0 && !isMost) return undefined;
  const isConstant = (text: string) => /^(".*"|[\d.]+|true|false|null)$/.test(text);
  const others = whole.map(({ text }) => text).filter((text) => text !== best.text && !isConstant(text));
  // What a call has just added is what it was given to be.
  return { ...best, alternatives: best.text.includes('[new]') ? [] : others.slice(0, MAX_ALTERNATIVES) };
}

/** One small value says nothing: 2 nights and 2 beds look alike. */
function isAmbiguous(examples: readonly Example[]): boolean {
  const [{ value: first }] = examples;
  const isVaried = examples.some(({ value }) => !same(value, first));
  return !isVaried && (typeof first !== 'string' || !/\d/.test(first));
}

function constants(examples: readonly Example[]): string[] {
  return distinct(examples.map(({ value }) => JSON.stringify(value))).filter((text) => !/^[[{]/.test(text));
}

function products(examples: readonly Example[], candidates: readonly string[]): string[] {
  if (!examples.every(({ value }) => typeof value === 'number' && value !== 0)) return [];
  return pairs(numbers(examples, candidates, (value) => Math.abs(value) > 1)).map(([a, b]) => `${a} * ${b}`);
}

/** A sum that holds once may be chance. */
function sums(examples: readonly Example[], candidates: readonly string[]): string[] {
  const [first] = examples;
  const isNumeric = examples.every(({ value }) => typeof value === 'number');
  if (!isNumeric || distinct(examples.map(({ value }) => value)).length < 2) return [];
  const operands = numbers(examples, candidates, () => true);
  const offsets = operands.flatMap((text) => {
    const offset = Number(first.value) - Number(evaluate(text, first.scope));
    if (!Number.isInteger(offset) || offset === 0) return [];
    return [offset > 0 ? `${text} + ${offset}` : `${text} - ${-offset}`];
  });
  return [...offsets, ...pairs(operands).flatMap(([a, b]) => [`${a} + ${b}`, `${a} - ${b}`, `${b} - ${a}`])];
}

function numbers(
  examples: readonly Example[],
  candidates: readonly string[],
  fits: (value: number) => boolean,
): string[] {
  const usable = candidates.filter((text) =>
    examples.every(({ scope }) => {
      const value = evaluate(text, scope);
      return typeof value === 'number' && fits(value);
    }),
  );
  return usable.slice(0, MAX_OPERANDS);
}

export function pairs(texts: readonly string[]): [string, string][] {
  return texts.flatMap((a, i) => texts.slice(i + 1).map((b): [string, string] => [a, b]));
}

/** The text with `{expression}` where values stand, which must be the same text for all examples. */
export function templateOf(
  examples: readonly { readonly text: string; readonly scope: Scope }[],
  candidates: readonly string[],
): string | undefined {
  const templates = examples.map(({ text, scope }) => {
    const values = candidates
      .map((candidate) => ({ candidate, value: evaluate(candidate, scope) }))
      .filter(({ value }) => isTelling(value))
      .sort((a, b) => String(b.value).length - String(a.value).length);
    return values.reduce((left, { candidate, value }) => withPlaceholder(left, String(value), candidate), text);
  });
  return templates.every((template) => template === templates[0]) ? templates[0] : undefined;
}

/** Outside of placeholders. */
function withPlaceholder(template: string, value: string, candidate: string): string {
  return template
    .split(/(\{[^{}]*\})/)
    .map((part) => (part.startsWith('{') ? part : part.replaceAll(value, `{${candidate}}`)))
    .join('');
}

function isTelling(value: Json | undefined): boolean {
  if (typeof value === 'number') return Math.abs(value) >= 10;
  return typeof value === 'string' && /\d/.test(value) && value.length > 1;
}
