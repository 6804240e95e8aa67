// The grammar of hypotheses: what values may be made of in a state of this shape, and which of these expressions examples agree with.

import type { Json, JsonObject } from '../../core/canonical-json.js';
import { ExpressionProblem, type Names, readExpression } from '../../env/tools/cel.js';
import {
  type Beliefs,
  collectionOf,
  isIdName,
  listed,
  type Records,
  type SeenRecord,
  type Sighting,
  same,
  valueIn,
} from './observed.js';

/** Names in expressions: a call's arguments, a state, and an entry of a collection with its key. */
export interface Scope {
  readonly call: JsonObject;
  readonly state: JsonObject;
  readonly it?: JsonObject;
  readonly key?: string;
  /** Key of the entry that the call added. */
  readonly id?: string;
}

/** A record reached from a call's arguments: `state.rooms[state.bookings[call.booking_id].room_id]`. */
export interface Reach {
  readonly collection: string;
  readonly key: string;
  /** `state.rooms[call.room_id]`. */
  readonly text: string;
}

const NAMES: Names = { call: undefined, state: undefined, it: undefined, key: undefined, id: undefined };

/** undefined: unknown, because an argument is missing or a record or field is not in the state. */
export function evaluate(text: string, scope: Scope): Json | undefined {
  try {
    return readExpression(text, NAMES).value(scope as unknown as Record<string, unknown>);
  } catch (error) {
    if (error instanceof ExpressionProblem) return undefined;
    throw error;
  }
}

/** Whether a name is valid in an expression. */
export function isName(name: string): boolean {
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && !['true', 'false', 'null', 'in'].includes(name);
}

/** In the state the call was made in. */
export function evaluateAt(text: string, { call, before }: Sighting): Json | undefined {
  return evaluate(text, scopeOf(before, call.arguments));
}

export function scopeOf(state: Records, given: JsonObject): Scope {
  return { state: state as JsonObject, call: given };
}

export function distinct<T>(values: Iterable<T>): T[] {
  return [...new Set(values)];
}

export function pairs(texts: readonly string[]): [string, string][] {
  return texts.flatMap((a, i) => texts.slice(i + 1).map((b): [string, string] => [a, b]));
}

/** Names of arguments of calls. */
export function argumentNames(sightings: readonly Sighting[]): string[] {
  return distinct(sightings.flatMap(({ call }) => Object.keys(call.arguments))).filter(isName);
}

const asArgument = (name: string) => `call.${name}`;

/** Values of a field, where records have it. */
function valuesOf(records: readonly JsonObject[], field: string): Json[] {
  return records.flatMap((record) => (Object.hasOwn(record, field) ? [record[field]] : []));
}

/** What the state looks like: which fields records have, and which of these name other records. */
export class StateShape {
  readonly fields = new Map<string, string[]>();
  /** All records in the first and last states of logs. */
  readonly records: readonly SeenRecord[];
  private readonly keys = new Map<string, Set<string>>();

  constructor({ starts, ends }: Pick<Beliefs, 'starts' | 'ends'>) {
    this.records = distinct([...starts, ...ends]).flatMap(listed);
    for (const { collection, key, fields } of this.records) {
      this.fields.set(collection, distinct([...this.fieldsOf(collection), ...Object.keys(fields).filter(isName)]));
      this.keys.set(collection, (this.keys.get(collection) ?? new Set()).add(key));
    }
  }

  fieldsOf(collection: string): readonly string[] {
    return this.fields.get(collection) ?? [];
  }

  /** The collection that values of this name are keys of. */
  refersTo(name: string, values: readonly Json[]): string | undefined {
    if (isIdName(name) && this.keys.has(collectionOf(name))) return collectionOf(name);
    if (values.length === 0 || !values.every((value) => typeof value === 'string')) return undefined;
    return [...this.keys].find(([, keys]) => values.every((value) => keys.has(value)))?.[0];
  }

  /** Records that arguments lead to, directly or over one reference, in states of the calls. */
  reaches(sightings: readonly Sighting[], states = sightings.map(({ before }) => before)): Reach[] {
    const reach = (collection: string | undefined, key: string): Reach[] =>
      collection === undefined ? [] : [{ collection, key, text: `state.${collection}[${key}]` }];
    const given = sightings.map(({ call }) => call.arguments);
    const direct = argumentNames(sightings).flatMap((name) =>
      reach(this.refersTo(name, valuesOf(given, name)), asArgument(name)),
    );
    const referred = direct.flatMap(({ collection, text }) =>
      this.fieldsOf(collection).flatMap((field) => {
        const records = states.flatMap((state) => Object.values(state[collection] ?? {}));
        const to = this.refersTo(field, valuesOf(records, field));
        return to === collection ? [] : reach(to, `${text}.${field}`);
      }),
    );
    return [...new Map([...direct, ...referred].map((one) => [one.text, one])).values()];
  }

  /** What values may be made of: arguments, and fields of what they lead to without those that repeat the key. */
  candidates(sightings: readonly Sighting[], reaches: readonly Reach[]): string[] {
    const fields = reaches.flatMap(({ collection, text }) =>
      this.fieldsOf(collection)
        .filter((field) => !this.isKey(collection, field))
        .map((field) => `${text}.${field}`),
    );
    return [...argumentNames(sightings).map(asArgument), ...fields];
  }

  /** Whether the field of every record is its key. */
  isKey(collection: string, field: string): boolean {
    return this.records.every((one) => one.collection !== collection || String(one.fields[field]) === one.key);
  }

