// JSON from a stranger: refused if it is nested too deep, repaired if it is nearly JSON, never trusted to be small.

import type { ErrorObject } from 'ajv';
import { jsonrepair } from 'jsonrepair';
import { LRUCache } from 'lru-cache';
import { canonicalJson, isJsonObject, type Json, type JsonObject } from '../core/canonical-json.js';
import { reverieError } from '../core/errors.js';
import { ajvDraft7, ajvDraft2020 } from '../core/packs.js';

type JsonReading =
  | { readonly ok: true; readonly value: Json; readonly repaired: boolean }
  | { readonly ok: false; readonly problem: string };

/** Longer texts are not repaired: what is that long and broken was cut off or is no JSON. */
const LONGEST_REPAIR = 256 * 1024;

/** Parses JSON, which may be in a code fence or within sentences (with braces of their own) and may have small faults. */
export function readJson(written: string, maxDepth: number): JsonReading {
  const text = written.replace(/^\uFEFF/, '');
  if (depthExceeds(text, maxDepth)) return { ok: false, problem: `it is nested deeper than ${maxDepth} levels` };
  const whole = parse(text);
  if (whole) return text === written ? whole : { ...whole, repaired: true };
  const part = longestPart(text);
  if (part) return { ...part, repaired: true };
  const fenced = /```(?:json)?\s*([{[].*?)```/is.exec(text)?.[1];
  return repair(fenced ?? outermostBraces(text) ?? text, maxDepth);
}

/** Maximum number of start positions to try. */
const MOST_STARTS = 50;

/** The longest valid object or list of several values within other text. */
function longestPart(text: string) {
  let best: { length: number; part: ReturnType<typeof parse> } | undefined;
  let at = 0;
  for (let tries = 0; tries < MOST_STARTS; tries++) {
    const start = text.slice(at).search(/[{[]/);
    if (start < 0) break;
    at += start;
    const end = closingBracket(text, at);
    const part = end === undefined ? undefined : parse(text.slice(at, end + 1));
    if (part && end! - at > (best?.length ?? 2)) best = { length: end! - at, part };
    at = part ? end! + 1 : at + 1;
  }
  return best?.part;
}

/** Index of the bracket that closes the one at `start`. */
function closingBracket(text: string, start: number): number | undefined {
  let depth = 0;
  for (let at = start; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at);
    else if (code === 0x7b || code === 0x5b) depth++;
    else if ((code === 0x7d || code === 0x5d) && --depth === 0) return at;
  }
  return undefined;
}

function parse(text: string): { ok: true; value: Json; repaired: boolean } | undefined {
  try {
    const value = JSON.parse(text) as Json;
    return mayOverflow(text) && holdsInfinity(value) ? undefined : { ok: true, value, repaired: false };
  } catch {
    return undefined;
  }
}

function repair(text: string, maxDepth: number): JsonReading {
  const faulty = { ok: false, problem: 'it is not JSON' } as const;
  if (text.length > LONGEST_REPAIR || bracketsExceed(text, maxDepth)) return faulty;
  try {
    const repaired = parse(jsonrepair(text));
    // jsonrepair turns any sentence into a string.
    return repaired && typeof repaired.value === 'object' ? { ...repaired, repaired: true } : faulty;
  } catch (error) {
    return { ok: false, problem: `it is not JSON (${(error as Error).message})` };
  }
}

/** The text from the first opening bracket to the last closing one of its kind. */
function outermostBraces(text: string): string | undefined {
  const start = text.search(/[{[]/);
  if (start < 0) return undefined;
  const end = text.lastIndexOf(text[start] === '{' ? '}' : ']');
  return end > start ? text.slice(start, end + 1) : undefined;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Whether brackets outside strings are nested deeper than `limit`; looks no further than needed. */
export function depthExceeds(text: string, limit: number): boolean {
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at);
    else if (code === 0x7b || code === 0x5b) {
      if (++depth > limit) return true;
    } else if (code === 0x7d || code === 0x5d) depth--;
  }
  return false;
}

/** Index of the quote that ends the string that starts at `start`. */
function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
  while (end > 0) {
    let slashes = 0;
    while (text.charCodeAt(end - 1 - slashes) === BACKSLASH) slashes++;
    if (slashes % 2 === 0) return end;
    end = text.indexOf('"', end + 1);
  }
  return text.length;
}

/** As `depthExceeds`, with all brackets counted: in broken JSON it is not known where strings end. */
function bracketsExceed(text: string, limit: number): boolean {
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x7b || code === 0x5b) {
      if (++depth > limit) return true;
    } else if ((code === 0x7d || code === 0x5d) && depth > 0) depth--;
  }
  return false;
}

/** Numbers beyond the range of doubles are read as Infinity, which JSON cannot hold. */
function mayOverflow(text: string): boolean {
  return /[eE]\+?\d{3}|\d{300}/.test(text);
}

