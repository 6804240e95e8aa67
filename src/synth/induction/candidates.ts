// Expressions that may explain a value: the arguments of a call, fields of the records these name, fields of records that those
// refer to, constants, and products, sums and differences of two numbers. The simplest that agrees with every example wins; others that
// agree as well are told, for whoever must decide between them.

import { canonicalJson, isJsonObject, type Json, type JsonObject } from '../../core/canonical-json.js';
import { applyOperations } from '../../env/state/operations.js';
import type { Operation } from '../../env/tools/prediction.js';
import { isName, parseExpression, type Scope } from '../../worldmodel/induced/expression.js';
import { collectionOf, isIdName, type ObservedCall, type ObservedLog, recordsOf, type SeenRecord } from './observed.js';

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

const MAX_VALUES = 8;

/** A word or a yes or no that several records share, or that changes. */
export function isEnumerated(
  sightings: readonly Pick<Sighting, 'before' | 'after'>[],
  collection: string,
  field: string,
): boolean {
  const records = sightings.flatMap(({ before }) => Object.entries(before[collection] ?? {}));
  const values = records.flatMap(([, record]) => (Object.hasOwn(record, field) ? [record[field]] : []));
  const isWord = values.every(
    (value) => typeof value === 'boolean' || (typeof value === 'string' && !/\d/.test(value)),
  );
  const keysOf = new Map<Json, Set<string>>();
  for (const [key, record] of records)
    if (Object.hasOwn(record, field)) keysOf.set(record[field], (keysOf.get(record[field]) ?? new Set()).add(key));
  const isShared = [...keysOf.values()].some((keys) => keys.size > 1);
  const isChanged = sightings.some(({ before, after }) =>
    Object.keys(after[collection] ?? {}).some((key) => {
      const was = valueIn(before, collection, key, field);
      const is = valueIn(after, collection, key, field);
      return was !== undefined && is !== undefined && !same(was, is);
    }),
  );
  return values.length > 0 && isWord && keysOf.size <= MAX_VALUES && (isShared || isChanged);
}

/** `bookings.room_id == KEY`, and the same of those with a certain status: what may be said of records that refer to another. */
export function referringConditions(
  collection: string,
  sightings: readonly Sighting[],
  shape: StateShape,
): ((key: string) => string)[] {
  return shape.referringTo(collection).flatMap(({ collection: other, field }) => {
    const reference = (key: string) => `${other}.${field} == ${key}`;
    const enumerated = (shape.fields.get(other) ?? []).filter((each) => isEnumerated(sightings, other, each));
    const conditions = enumerated.flatMap((each) =>
      valuesOf(sightings, other, each).map((value) => `${each} == ${JSON.stringify(value)}`),
    );
    return [reference, ...conditions.map((condition) => (key: string) => `${reference(key)} and ${condition}`)];
  });
}

function valuesOf(sightings: readonly Sighting[], collection: string, field: string): Json[] {
  const records = sightings.flatMap(({ before }) => Object.values(before[collection] ?? {}));
  return [...new Set(records.flatMap((record) => (field in record ? [record[field]] : [])))].sort();
}

/** Collections of records by key. */
export type Records = Readonly<Record<string, Readonly<Record<string, JsonObject>>>>;
type OpenRecords = Record<string, Record<string, Record<string, Json>>>;

export interface Sighting {
  readonly call: ObservedCall;
  readonly log: number;
  /** The state the call was made in, as far as it is known. */
  readonly before: Records;
  /** Of records, what the answer and reads before the next change showed. */
  readonly after: Records;
  /** The record that the call added, if it did. */
  readonly added?: SeenRecord;
}

export interface Beliefs {
  /** What all logs are taken to begin with. */
  readonly initial: Records;
  /** What each log begins with. */
  readonly starts: readonly Records[];
  /** What each log ends with. */
  readonly ends: readonly Records[];
  readonly sightings: readonly Sighting[];
}

/** What a call is taken to change beyond what its answer shows. */
export type Foretell = (state: JsonObject, call: ObservedCall) => readonly Operation[];

export function beliefsOf(logs: readonly ObservedLog[], foretell: Foretell = () => []): Beliefs {
  const shown = logs.map(firstSeen);
  const initial = merged(shown);
  const starts = shown.map((own) => overlaid(initial, own));
  const walks = logs.map((log, i) => walked(log, i, starts[i], foretell));
  return {
    initial,
    starts,
    ends: walks.map(({ end }) => end),
    sightings: walks.flatMap(({ sightings }) => sightings),
  };
}

