// What logs show: calls with their answers, the records that answers are made of, and what these tell of the state each call was
// made in. A record is an object with an id: its first field that is called one (`booking_id`, `bookingId`), or an argument of
// the call where the answer is about one thing. Where the state is there beside the logs, it is an entry of a collection whose key the
// call or the answer has.

import { canonicalJson, isJsonObject, type Json, type JsonObject, parsedJson } from '../../core/canonical-json.js';
import { applyOperations } from '../../env/state/operations.js';
import { nextId } from '../../env/tools/cel.js';
import type { ToolSpec, ToolsDomain } from '../../env/tools/domain.js';
import { callsOf, type Message } from '../../env/tools/message.js';
import type { Operation } from '../../env/tools/prediction.js';
import type { EpisodeRecord } from '../../replay/experience/experience.js';

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

export interface SeenRecord {
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
        const value = parsedJson(text);
        const isData = typeof value === 'object' && value !== null;
        const data = isData ? { answer: value as ObservedCall['answer'] } : {};
        return [{ at: `${name}, call ${number + 1}`, tool, arguments: given, text, ...data, isError }];
      });
    return { name, reward: verdict.reward, messages, calls };
  });
}

export function isChange({ tool, isError }: Pick<ObservedCall, 'tool' | 'isError'>): boolean {
  return tool.kind === 'write' && !isError;
}

/** `booking_id`, `bookingId`, `id`. */
export function isIdName(name: string): boolean {
  return /(?:^id|_id|[a-z]Id)$/.test(name);
}

/** `booking_id`: bookings. */
export function collectionOf(idName: string): string {
  const noun = idName.replace(/_?id$/i, '') || 'record';
  if (/[^aeiou]y$/.test(noun)) return `${noun.slice(0, -1)}ies`;
  return /(?:s|x|ch|sh)$/.test(noun) ? `${noun}es` : `${noun}s`;
}

/** Records of a successful call's answer, the one it is about first. */
function recordsOf(call: ObservedCall): SeenRecord[] {
  const { answer, isError } = call;
  if (answer === undefined || isError) return [];
  const list = listIn(answer);
  if (list === undefined) return recordOf(answer as JsonObject, call, true);
  return list.items.flatMap((item) => (isJsonObject(item) ? recordOf(item, call, false) : []));
}

/** Records in an answer: the subject first. */
type ReadRecords = (call: ObservedCall) => SeenRecord[];

/** For a known state. Fields that reads show with other values than the state are derived, and left out. */
function readerOf(state: Records, logs: readonly ObservedLog[]): ReadRecords {
  const collections = Object.entries(state).filter(([, part]) => isCollection(part));
  const fieldsOf = new Map(
    collections.map(([name, part]) => [name, new Set(Object.values(part).flatMap((fields) => Object.keys(fields)))]),
  );
  const unlike = new Set<string>();
  const find = (values: readonly Json[]) =>
    values.flatMap((key) => {
      const found = typeof key === 'string' ? collections.find(([, part]) => Object.hasOwn(part, key)) : undefined;
      return found === undefined ? [] : [{ collection: found[0], key: key as string }];
    })[0];
  const fresh = (values: readonly Json[]) =>
    collections.flatMap(([collection, part]) => {
      const key = nextId(Object.keys(part));
      return key !== undefined && values.includes(key) ? [{ collection, key }] : [];
    })[0];
  const read: ReadRecords = ({ answer, arguments: given, tool, isError }) => {
    if (answer === undefined || isError) return [];
    const list = listIn(answer);
    const items = (list === undefined ? [answer as Json] : list.items).filter(isJsonObject);
    return items.flatMap((item): SeenRecord[] => {
      const ids = Object.keys(item).filter(isIdName);
      const own = find(ids.slice(0, 1).map((name) => item[name]));
      const made = tool.kind === 'write' ? fresh(Object.values(item)) : undefined;
      const asked = list === undefined ? find(Object.values(given)) : undefined;
      const place = made ?? own ?? asked ?? find(Object.values(item));
      if (place === undefined) return [];
      const shown = Object.entries(item).filter(
        ([field]) => fieldsOf.get(place.collection)!.has(field) && !unlike.has(`${place.collection}.${field}`),
      );
      return [{ ...place, fields: Object.fromEntries(shown) }];
    });
  };
  for (const { calls } of logs) {
    const change = calls.findIndex(isChange);
    for (const { collection, key, fields } of calls.slice(0, change < 0 ? undefined : change).flatMap(read))
      for (const [field, value] of Object.entries(fields))
        if (!same(valueIn(state, collection, key, field), value)) unlike.add(`${collection}.${field}`);
  }
  return read;
}

