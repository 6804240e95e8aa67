// Records of a typed state: entries of its collections by id, their references, and whether a claimed value matches a
// field. Independent of domains: a collection is a map of objects, or a list of objects with ids.

import { isJsonObject, type Json, type JsonObject, parsedJson } from '../../core/canonical-json.js';
import { rememberedIfFrozen } from '../../core/remembered.js';

export interface StateRecord {
  readonly collection: string;
  readonly id: string;
  readonly value: JsonObject;
}

type Entries = ReadonlyMap<string, JsonObject>;
type Collections = ReadonlyMap<string, Entries>;

// States share unchanged parts, so each part is examined once.
const collections = new WeakMap<JsonObject, Collections>();
const entries = new WeakMap<object, Entries>();
const textsOfValues = new WeakMap<object, readonly string[]>();
const NONE: Entries = new Map();

export function collectionsOf(state: JsonObject): Collections {
  return rememberedIfFrozen(collections, state, () => {
    const found = new Map<string, Entries>();
    for (const [name, part] of Object.entries(state)) {
      // A map of collections is a name space.
      const inner = isJsonObject(part) ? Object.entries(part) : [];
      const isSpace = inner.length > 0 && inner.every(([key, each]) => entriesOf(key, each).size > 0);
      for (const [key, each] of isSpace ? inner : [[name, part] as const]) {
        const records = entriesOf(key, each);
        if (records.size > 0) found.set(key, records);
      }
    }
    return found;
  });
}

function entriesOf(name: string, part: Json): Entries {
  if (typeof part !== 'object' || part === null) return NONE;
  return rememberedIfFrozen(entries, part, () => {
    const pairs: [string, Json][] = Array.isArray(part)
      ? part.map((each) => [isJsonObject(each) ? ownId(each, name) : '', each])
      : Object.entries(part);
    return pairs.every(([id, each]) => id !== '' && isJsonObject(each))
      ? new Map(pairs as [string, JsonObject][])
      : NONE;
  });
}

/** A record's own id by its fields: `id`, or `<singular of its collection>_id`; empty where it has none. */
function ownId(value: JsonObject, collection: string): string {
  const own = ['id', `${singular(collection)}_id`, `${singular(collection)}Id`].map((name) => value[name]);
  return String(own.find((id) => typeof id === 'string' || typeof id === 'number') ?? '');
}

/** The records of this id, one of each collection that has it. */
export function recordsNamed(state: JsonObject, id: Json): StateRecord[] {
  if (typeof id !== 'string' && typeof id !== 'number') return [];
  const key = String(id);
  return [...collectionsOf(state)].flatMap(([collection, records]) => {
    const value = records.get(key);
    return value === undefined ? [] : [{ collection, id: key, value }];
  });
}

/** Records whose ids occur in a value. */
export function recordsReferred(state: JsonObject, value: JsonObject): StateRecord[] {
  return textsIn(value).flatMap((text) => recordsNamed(state, text));
}

/** Whether a value holds this text, as a key or a value. */
export function holds(value: JsonObject, text: string): boolean {
  return textsIn(value).includes(text);
}

/** Keys and texts of a value, each once. */
export function textsIn(value: JsonObject | readonly Json[]): readonly string[] {
  return rememberedIfFrozen(textsOfValues, value, () => {
    const texts = new Set<string>();
    const open: Json[] = [value];
    for (let part = open.pop(); part !== undefined; part = open.pop()) {
      if (typeof part === 'string' || typeof part === 'number') texts.add(String(part));
      if (typeof part !== 'object' || part === null) continue;
      if (!Array.isArray(part)) for (const key of Object.keys(part)) texts.add(key);
      open.push(...(Object.values(part) as Json[]));
    }
    return [...texts];
  });
}

export function singular(name: string): string {
  if (name.endsWith('ies')) return `${name.slice(0, -3)}y`;
  return /(s|x|z|ch|sh)es$/.test(name) ? name.slice(0, -2) : name.replace(/(?<!s)s$/, '');
}

/** A key normalized for comparison: `fare_class`, `fareClass` and `Fare class` are equal. */
export function plainKey(key: string): string {
  return key.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');
}

/** The key of an object that equals this one in another spelling. */
export function fieldOf(value: JsonObject, key: string): string | undefined {
  if (Object.hasOwn(value, key)) return key;
  const plain = plainKey(key);
  return plain === '' ? undefined : Object.keys(value).find((name) => plainKey(name) === plain);
}