export function isChange({ tool, isError }: ObservedCall): boolean {
  return tool.kind === 'write' && !isError;
}

/** Fields as reads showed them before any change that names their record. */
function firstSeen({ calls }: ObservedLog): Records {
  const records: OpenRecords = {};
  const touched = new Set<string>();
  for (const call of calls) {
    for (const record of recordsOf(call)) {
      const isOpen = isChange(call) || touched.has(record.key);
      if (!isOpen) addMissing(records, record);
    }
    if (!isChange(call)) continue;
    for (const value of Object.values(call.arguments)) touched.add(String(value));
    for (const { key } of recordsOf(call)) touched.add(key);
  }
  return records;
}

function addMissing(records: OpenRecords, { collection, key, fields }: SeenRecord): void {
  records[collection] ??= {};
  records[collection][key] = { ...fields, ...records[collection][key] };
}

function merged(all: readonly Records[]): Records {
  const records: OpenRecords = {};
  for (const each of all) for (const record of listed(each)) addMissing(records, record);
  return ordered(records);
}

/** By name and key, so that the order of logs decides nothing but the values. */
function ordered(records: Records): Records {
  const sorted = (entries: readonly (readonly [string, unknown])[]) =>
    Object.fromEntries([...entries].sort(([a], [b]) => (a < b ? -1 : 1)));
  return sorted(Object.entries(records).map(([name, part]) => [name, sorted(Object.entries(part))])) as Records;
}

export function listed(records: Records): SeenRecord[] {
  return Object.entries(records).flatMap(([collection, part]) =>
    Object.entries(part).map(([key, fields]) => ({ collection, key, fields })),
  );
}

/** Records with fields of others over their own. */
export function overlaid(records: Records, own: Records): Records {
  return listed(own).reduce((state, record) => withRecord(state, record), records);
}

function withRecord(records: Records, { collection, key, fields }: SeenRecord): Records {
  const part = records[collection] ?? {};
  return { ...records, [collection]: { ...part, [key]: { ...part[key], ...fields } } };
}

function walked({ calls }: ObservedLog, log: number, start: Records, foretell: Foretell) {
  let state = start;
  const sightings = calls.map((call, i): Sighting => {
    const before = state;
    const [own, ...others] = recordsOf(call);
    const isAdded =
      isChange(call) && own !== undefined && before[own.collection]?.[own.key] === undefined && !isNamed(own, call);
    state = applyOperations(state, foretell(state, call)) as Records;
    for (const record of own === undefined ? [] : [own, ...others]) state = withRecord(state, record);
    const after = [call, ...untilChange(calls.slice(i + 1))].flatMap(recordsOf);
    const seenAfter = after.reduce(withFirst, {} as Records);
    return { call, log, before, after: seenAfter, ...(isAdded ? { added: own } : {}) };
  });
  return { sightings, end: state };
}

function isNamed({ key }: SeenRecord, call: ObservedCall): boolean {
  return Object.values(call.arguments).some((value) => String(value) === key);
}

function withFirst(records: Records, record: SeenRecord): Records {
  const known = records[record.collection]?.[record.key] ?? {};
  return withRecord(records, { ...record, fields: { ...record.fields, ...known } });
}

function untilChange(calls: readonly ObservedCall[]): readonly ObservedCall[] {
  const at = calls.findIndex(isChange);
  return at < 0 ? calls : calls.slice(0, at);
}

/** Fields that two logs began with in different values: `bookings B-1 status: "a" in log 1, "b" in log 2`. */
export function conflicts({ initial, starts }: Beliefs): { readonly log: number; readonly changes: Operation[] }[] {
  return starts.map((start, log) => ({
    log,
    changes: listed(start).flatMap(({ collection, key, fields }) =>
      Object.entries(fields).flatMap(([field, value]): Operation[] => {
        const first = initial[collection]?.[key]?.[field];
        if (first === undefined || same(first, value)) return [];
        return [{ op: 'replace', path: `/${collection}/${key}/${field}`, value }];
      }),
    ),
  }));
}

export function same(a: Json | undefined, b: Json | undefined): boolean {
  return a === undefined || b === undefined ? a === b : canonicalJson(a) === canonicalJson(b);
}

export function valueIn(records: Records, collection: string, key: string, field: string): Json | undefined {
  const record = records[collection]?.[key];
  return isJsonObject(record) && Object.hasOwn(record, field) ? record[field] : undefined;
}