  /**
   * Whether records of other collections refer to one of this: `state.bookings.exists(r, state.bookings[r].room_id == KEY)`, and the
   * same of those with a certain status.
   */
  referringConditions(collection: string, sightings: readonly Sighting[]): ((key: string) => string)[] {
    return [...this.fields].flatMap(([other, fields]) => {
      if (other === collection) return [];
      const records = sightings.flatMap(({ before }) => Object.values(before[other] ?? {}));
      const conditions = fields
        .filter((field) => isEnumerated(sightings, other, field))
        .flatMap((field) =>
          distinct(valuesOf(records, field))
            .sort()
            .map((value) => `state.${other}[r].${field} == ${JSON.stringify(value)}`),
        );
      const references = fields.filter((field) => this.refersTo(field, valuesOf(records, field)) === collection);
      return references.flatMap((field) => {
        const some = (key: string, also: string) =>
          `state.${other}.exists(r, state.${other}[r].${field} == ${key}${also})`;
        return ['', ...conditions.map((condition) => ` && ${condition}`)].map(
          (also) => (key: string) => some(key, also),
        );
      });
    });
  }
}

/** Of a field that has few values. */
const MAX_VALUES = 8;

/** A word or a yes or no that several records share, or that changes. */
export function isEnumerated(sightings: readonly Sighting[], collection: string, field: string): boolean {
  const keysOf = new Map<Json, Set<string>>();
  for (const [key, record] of sightings.flatMap(({ before }) => Object.entries(before[collection] ?? {})))
    if (Object.hasOwn(record, field)) keysOf.set(record[field], (keysOf.get(record[field]) ?? new Set()).add(key));
  const isWord = (value: Json) => typeof value === 'boolean' || (typeof value === 'string' && !/\d/.test(value));
  if (keysOf.size === 0 || keysOf.size > MAX_VALUES || ![...keysOf.keys()].every(isWord)) return false;
  if ([...keysOf.values()].some((keys) => keys.size > 1)) return true;
  return sightings.some(({ before, after }) =>
    Object.keys(after[collection] ?? {}).some((key) => {
      const [was, is] = [before, after].map((state) => valueIn(state, collection, key, field));
      return was !== undefined && is !== undefined && !same(was, is);
    }),
  );
}

export interface Example {
  readonly at: string;
  readonly scope: Scope;
  readonly value: Json;
}

interface Explanation {
  readonly text: string;
  readonly agree: readonly Example[];
  readonly differ: readonly Example[];
  readonly alternatives: readonly string[];
}

const MAX_ALTERNATIVES = 4;
/** Of numbers that are combined two by two. */
const MAX_OPERANDS = 24;

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
  // `flightStatus` may be the status of a flight.
  const words = wanted.split(/_|(?=[A-Z])/).map((word) => word.toLowerCase());
  const fits = (text: string) => {
    const field = text.split('.').at(-1);
    if (field === wanted) return 2;
    return words.length > 1 && field === words.at(-1) && text.includes(words[0]) ? 1 : 0;
  };
  const named = [...candidates].sort((a, b) => fits(b) - fits(a));
  const simple = isAmbiguous(examples) ? named.filter((text) => fits(text) > 0) : named;
  const constants = examples.map(({ value }) => JSON.stringify(value)).filter((text) => !/^[[{]/.test(text));
  const tried = distinct([...simple, ...combined(examples, named), ...constants, ...named]).map((text) => {
    const agree = examples.filter(({ scope, value }) => same(evaluate(text, scope), value));
    return { text, agree, differ: examples.filter((example) => !agree.includes(example)) };
  });
  const whole = tried.filter(({ differ }) => differ.length === 0);
  const best = whole[0] ?? tried.sort((a, b) => b.agree.length - a.agree.length)[0];
  const isMost = best !== undefined && best.agree.length >= 2 && best.agree.length * 2 > examples.length;
  if (whole.length === 0 && !isMost) return undefined;
  const isConstant = (text: string) => /^(".*"|[\d.]+|true|false|null)$/.test(text);
  const others = whole.map(({ text }) => text).filter((text) => text !== best.text && !isConstant(text));
  // What a call has just added is what it was given to be.
  return { ...best, alternatives: best.text.includes('[id]') ? [] : others.slice(0, MAX_ALTERNATIVES) };
}

/** One small value says nothing: 2 nights and 2 beds look alike. */
function isAmbiguous(examples: readonly Example[]): boolean {
  const [{ value: first }] = examples;
  return examples.every(({ value }) => same(value, first)) && (typeof first !== 'string' || !/\d/.test(first));
}

/** Products of two numbers; two texts with a space between them. */
function combined(examples: readonly Example[], candidates: readonly string[]): string[] {
  if (examples.every(({ value }) => typeof value === 'string' && value.includes(' '))) {
    const isPart = (text: string) =>
      examples.every(({ scope, value }) => {
        const part = evaluate(text, scope);
        return typeof part === 'string' && part !== '' && part !== value && String(value).includes(part);
      });
    const parts = candidates.filter(isPart).slice(0, MAX_OPERANDS);
    return parts.flatMap((a) => parts.map((b) => `${a} + " " + ${b}`));
  }
  if (!examples.every(({ value }) => typeof value === 'number' && value !== 0)) return [];
  const isFactor = (text: string) =>
    examples.every(({ scope }) => {
      const value = evaluate(text, scope);
      return typeof value === 'number' && Math.abs(value) > 1;
    });
  return pairs(candidates.filter(isFactor).slice(0, MAX_OPERANDS)).map(([a, b]) => `${a} * ${b}`);
}

/** The text with `{expression}` where values stand, which must be the same text for all examples. */
export function templateOf(
  examples: readonly { readonly text: string; readonly scope: Scope }[],
  candidates: readonly string[],
): string | undefined {
  const isTelling = (value: Json | undefined) =>
    typeof value === 'number'
      ? Math.abs(value) >= 10
      : typeof value === 'string' && /\d/.test(value) && value.length > 1;
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