const YES = /^(yes|true|y|on)$/i;
const NO = /^(no|false|n|off)$/i;
const EMPTY = /^\s*(none|null|nil|n\/a|-|–)?\s*$/i;
const MASKED = /^[*x•.\s-]*[*•]{2,}/i;
const NUMBER = /(?<![\p{L}\p{N}.])[-−]?\d+(?:[,.'\u202f ]\d{3}(?!\d))*(?:\.\d+)?/gu;
/** Quantities with units: two numbers in different units may be the same amount. */
const SIZED =
  /\d\s*(h|hours?|min|minutes?|s|sec|seconds?|days?|weeks?|months?|years?|k?g|lbs?|k?m|mi|cm|[kmg]b|k|%)\b|%/i;
const WORDS = /[\p{L}\p{N}]+/gu;
const LONG = 80;

/** Whether a claim matches the value of a field; undefined if the two cannot be compared. */
export function isAlike(claim: Json, held: Json): boolean | undefined {
  if (claim === held) return true;
  if (isEmpty(claim) || isEmpty(held)) {
    if (isEmpty(claim) && isEmpty(held)) return true;
    return [claim, held].some((value) => value === 0 || value === false) ? undefined : false;
  }
  if (typeof claim === 'object' || typeof held === 'object') return undefined;
  if (typeof claim === 'boolean' || typeof held === 'boolean') return isSameTruth(claim!, held!);
  if (typeof held === 'number') return isSameNumber(claim!, held);
  if (typeof claim === 'number') {
    const numbers = numbersIn(held!);
    return numbers.length === 0 ? undefined : numbers.includes(claim) || held === String(claim);
  }
  return isSameText(claim!, held!);
}

function isEmpty(value: Json): boolean {
  if (typeof value === 'object') return value === null || Object.keys(value).length === 0;
  return typeof value === 'string' && EMPTY.test(value);
}

function isSameTruth(claim: Json, held: Json): boolean | undefined {
  const [a, b] = [claim, held].map((value) => {
    if (typeof value === 'boolean') return value;
    return YES.test(String(value)) ? true : NO.test(String(value)) ? false : undefined;
  });
  return a === undefined || b === undefined ? undefined : a === b;
}

function isSameNumber(claim: Json, held: number): boolean | undefined {
  const numbers = typeof claim === 'number' ? [claim] : numbersIn(String(claim));
  if (numbers.length === 0) return undefined;
  if (numbers.some((number) => isRounded(number, held))) return true;
  // Cents instead of euros, per cent instead of shares.
  const isScaled = numbers.some((number) => isRounded(number / 100, held) || isRounded(number * 100, held));
  return isScaled || (typeof claim === 'string' && SIZED.test(claim)) ? undefined : false;
}

/** Equal, or rounded to the decimals of the claim, if it has any. */
function isRounded(claim: number, held: number): boolean {
  if (Math.abs(claim - held) <= 1e-9 * Math.max(1, Math.abs(held))) return true;
  const decimals = (String(claim).split('.')[1] ?? '').length;
  return decimals > 0 && !Number.isInteger(held) && Number(held.toFixed(decimals)) === claim;
}

function numbersIn(text: string): number[] {
  const found = text.match(NUMBER) ?? [];
  return found.flatMap((each) => {
    const plain = each.replace('−', '-');
    const grouped = plain.replace(/[,.'\u202f ](?=\d{3}(?!\d))/g, '');
    return [Number(grouped), Number(plain.replace(/[,'\u202f ]/g, ''))].filter((number) => !Number.isNaN(number));
  });
}

function isSameText(claim: string, held: string): boolean | undefined {
  if (plainKey(claim) === plainKey(held)) return plainKey(claim) !== '' || claim.trim() === held.trim();
  if (MASKED.test(claim)) return undefined;
  const inTime = isSameTime(claim, held);
  if (inTime !== 'no time') return inTime;
  const [a, b] = [claim, held].map((text) => new Set((text.toLowerCase().match(WORDS) ?? []) as string[]));
  const [few, many] = a.size < b.size ? [a, b] : [b, a];
  const denies = [a, b].map((words) => ['not', 'no', 'never'].some((word) => words.has(word)));
  if (few.size > 0 && denies[0] === denies[1] && [...few].every((word) => many.has(word))) return undefined;
  if (held.length > LONG) return [...a].filter((word) => b.has(word)).length * 2 >= a.size ? undefined : false;
  // A code may stand for a name, and a status may be spelled differently.
  if (/^[A-Z]{2,4}$/.test(held) && /^[A-Z][a-zà-ÿ]/.test(claim)) return undefined;
  return /^[a-z_ -]{6,}$/.test(held) && isOneLetterOff(claim.toLowerCase(), held) ? undefined : false;
}

function isOneLetterOff(a: string, b: string): boolean {
  const [short, long] = a.length < b.length ? [a, b] : [b, a];
  if (long.length - short.length > 1) return false;
  let at = 0;
  while (at < short.length && short[at] === long[at]) at++;
  return long.slice(at + 1) === short.slice(short.length === long.length ? at + 1 : at);
}

const DATE = /^(\d{4})-(\d{2})-(\d{2})/;
const CLOCK = /^(\d{1,2}):(\d{2})(?::\d{2})?$/;
const SPOKEN_CLOCK = /(\d{1,2})(?:[:.h](\d{2}))?(?::\d{2})?\s*([ap])?\.?m?/i;
const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];

function isSameTime(claim: string, held: string): boolean | undefined | 'no time' {
  const clock = CLOCK.exec(held);
  if (clock !== null) {
    const spoken = SPOKEN_CLOCK.exec(claim);
    if (spoken === null) return undefined;
    const hour = (Number(spoken[1]) % (spoken[3] ? 12 : 24)) + (spoken[3]?.toLowerCase() === 'p' ? 12 : 0);
    return hour === Number(clock[1]) && (spoken[2] ?? '00') === clock[2];
  }
  const date = DATE.exec(held);
  if (date === null) return 'no time';
  const [a, b] = [claim, held].map((text) => text.replace(/\D/g, ''));
  if (a.length >= 8 && b.length >= 8 && DATE.test(claim)) return a.startsWith(b) || b.startsWith(a);
  const [year, month, day] = date.slice(1).map(Number);
  const named = MONTHS.findIndex((name) => new RegExp(`\\b${name}`, 'i').test(claim)) + 1;
  const numbers = (claim.match(/\d+/g) ?? []).map(Number);
  if (numbers.length === 0 || (named === 0 && numbers.length < 2)) return undefined;
  if (named !== 0 && named !== month) return false;
  const fits = [year, year % 100, day, ...(named === 0 ? [month] : [])];
  return numbers.slice(0, 3).every((number) => fits.includes(number)) && numbers.includes(day);
}

const PAIR = /^[\s>*•-]*([\p{L}][\p{L}\p{N}_/-]*(?: [\p{L}\p{N}_/-]+){0,3}?)\**\s*[:=](?!(?<=\d.)\d)\s*\**(.*)$/u;
const HEADING = /^[\s#*•-]*([\p{L}][\p{L}_ -]{1,30}) (#?[\p{L}\p{N}_.-]*\d[\p{L}\p{N}_.-]*):?\**$/u;

/** Parses an observation: JSON, also in a code fence, or lines of `key: value`; undefined if it is neither. */
export function readObservation(text: string): Json | undefined {
  const bare = text.trim().replace(/^```\w*\s*([\s\S]*?)\s*```$/, '$1');
  if (/^[[{]/.test(bare)) {
    const python = bare
      .replaceAll("'", '"')
      .replace(/\bNone\b/g, 'null')
      .replace(/\bTrue\b/g, 'true')
      .replace(/\bFalse\b/g, 'false');
    return parsedJson(bare) ?? parsedJson(python);
  }
  return linesRead(bare);
}

function linesRead(text: string): Json | undefined {
  const blocks: JsonObject[] = [];
  for (const block of text.split(/\n\s*\n/)) {
    const lines = block.split('\n').flatMap((line) => piecesOf(line));
    let read: Record<string, Json> = {};
    for (const line of lines) {
      const heading = HEADING.exec(line);
      const [, key, value = ''] = heading ?? PAIR.exec(line) ?? [];
      if (key === undefined || value.trim() === '') continue;
      // A repeated key begins the next record.
      if (heading !== null || Object.hasOwn(read, key)) {
        if (Object.keys(read).length > 0) blocks.push(read);
        read = {};
      }
      read[key] = value.replace(/[\s.*]+$/, '').trim();
    }
    if (Object.keys(read).length > 0) blocks.push(read);
  }
  return blocks.length === 0 ? undefined : blocks.length === 1 ? blocks[0] : blocks;
}

/** Splits a line with several pairs: `status: open; team: desk`. */
function piecesOf(line: string): string[] {
  const pieces = line.split(/\s*[;|]\s*|,\s+(?=[\p{L}][\p{L}\p{N}_ -]{0,30}[:=]\s)/u);
  return pieces.length > 1 && pieces.every((piece) => PAIR.test(piece)) ? pieces : [line];
}