/** Objects by key; an empty object may be anything. */
export function isCollection(part: Json | undefined): part is Record<string, JsonObject> {
  return isJsonObject(part) && Object.values(part).length > 0 && Object.values(part).every(isJsonObject);
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
  readonly read: ReadRecords;
}

/** What a call is taken to change beyond what its answer shows. */
type Predict = (state: JsonObject, call: ObservedCall) => readonly Operation[];

/** @param state initial state of all logs, if known */
export function beliefsOf(logs: readonly ObservedLog[], state?: JsonObject, predict: Predict = () => []): Beliefs {
  const read = state === undefined ? recordsOf : readerOf(state as Records, logs);
  const shown = logs.map(firstSeen);
  const initial = (state as Records | undefined) ?? ordered(shown.flatMap(listed).reduce(withMissing, {}));
  const starts = shown.map((own) => (state === undefined ? overlaid(initial, own) : initial));
  const runs = logs.map(({ calls }, i) => followed(calls, starts[i], predict, read));
  const sightings = runs.flatMap((run) => run.sightings);
  return { initial, starts, ends: runs.map(({ end }) => end), sightings, read };
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

function followed(calls: readonly ObservedCall[], start: Records, predict: Predict, read: ReadRecords) {
  let state = start;
  const sightings = calls.map((call, i): Sighting => {
    const before = state;
    const records = read(call);
    const [own] = records;
    const isNamed = () => Object.values(call.arguments).some((value) => String(value) === own.key);
    const isAdded =
      isChange(call) && own !== undefined && before[own.collection]?.[own.key] === undefined && !isNamed();
    state = records.reduce(withRecord, applyOperations(state, predict(state, call)) as Records);
    const rest = calls.slice(i + 1);
    const change = rest.findIndex(isChange);
    const reads = change < 0 ? rest : rest.slice(0, change);
    const after = [call, ...reads].flatMap(read).reduce(withLater, {});
    return { call, before, after, ...(isAdded && { added: own }) };
  });
  return { sightings, end: state };
}

type Merge = (known: JsonObject | undefined, seen: JsonObject) => JsonObject;

const merging =
  (merge: Merge) =>
  (records: Records, { collection, key, fields }: SeenRecord): Records => {
    const part = records[collection] ?? {};
    return { ...records, [collection]: { ...part, [key]: merge(part[key], fields) } };
  };

/** What was seen later counts; what was seen first, with new fields before the known ones, or behind them. */
const withRecord = merging((known, seen) => ({ ...known, ...seen }));
const withMissing = merging((known, seen) => ({ ...seen, ...known }));
const withLater = merging((known, seen) => ({ ...known, ...seen, ...known }));

export function overlaid(records: Records, own: Records): Records {
  return listed(own).reduce(withRecord, records);
}

export function listed(records: Records): SeenRecord[] {
  return Object.entries(records).flatMap(([collection, part]) =>
    (isCollection(part) ? Object.entries(part) : []).map(([key, fields]) => ({ collection, key, fields })),
  );
}

/** By name and key, so that the order of logs decides nothing but the values. */
function ordered(records: Records): Records {
  const sorted = <T>(part: Readonly<Record<string, T>>): Record<string, T> =>
    Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)));
  return sorted(Object.fromEntries(Object.entries(records).map(([name, part]) => [name, sorted(part)])));
}

export function same(a: Json | undefined, b: Json | undefined): boolean {
  return a === undefined || b === undefined ? a === b : canonicalJson(a) === canonicalJson(b);
}

export function valueIn(records: Records, collection: string, key: string, field: string): Json | undefined {
  const record = records[collection]?.[key];
  return isJsonObject(record) && Object.hasOwn(record, field) ? record[field] : undefined;
}
