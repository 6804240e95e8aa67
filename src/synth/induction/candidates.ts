// Expressions that may explain a value: the arguments of a call, fields of the records these name, fields of records that those
// refer to, constants, and products, sums and differences of two numbers. The simplest that agrees with every example wins; others that
// agree as well are told, for whoever must decide between them.

import { isJsonObject, type Json, type JsonObject } from '../../core/json.js';
import { isName, parseExpression, type Scope } from '../../worldmodel/index.js';
import { type Beliefs, listed, type Records, same } from './beliefs.js';
import { collectionOf, isIdName } from './observed.js';

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

/** What the state looks like: which fields records have, and which of these name other records. */
export class StateShape {
  readonly fields: ReadonlyMap<string, readonly string[]>;
  private readonly keys: ReadonlyMap<string, ReadonlySet<string>>;
  private readonly identities: ReadonlySet<string>;

  constructor({ starts, ends }: Beliefs) {
    const all = [...starts, ...ends].flatMap(listed);
    const fields = new Map<string, string[]>();
    const keys = new Map<string, Set<string>>();
    for (const { collection, key, fields: own } of all) {
      const known = fields.get(collection) ?? [];
      fields.set(collection, [...known, ...Object.keys(own).filter((name) => isName(name) && !known.includes(name))]);
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

  /** Records that arguments lead to, directly or over one reference. */
  reaches(calls: readonly JsonObject[], states: readonly Records[]): Reach[] {
    const names = [...new Set(calls.flatMap((given) => Object.keys(given)))].filter(isName);
    const direct = names.flatMap((name): Reach[] => {
      const values = calls.flatMap((given) => (Object.hasOwn(given, name) ? [given[name]] : []));
      const collection = this.refersTo(name, values);
      return collection === undefined ? [] : [reach(collection, name)];
    });
    const referred = direct.flatMap(({ collection, text }) =>
      (this.fields.get(collection) ?? []).flatMap((field): Reach[] => {
        const values = states.flatMap((state) =>
          Object.values(state[collection] ?? {}).flatMap((record) => (field in record ? [record[field]] : [])),
        );
        const to = this.refersTo(field, values);
        return to === undefined || to === collection ? [] : [reach(to, `${text}.${field}`)];
      }),
    );
    const all = [...direct, ...referred];
    return all.filter(({ text }, i) => all.findIndex((other) => other.text === text) === i);
  }

  /** Without those that repeat the key. */
  fieldsOf({ collection, text }: Reach): string[] {
    const own = this.fields.get(collection) ?? [];
    return own.filter((field) => !this.isKey(collection, field)).map((field) => `${text}.${field}`);
  }

  /** Whether the field of every record is its key. */
  isKey(collection: string, field: string): boolean {
    return this.identities.has(`${collection}.${field}`);
  }

  /** Fields of other collections that name records of this one: `bookings.room_id` of rooms. */
  referringTo(collection: string): { readonly collection: string; readonly field: string }[] {
    return [...this.fields].flatMap(([other, fields]) =>
      fields
        .filter((field) => other !== collection && isIdName(field) && collectionOf(field) === collection)
        .map((field) => ({ collection: other, field })),
    );
  }
}

function reach(collection: string, key: string): Reach {
  return { collection, key, text: `${collection}[${key}]` };
}

export function evaluate(text: string, scope: Scope): Json | undefined {
  return parseExpression(text)(scope);
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
  const named = [...candidates].sort((a, b) => Number(endsIn(b, wanted)) - Number(endsIn(a, wanted)));
  const simple = [
    ...named.filter((text) => endsIn(text, wanted) || !isAmbiguous(examples)),
    ...products(examples, named),
  ];
  const rest = [...constants(examples), ...named, ...sums(examples, named)];
  const tried = [...new Set([...simple, ...rest])].map((text) => ({ text, ...tally(text, examples) }));
  const whole = tried.filter(({ agree }) => agree.length === examples.length);
  const best = whole[0] ?? tried.sort((a, b) => b.agree.length - a.agree.length)[0];
  if (best === undefined) return undefined;
  const isMost = best.agree.length >= 2 && best.agree.length * 2 > examples.length;
  if (whole.length === 0 && !isMost) return undefined;
  const others = whole.map(({ text }) => text).filter((text) => text !== best.text && !isConstant(text));
  // What a call has just added is what it was told to be.
  const alternatives = best.text.includes('[new]') ? [] : others.slice(0, MAX_ALTERNATIVES);
  return { ...best, alternatives };
}

function isConstant(text: string): boolean {
  return /^(".*"|[\d.]+|true|false|null)$/.test(text);
}

function tally(text: string, examples: readonly Example[]) {
  const agree = examples.filter(({ scope, value }) => same(evaluate(text, scope), value));
  return { agree, differ: examples.filter((example) => !agree.includes(example)) };
}

function endsIn(text: string, wanted: string): boolean {
  return text === wanted || text.endsWith(`.${wanted}`);
}

/** One small value tells nothing: 2 nights and 2 beds look alike. */
function isAmbiguous(examples: readonly Example[]): boolean {
  const [first] = examples;
  const isVaried = examples.some(({ value }) => !same(value, first.value));
  return !isVaried && (typeof first.value !== 'string' || !/\d/.test(first.value));
}

function constants(examples: readonly Example[]): string[] {
  const values = [...new Set(examples.map(({ value }) => JSON.stringify(value)))];
  return values.filter((text) => !/^[[{]/.test(text));
}

function products(examples: readonly Example[], candidates: readonly string[]): string[] {
  if (!examples.every(({ value }) => typeof value === 'number' && value !== 0)) return [];
  const operands = numbers(examples, candidates, (value) => Math.abs(value) > 1);
  return pairs(operands).map(([a, b]) => `${a} * ${b}`);
}

/** A sum that holds once may be chance. */
function sums(examples: readonly Example[], candidates: readonly string[]): string[] {
  const first = examples[0];
  const values = new Set(examples.map(({ value }) => value));
  if (values.size < 2 || !examples.every(({ value }) => typeof value === 'number')) return [];
  const operands = numbers(examples, candidates, () => true);
  const offsets = operands.flatMap((text) => {
    const offset = Number(first.value) - Number(evaluate(text, first.scope));
    if (!Number.isInteger(offset) || offset === 0) return [];
    return [offset > 0 ? `${text} + ${offset}` : `${text} - ${-offset}`];
  });
  const both = pairs(operands).flatMap(([a, b]) => [`${a} + ${b}`, `${a} - ${b}`, `${b} - ${a}`]);
  return [...offsets, ...both];
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

function pairs(texts: readonly string[]): [string, string][] {
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
      .filter((each): each is { candidate: string; value: string | number } => isTellable(each.value))
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

function isTellable(value: Json | undefined): boolean {
  if (typeof value === 'number') return Math.abs(value) >= 10;
  return typeof value === 'string' && /\d/.test(value) && value.length > 1;
}

export function scopeOf(state: Records, given: JsonObject): Scope {
  return { state: state as JsonObject, arguments: given };
}

export function asRecords(state: JsonObject): Records {
  return Object.fromEntries(Object.entries(state).filter(([, part]) => isJsonObject(part))) as unknown as Records;
}