function holdsInfinity(value: Json): boolean {
  if (typeof value === 'number') return !Number.isFinite(value);
  return typeof value === 'object' && value !== null && Object.values(value).some(holdsInfinity);
}

// The JSON Schema of a reply: compiled once, with the copy that servers are sent and the check that replies must pass.

export interface ReplySchema {
  readonly name: string;
  readonly schema: JsonObject;
  /** Canonical JSON of name and schema: what tells schemas apart. */
  readonly text: string;
  /** `response_format` as JSON text, strict where the schema can be. */
  readonly formatText: string;
  /** The value in normal form (`normalized`, after `mend`), with its remaining problems. */
  check(value: Json, mend?: (value: Json) => Json): { value: Json; problems: readonly string[] };
}

const MAX_PROBLEMS = 5;

// Callers pass one object again and again, or a new one that says the same: neither is compiled twice.
const byObject = new WeakMap<JsonObject, ReplySchema>();
const byText = new LRUCache<string, ReplySchema>({ max: 256 });

/** Throws SCHEMA_INVALID if it is no JSON Schema. */
export function replySchema({ name, schema }: { name: string; schema: JsonObject }): ReplySchema {
  const known = byObject.get(schema);
  if (known?.name === name) return known;
  const text = canonicalJson({ name, schema });
  const same = byText.get(text) ?? compile(name, schema, text);
  byObject.set(schema, same);
  byText.set(text, same);
  return same;
}

function compile(name: string, schema: JsonObject, text: string): ReplySchema {
  const validate = compileAjv(name, schema);
  const strict = strictSchema(schema);
  const wire = {
    name: name.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, 64),
    strict: strict !== undefined,
    schema: strict ?? schema,
  };
  return {
    name,
    schema,
    text,
    formatText: JSON.stringify({ type: 'json_schema', json_schema: wire }),
    check: (value, mend = (same) => same) => {
      if (validate(value)) return { value, problems: [] };
      const meant = normalized(mend(value), schema);
      if (validate(meant)) return { value: meant, problems: [] };
      return { value: meant, problems: (validate.errors ?? []).slice(0, MAX_PROBLEMS).map(sentence) };
    },
  };
}

function compileAjv(name: string, schema: JsonObject) {
  const isDraft7 = typeof schema.$schema === 'string' && schema.$schema.includes('draft-07');
  const options = { allErrors: false, strict: false, validateFormats: false, logger: false as const };
  try {
    return (isDraft7 ? new (ajvDraft7().Ajv)(options) : new (ajvDraft2020().Ajv2020)(options)).compile(schema);
  } catch (error) {
    throw reverieError('SCHEMA_INVALID', { what: `reply "${name}"`, problem: (error as Error).message }, error);
  }
}

function sentence({ instancePath, keyword, params, message }: ErrorObject): string {
  const where = instancePath === '' ? 'it' : instancePath;
  if (keyword === 'additionalProperties') return `${where} has an unknown key "${params.additionalProperty}"`;
  if (keyword === 'enum') return `${where} must be one of ${JSON.stringify(params.allowedValues)}`;
  return `${where} ${message ?? 'does not fit its schema'}`;
}

// OpenAI's strict mode takes a part of JSON Schema: every key required, no others allowed. A key that was optional
// becomes one that may be null, and a null that stands for a missing key is taken out of the reply again.

/** A copy that strict mode accepts, with the same order of keys; undefined where there is none (maps, free-form values). */
export function strictSchema(schema: JsonObject): JsonObject | undefined {
  try {
    return strictNode(schema);
  } catch (error) {
    if (error === NOT_STRICT) return undefined;
    throw error;
  }
}

const NOT_STRICT = Symbol('not strict');

const FORBIDDEN = ['patternProperties', 'allOf', 'oneOf', 'not', 'if', 'then', 'else', 'dependentRequired'];
const FORBIDDEN_TOO = ['dependentSchemas', 'unevaluatedProperties', 'propertyNames', 'prefixItems', 'contains'];
/** Says nothing about values, and strict mode refuses it. */
const LEFT_OUT = new Set(['default', '$schema', '$id', 'title', 'examples', '$comment']);

function strictNode(node: Json): JsonObject {
  if (!isJsonObject(node)) throw NOT_STRICT;
  if ([...FORBIDDEN, ...FORBIDDEN_TOO].some((key) => key in node)) throw NOT_STRICT;
  const says = ['type', 'enum', 'const', 'anyOf', '$ref'].some((key) => key in node);
  if (!says) throw NOT_STRICT;
  const copy: Record<string, Json> = {};
  for (const [key, value] of Object.entries(node)) {
    if (!LEFT_OUT.has(key)) copy[key] = strictKeyword(key, value);
  }
  return isObjectType(node) ? { ...copy, ...strictObject(node) } : copy;
}

