// The things a typed state holds: records of its collections, by id, and where a text or a task names them.

import type { Json, JsonObject } from '../../core/canonical-json.js';

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
  const before = parsed.get(part);
  if (before !== undefined) return before;
  const records = Array.isArray(part) ? listedRecords(part) : keyedRecords(part as JsonObject);
  // A part that may still change must not be remembered.
  if (Object.isFrozen(part)) parsed.set(part, records);
  return records;
}

function keyedRecords(part: JsonObject): Records | null {
  const entries = Object.entries(part);
  if (entries.length === 0 || !entries.every(([, value]) => isRecord(value))) return null;
  return new Map(entries as [string, JsonObject][]);
}

function listedRecords(part: readonly Json[]): Records | null {
  if (part.length === 0 || !part.every(isRecord)) return null;
  const key = Object.keys(part[0]).find((name) => name === 'id' || /(_id|Id)$/.test(name));
  if (key === undefined) return null;
  const ids = part.map((record) => record[key]);
  if (!ids.every((id) => typeof id === 'string') || new Set(ids).size < ids.length) return null;
  return new Map(part.map((record, i) => [ids[i] as string, record]));
}

export function isRecord(value: Json): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
