// What logs show: calls with their answers, the records that answers are made of, and what these tell of the state each call was
// made in. A record is an object with an id: its first field that is called one (`booking_id`, `bookingId`), or an argument of
// the call where the answer is about one thing.

import { canonicalJson, isJsonObject, type Json, type JsonObject } from '../../core/canonical-json.js';
import { applyOperations } from '../../env/state/operations.js';
import type { ToolSpec, ToolsDomain } from '../../env/tools/domain.js';
import { callsOf, type Message } from '../../env/tools/message.js';
import type { Operation } from '../../env/tools/prediction.js';
import type { EpisodeRecord } from '../../replay/experience/experience.js';
import { isName, parseExpression, type Scope } from '../../worldmodel/induced/expression.js';

export interface ObservedCall {
  /** `log 2, call 3`: what a person finds it by. */
  readonly at: string;
  readonly tool: ToolSpec;
  readonly arguments: JsonObject;
  readonly text: string;
  /** The text as JSON, where it is an object or a list. */
  readonly answer?: JsonObject | readonly Json[];
  readonly isError: boolean;
}

export interface ObservedLog {
  readonly name: string;
  /** null where the log has none. */
  readonly reward: number | null;
  readonly messages: readonly Message[];
  readonly calls: readonly ObservedCall[];
}

interface SeenRecord {
  readonly collection: string;
  readonly key: string;
  readonly fields: JsonObject;
}

/** Calls of tools that the domain does not have are left out: they could not be called. */
export function observedLogs(episodes: readonly EpisodeRecord[], { tools }: Pick<ToolsDomain, 'tools'>): ObservedLog[] {
  return episodes.map(({ messages, verdict }, i) => {
    const name = `log ${i + 1}`;
    const answers = new Map(messages.flatMap((each) => (each.role === 'tool' ? [[each.toolCallId, each]] : [])));
    const calls = messages
      .flatMap(callsOf)
      .flatMap(({ id, name: called, arguments: given }, number): ObservedCall[] => {
        const tool = tools.find((each) => each.name === called);
        const answer = answers.get(id);
        if (tool === undefined || answer === undefined) return [];
        const { content: text, isError = false } = answer;
        return [{ at: `${name}, call ${number + 1}`, tool, arguments: given, text, ...parsed(text), isError }];
      });
    return { name, reward: verdict.reward, messages, calls };
  });
}

function parsed(text: string): Pick<ObservedCall, 'answer'> {
  try {
    const value = JSON.parse(text) as Json;
    return typeof value === 'object' && value !== null ? { answer: value } : {};
  } catch {
    return {};
  }
}

export function isChange({ tool, isError }: Pick<ObservedCall, 'tool' | 'isError'>): boolean {
  return tool.kind === 'write' && !isError;
}

/** `booking_id`, `bookingId`, `id`. */
const ID_FIELD = /(?:^id|_id|[a-z]Id)$/;

export function isIdName(name: string): boolean {
  return ID_FIELD.test(name);
}

/** `booking_id`: bookings. */
export function collectionOf(idName: string): string {
  const noun = idName.replace(/_?id$/i, '') || 'record';
  if (/[^aeiou]y$/.test(noun)) return `${noun.slice(0, -1)}ies`;
  return /(?:s|x|ch|sh)$/.test(noun) ? `${noun}es` : `${noun}s`;
}

/** Records of a successful call's answer, the one it is about first. */
export function recordsOf(call: ObservedCall): SeenRecord[] {
  const { answer, isError } = call;
  if (answer === undefined || isError) return [];
  const list = listIn(answer);
  if (list === undefined) return recordOf(answer as JsonObject, call, true);
  return list.items.flatMap((item) => (isJsonObject(item) ? recordOf(item, call, false) : []));
}

/** The list that an answer is, or that alone it holds. */
export function listIn(answer: Json): { readonly items: readonly Json[]; readonly within?: string } | undefined {
  if (Array.isArray(answer)) return { items: answer };
  const entries = Object.entries(answer as JsonObject);
  const [[within, items] = []] = entries;
  return entries.length === 1 && Array.isArray(items) ? { items, within } : undefined;
}

function recordOf(fields: JsonObject, { tool, arguments: given }: ObservedCall, isAlone: boolean): SeenRecord[] {
  const isKey = (value: Json) => (typeof value === 'string' && value !== '') || Number.isInteger(value);
  const own = Object.keys(fields).find((field) => isIdName(field) && isKey(fields[field]));
  const asked = Object.keys(given).filter((name) => isIdName(name) && isKey(given[name]));
  const seen = (idName: string, key: Json) => [{ collection: collectionOf(idName), key: String(key), fields }];
  if (own === 'id')
    return seen(asked.find((each) => given[each] === fields.id) ?? `${nounOf(tool.name)}_id`, fields.id);
  if (own !== undefined) return seen(own, fields[own]);
  return isAlone && asked.length === 1 ? seen(asked[0], given[asked[0]]) : [];
}

/** `find_rooms`: room. */
function nounOf(tool: string): string {
  const words = tool.split(/_|(?=[A-Z])/);
  return words[words.length - 1]
    .toLowerCase()
    .replace(/ies$/, 'y')
    .replace(/([^s])s$/, '$1');
}

/** Collections of records by key. */
export type Records = Readonly<Record<string, Readonly<Record<string, JsonObject>>>>;

