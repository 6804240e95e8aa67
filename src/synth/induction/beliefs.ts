// The state behind the logs, as far as answers show it: what each log began with, what was so before each call, and what was seen
// of it after. Logs are taken to begin with the same data; where two show different values, the later one's task changes them.

import { canonicalJson } from '../../core/canonical-json.js';
import { isJsonObject, type Json, type JsonObject } from '../../core/json.js';
import { applyOperations, type Operation } from '../../env/index.js';
import { type ObservedCall, type ObservedLog, recordsOf, type SeenRecord } from './observed.js';

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
