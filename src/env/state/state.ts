// Reading a typed state: the value that a JSON Pointer (RFC 6901) points at, its hash, and whether it fits its schema.

import { hash } from 'node:crypto';
import { createContext, Script } from 'node:vm';
import type { Ajv, ErrorObject, ValidateFunction } from 'ajv';
import type { Ajv2020 } from 'ajv/dist/2020.js';
import { LRUCache } from 'lru-cache';
import { canonicalJson, type Json, type JsonObject } from '../../core/canonical-json.js';
import { nameAside, reverieError } from '../../core/errors.js';
import { ajvDraft7, ajvDraft2020 } from '../../core/packs.js';

/** The keys a pointer goes through; undefined if it is no pointer (it must be empty or begin with a slash). */
export function pointerKeys(pointer: string): string[] | undefined {
  if (pointer === '') return [];
  if (!pointer.startsWith('/')) return undefined;
  return pointer
    .slice(1)
    .split('/')
    .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/** What is there, or undefined. Only own keys count, and of arrays only whole numbers. */
export function valueAt(root: Json, pointer: string): Json | undefined {
  let value: Json | undefined = root;
  for (const key of pointerKeys(pointer) ?? [undefined]) {
    if (key === undefined || typeof value !== 'object' || value === null) return undefined;
    if (Array.isArray(value) && !/^(0|[1-9]\d*)$/.test(key)) return undefined;
    value = Object.hasOwn(value, key) ? (value as Record<string, Json>)[key] : undefined;
  }
  return value;
}

const known = new WeakMap<object, string>();

/** Below this depth a part is hashed as one text: parts of collections are the unit that changes. */
const SHARED_DEPTH = 2;

/** SHA-256 (hex) of the state's canonical form; equal states have equal hashes, whatever the order of their keys. */
export function stateHash(state: JsonObject): string {
  return hashAt(state, 0);
}

function hashAt(value: Json, depth: number): string {
  if (typeof value !== 'object' || value === null) return sha256(JSON.stringify(value));
  const before = known.get(value);
  if (before !== undefined) return before;
  const found = sha256(depth >= SHARED_DEPTH ? canonicalJson(value) : shallow(value, depth));
  // A part that may still change must not be remembered.
  if (Object.isFrozen(value)) known.set(value, found);
  return found;
}

/** As JSON of pairs of key and hash. */
function shallow(value: JsonObject | readonly Json[], depth: number): string {
  const keys = Object.keys(value).sort();
  let parts = '';
  for (const key of keys) {
    const part = hashAt((value as JsonObject)[key], depth + 1);
    parts += `${parts === '' ? '' : ','}[${JSON.stringify(key)},"${part}"]`;
  }
  return `${Array.isArray(value) ? 'list' : 'object'}[${parts}]`;
}

function sha256(text: string): string {
  return hash('sha256', text);
}

export type SchemaCheck = (value: Json) => readonly string[];

const MAX_PROBLEMS = 5;

const checks = new WeakMap<JsonObject, SchemaCheck>();

/**
 * A check that answers what is wrong with a value, one sentence a fault (at most five); empty if it fits. The same object is compiled once.
 * @throws SCHEMA_INVALID if `schema` itself is no JSON Schema
 */
export function compileSchema(schema: JsonObject, what: string): SchemaCheck {
  const known = checks.get(schema);
  if (known !== undefined) return known;
  const validate = compiled(schema, what);
  const check: SchemaCheck = (value) => {
    try {
      return validate(value) ? [] : (validate.errors ?? []).slice(0, MAX_PROBLEMS).map(sentence);
    } catch (error) {
      if (error instanceof TooLong) return [error.message];
      throw error;
    }
  };
  checks.set(schema, check);
  return check;
}

/** The clock of a timeout also runs while the machine does something else: a second, longer try tells that from backtracking. */
const MATCH_TIMEOUTS_MS = [500, 5000];
const matcher = new Script('new RegExp(pattern, flags).test(text)');
const given = createContext({ pattern: '', flags: '', text: '' });

class TooLong extends Error {}

/** Patterns come from files that others, or models, wrote: one that would backtrack for ever is cut off. @throws TooLong, SyntaxError */
export function matchesInTime(pattern: string, flags: string, text: string): boolean {
  Object.assign(given, { pattern, flags, text });
  for (const timeout of MATCH_TIMEOUTS_MS) {
    try {
      return matcher.runInContext(given, { timeout }) === true;
    } catch (error) {
      if ((error as { code?: string }).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
    }
  }
  throw new TooLong(`the pattern /${pattern}/ takes too long on a text of ${text.length} characters`);
}

/** Shorter texts end soon, where no repetition is repeated. */
const SHORT = 1_000;
const regExp = Object.assign(
  (pattern: string, flags: string) => {
    const own = new RegExp(pattern, flags);
    const isNested = /\)(?:[*+]|\{)/.test(pattern);
    const test = (text: string) =>
      isNested || text.length > SHORT ? matchesInTime(pattern, flags, text) : own.test(text);
    // By which the library tells patterns apart.
    return { test, toString: () => String(own) };
  },
  { code: 'new RegExp' },
);
const JUDGED = { allErrors: true, verbose: true, strict: false, validateFormats: false };
const OPTIONS = { ...JUDGED, logger: false as const, code: { regExp } };
/** Instances that know only one schema, as two schemas may have the same `$id`; without the dear schema of schemas. */
const LIGHT = { ...OPTIONS, meta: false, validateSchema: false };
const schemasOfSchemas = new Map<typeof Ajv | typeof Ajv2020, Ajv>();
/** By the text of the schema: a process opens the same domain again and again, and this is a fifth of what that takes. */
const COMPILED = new LRUCache<string, ValidateFunction>({ max: 500 });

function compiled(schema: JsonObject, what: string): ValidateFunction {
  const text = JSON.stringify(schema);
  const validate = COMPILED.get(text) ?? compiledAnew(schema, what);
  COMPILED.set(text, validate);
  return validate;
}

function compiledAnew(schema: JsonObject, what: string): ValidateFunction {
  const isDraft7 = typeof schema.$schema === 'string' && schema.$schema.includes('draft-07');
  const Draft = isDraft7 ? ajvDraft7().Ajv : ajvDraft2020().Ajv2020;
  const judge = schemasOfSchemas.get(Draft) ?? new Draft(OPTIONS);
  schemasOfSchemas.set(Draft, judge);
  try {
    if (!judge.validateSchema(schema)) throw new TypeError(judge.errorsText(judge.errors, { dataVar: 'schema' }));
    return new Draft(LIGHT).compile(schema);
  } catch (error) {
    throw reverieError('SCHEMA_INVALID', { what, problem: (error as Error).message }, error);
  }
}

function sentence({ instancePath, keyword, params, message, parentSchema }: ErrorObject): string {
  const where = instancePath === '' ? 'it' : instancePath;
  if (keyword === 'additionalProperties') {
    const key = String(params.additionalProperty);
    const known = Object.keys((parentSchema?.properties as object | undefined) ?? {});
    return `${where} has an unknown key "${key}"${nameAside(key, known)}`;
  }
  if (keyword === 'enum') return `${where} must be one of ${JSON.stringify(params.allowedValues)}`;
  return `${where} ${message ?? 'does not fit its schema'}`;
}