export interface Sighting {
  readonly call: ObservedCall;
  /** The state the call was made in, as far as it is known. */
  readonly before: Records;
  /** Of records, what the answer and reads before the next change showed. */
  readonly after: Records;
  /** The record that the call added, if it did. */
  readonly added?: SeenRecord;
}

/** What the logs tell of states. */
export interface Beliefs {
  /** What all logs are taken to begin with. */
  readonly initial: Records;
  /** What each log begins and ends with. */
  readonly starts: readonly Records[];
  readonly ends: readonly Records[];
  readonly sightings: readonly Sighting[];
}

/** What a call is taken to change beyond what its answer shows. */
export type Predict = (state: JsonObject, call: ObservedCall) => readonly Operation[];

export function beliefsOf(logs: readonly ObservedLog[], predict: Predict = () => []): Beliefs {
  const shown = logs.map(firstSeen);
  const initial = ordered(shown.flatMap(listed).reduce(withMissing, {}));
  const starts = shown.map((own) => overlaid(initial, own));
  const runs = logs.map(({ calls }, i) => followed(calls, starts[i], predict));
  return { initial, starts, ends: runs.map(({ end }) => end), sightings: runs.flatMap(({ sightings }) => sightings) };
}

/** Fields as reads showed them before any change that names their record. */
function firstSeen({ calls }: ObservedLog): Records {
  let records: Records = {};
  const touched = new Set<string>();
  for (const call of calls) {
    const seen = recordsOf(call);
    if (isChange(call))
      for (const key of [...Object.values(call.arguments), ...seen.map((one) => one.key)]) touched.add(String(key));
    else records = seen.filter(({ key }) => !touched.has(key)).reduce(withMissing, records);
  }
  return records;
}

function followed(calls: readonly ObservedCall[], start: Records, predict: Predict) {
  let state = start;
  const sightings = calls.map((call, i): Sighting => {
    const before = state;
    const records = recordsOf(call);
    const [own] = records;
    const isNamed = () => Object.values(call.arguments).some((value) => String(value) === own.key);
    const isAdded =
      isChange(call) && own !== undefined && before[own.collection]?.[own.key] === undefined && !isNamed();
    state = records.reduce(withRecord, applyOperations(state, predict(state, call)) as Records);
    const rest = calls.slice(i + 1);
    const change = rest.findIndex(isChange);
    const reads = change < 0 ? rest : rest.slice(0, change);
    const after = [call, ...reads].flatMap(recordsOf).reduce(withLater, {});
    return { call, before, after, ...(isAdded && { added: own }) };
  });
  return { sightings, end: state };
}

/** Records with fields of another over its own, or beside them where it has none. */
function withRecord(records: Records, { collection, key, fields }: SeenRecord): Records {
  const part = records[collection] ?? {};
  return { ...records, [collection]: { ...part, [key]: { ...part[key], ...fields } } };
}

function withMissing(records: Records, { collection, key, fields }: SeenRecord): Records {
  const part = records[collection] ?? {};
  return { ...records, [collection]: { ...part, [key]: { ...fields, ...part[key] } } };
}

/** As `withMissing`, with fields in the order in which they were first seen. */
function withLater(records: Records, record: SeenRecord): Records {
  const known = records[record.collection]?.[record.key];
  return withRecord(records, { ...record, fields: { ...record.fields, ...known } });
}

export function overlaid(records: Records, own: Records): Records {
  return listed(own).reduce(withRecord, records);
}

export function listed(records: Records): SeenRecord[] {
  return Object.entries(records).flatMap(([collection, part]) =>
    Object.entries(part).map(([key, fields]) => ({ collection, key, fields })),
  );
}

/** By name and key, so that the order of logs decides nothing but the values. */
function ordered(records: Records): Records {
  const sorted = <T>(part: Readonly<Record<string, T>>): Record<string, T> =>
    Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)));
  return sorted(Object.fromEntries(Object.entries(records).map(([name, part]) => [name, sorted(part)])));
}

/** What each log begins with otherwise than all are taken to. */
export function conflicts({ initial, starts }: Beliefs): Operation[][] {
  return starts.map((start) =>
    listed(start).flatMap(({ collection, key, fields }) =>
      Object.entries(fields).flatMap(([field, value]): Operation[] => {
        const first = initial[collection]?.[key]?.[field];
        if (first === undefined || same(first, value)) return [];
        return [{ op: 'replace', path: `/${collection}/${key}/${field}`, value }];
      }),
    ),
  );
}

export function same(a: Json | undefined, b: Json | undefined): boolean {
  return a === undefined || b === undefined ? a === b : canonicalJson(a) === canonicalJson(b);
}

export function valueIn(records: Records, collection: string, key: string, field: string): Json | undefined {
  const record = records[collection]?.[key];
  return isJsonObject(record) && Object.hasOwn(record, field) ? record[field] : undefined;
}

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
  const texts = [...simple, ...products(examples, named), ...constants(examples), ...named];
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
  const isFactor = (text: string) =>
    examples.every(({ scope }) => {
      const value = evaluate(text, scope);
      return typeof value === 'number' && Math.abs(value) > 1;
    });
  return pairs(candidates.filter(isFactor).slice(0, MAX_OPERANDS)).map(([a, b]) => `${a} * ${b}`);
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
