// What logs show: calls with their answers, the records that answers are made of, and what these tell of the state each call was
// made in. A record is an object with an id: its first field that is called one (`booking_id`, `bookingId`), or an argument of
// the call where the answer is about one thing.

import { canonicalJson, isJsonObject, type Json, type JsonObject } from '../../core/canonical-json.js';
import { applyOperations } from '../../env/state/operations.js';
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
    Object.entries(part).map(([key, fields]) => ({ collection, key, fields })),
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