function strictKeyword(key: string, value: Json): Json {
  if (key === 'items') return strictNode(value);
  if (key === 'anyOf') return (value as readonly Json[]).map(strictNode);
  if (key === '$defs' || key === 'definitions')
    return Object.fromEntries(Object.entries(value as JsonObject).map(([name, node]) => [name, strictNode(node)]));
  return value;
}

function strictObject(node: JsonObject): JsonObject {
  const { properties, required, additionalProperties } = node;
  if (!isJsonObject(properties ?? null)) throw NOT_STRICT;
  if (additionalProperties !== undefined && additionalProperties !== false) throw NOT_STRICT;
  const needed = new Set(required as readonly string[] | undefined);
  const strict = Object.entries(properties as JsonObject).map(([key, value]) => {
    const inner = strictNode(value);
    return [key, needed.has(key) ? inner : orNull(inner)];
  });
  return {
    properties: Object.fromEntries(strict),
    required: strict.map(([key]) => key as string),
    additionalProperties: false,
  };
}

function orNull(schema: JsonObject): JsonObject {
  return allowsNull(schema) ? schema : { anyOf: [schema, { type: 'null' }] };
}

/**
 * Normalizes a reply to its schema where the intention is clear: drops unknown keys and nulls of optional
 * keys, adds null for nullable keys, unwraps lists of one and wrappers, parses numbers and booleans written as
 * text, and writes JSON as text if the schema wants text. The schema refuses the rest.
 */
export function normalized(value: Json, schema: Json | undefined): Json {
  if (!isJsonObject(schema ?? null)) return value;
  const { anyOf, items, type } = schema as JsonObject;
  if (value === null && allowsNull(schema as JsonObject)) return null;
  if (Array.isArray(anyOf)) {
    const inner = anyOf.filter((part) => isJsonObject(part) && part.type !== 'null');
    return inner.length === 1 ? normalized(value, inner[0]) : value;
  }
  const types = [type].flat();
  if (typeof value === 'string' && !types.includes('string')) return meantBy(value, types);
  if (types[0] === 'string' && value !== null && typeof value !== 'string') return JSON.stringify(value);
  if (Array.isArray(value) && isObjectType(schema as JsonObject))
    return value.length === 1 ? normalized(value[0], schema) : value;
  if (Array.isArray(value)) return value.map((item) => normalized(item, items));
  return isJsonObject(value) ? normalizedObject(value, schema as JsonObject) : value;
}

function meantBy(text: string, types: readonly (Json | undefined)[]): Json {
  const isOf = (value: Json) =>
    (typeof value === 'number' &&
      (types.includes('number') || (types.includes('integer') && Number.isInteger(value)))) ||
    (typeof value === 'boolean' && types.includes('boolean')) ||
    (value === null && types.includes('null')) ||
    (isJsonObject(value) && types.includes('object')) ||
    (Array.isArray(value) && types.includes('array'));
  const read = parse(
    text.trim().toLowerCase() === 'none'
      ? 'null'
      : text.trim().replace(/^(true|false|null)$/i, (word) => word.toLowerCase()),
  );
  return read && isOf(read.value) ? read.value : text;
}

function normalizedObject(value: JsonObject, { properties, required, additionalProperties }: JsonObject): Json {
  if (!isJsonObject(properties ?? null)) return value;
  const known = properties as JsonObject;
  const needed = new Set((required ?? []) as readonly string[]);
  const [only] = Object.values(value);
  const isWrapper = Object.keys(value).length === 1 && !Object.keys(value).some((key) => Object.hasOwn(known, key));
  if (isWrapper && isJsonObject(only) && Object.keys(only).some((key) => Object.hasOwn(known, key)))
    return normalizedObject(only, { properties, required, additionalProperties } as JsonObject);
  const kept = Object.entries(value).flatMap(([key, part]): [string, Json][] => {
    const inner = Object.hasOwn(known, key) ? known[key] : undefined;
    if (inner === undefined) return additionalProperties === false ? [] : [[key, part]];
    return part === null && !needed.has(key) && !allowsNull(inner) ? [] : [[key, normalized(part, inner)]];
  });
  const missing = [...needed].filter((key) => !Object.hasOwn(value, key) && allowsNull(known[key] ?? false));
  return Object.fromEntries([...kept, ...missing.map((key): [string, Json] => [key, null])]);
}

function allowsNull(schema: Json): boolean {
  if (!isJsonObject(schema)) return true;
  const { type, anyOf, enum: values } = schema;
  if (Array.isArray(values)) return values.includes(null);
  if (Array.isArray(anyOf)) return anyOf.some(allowsNull);
  if ('const' in schema) return schema.const === null;
  return type === undefined ? !('$ref' in schema) : type === 'null' || (Array.isArray(type) && type.includes('null'));
}

function isObjectType(node: Json): boolean {
  if (!isJsonObject(node)) return false;
  const { type } = node;
  return type === 'object' || (Array.isArray(type) && type.includes('object')) || 'properties' in node;
}
