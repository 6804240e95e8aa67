// Checks data against a zod schema and turns the first thing wrong into one catalogue error that names the key's path,
// the value seen and what was expected. Knows schemas only through their JSON Schema form.

import { z } from 'zod';
import { nearest, type ReverieError, reverieError } from '../core/errors.js';
import { retiredSetting } from './retired-settings.js';

/** As far as it is read here. */
export interface JsonSchema {
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, JsonSchema>>;
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly default?: unknown;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly exclusiveMaximum?: number;
  readonly minLength?: number;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | JsonSchema;
  readonly items?: boolean | JsonSchema;
  readonly prefixItems?: readonly JsonSchema[];
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
}

type Path = readonly PropertyKey[];
type Issue = z.core.$ZodIssue;

/** The schema of what a user may write. */
export function inputSchemaOf(schema: z.ZodType): JsonSchema {
  return z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any', reused: 'inline' }) as JsonSchema;
}

/**
 * `data` parsed, defaults filled in.
 * @param source what the data is, for messages: a file or a flag
 * @throws UNKNOWN_KEY naming the nearest known key, or SCENARIO_INVALID naming path, value and what is expected
 */
export function checkAgainst<S extends z.ZodType>(schema: S, data: unknown, source: string): z.output<S> {
  const result = schema.safeParse(data);
  if (result.success) return result.data;
  const issues = result.error.issues;
  // An unknown key is most often the cause of whatever else is missing, so it is told first.
  const issue = issues.find((candidate) => candidate.code === 'unrecognized_keys') ?? issues[0];
  throw errorOf(issue, data, inputSchemaOf(schema), source);
}

/** `a.b[2].c`, or `fallback` for the empty path. */
function pathText(path: Path, fallback = 'the file'): string {
  const text = path.map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`)).join('');
  return text === '' ? fallback : text.replace(/^\./, '');
}

/** What a schema accepts, in words: `integer, at least 1`. */
export function expectation(schema: JsonSchema): string {
  const options = schema.oneOf ?? schema.anyOf;
  if (options !== undefined) return options.map(expectation).join(', or ');
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return `one of ${schema.enum.map((value) => JSON.stringify(value)).join(', ')}`;
  if (schema.prefixItems !== undefined) return `[${schema.prefixItems.map(expectation).join('; ')}]`;
  if (schema.type === 'array')
    return `array of ${typeof schema.items === 'object' ? grouped(expectation(schema.items)) : 'values'}`;
  const type = typeof schema.type === 'object' ? schema.type.join(' or ') : schema.type;
  return [type ?? 'any value', ...bounds(schema)].join(', ');
}

/** Choices within a longer sentence are kept together. */
function grouped(text: string): string {
  return text.includes(', or ') ? `(${text})` : text;
}

function bounds({ minimum, maximum, exclusiveMinimum, exclusiveMaximum, minLength = 0 }: JsonSchema): string[] {
  return [
    ...(minimum !== undefined && minimum > Number.MIN_SAFE_INTEGER ? [`at least ${minimum}`] : []),
    ...(exclusiveMinimum !== undefined ? [`above ${exclusiveMinimum}`] : []),
    ...(maximum !== undefined && maximum < Number.MAX_SAFE_INTEGER ? [`at most ${maximum}`] : []),
    ...(exclusiveMaximum !== undefined ? [`below ${exclusiveMaximum}`] : []),
    ...(minLength > 0 ? ['not empty'] : []),
  ];
}

function errorOf(issue: Issue, data: unknown, schema: JsonSchema, source: string): ReverieError {
  if (issue.code === 'unrecognized_keys') {
    const key = issue.keys[0];
    const retired = retiredSetting(pathText([...issue.path, key]));
    if (retired !== undefined) return reverieError('SCENARIO_INVALID', { path: source, problem: retired });
    const known = knownKeys(schemasAt(schema, data, issue.path));
    const near = nearest(key, known) ?? '';
    return reverieError('UNKNOWN_KEY', {
      key: pathText([...issue.path, key]),
      where: source,
      nearest: pathText([...issue.path, near]),
    });
  }
  const nested = deepest(issue);
  if (nested !== undefined)
    return errorOf({ ...nested, path: [...issue.path, ...nested.path] } as Issue, data, schema, source);
  return reverieError('SCENARIO_INVALID', { path: source, problem: problemOf(issue, data, schema) });
}

/** Within a union, the issue of the option that got furthest, if one got past its first look. */
function deepest(issue: Issue): Issue | undefined {
  if (issue.code !== 'invalid_union') return undefined;
  const depth = ({ path, code }: Issue) => path.length + (code === 'unrecognized_keys' ? 1 : 0);
  const firsts = issue.errors.map((issues) => issues.find((i) => i.code === 'unrecognized_keys') ?? issues[0]);
  const [best] = firsts.toSorted((a, b) => depth(b) - depth(a));
  return best !== undefined && depth(best) > 0 ? best : undefined;
}

function problemOf(issue: Issue, data: unknown, schema: JsonSchema): string {
  const where = pathText(issue.path);
  const value = valueAt(data, issue.path);
  const expected = schemasAt(schema, data, issue.path).map(expectation).join(', or ');
  if (issue.code === 'custom') {
    return `"${where}" is ${value === undefined ? 'left at its default' : shown(value)}: ${issue.message}.`;
  }
  if (value === undefined) return `"${where}" is missing; expected ${expected || issue.message}.`;
  const retired = retiredSetting(where, value);
  if (retired !== undefined) return retired;
  // The pattern a text must match is said in words by its schema.
  const wanted = issue.code === 'invalid_format' ? issue.message : expected || issue.message;
  return `"${where}" is ${shown(value)}; expected ${wanted}.`;
}

function shown(value: unknown): string {
  const text = typeof value === 'number' ? String(value) : JSON.stringify(value);
  return text.length > 80 ? `${text.slice(0, 77)}...` : text;
}

function valueAt(data: unknown, path: Path): unknown {
  let value = data;
  for (const part of path) {
    if (value === null || typeof value !== 'object' || !Object.hasOwn(value, part)) return undefined;
    value = (value as Record<PropertyKey, unknown>)[part];
  }
  return value;
}

/** Every schema that speaks about `path`, where unions are narrowed to the options whose constants the data has. */
function schemasAt(root: JsonSchema, data: unknown, path: Path): JsonSchema[] {
  let here = narrowed(root, root, data);
  for (let depth = 0; depth < path.length; depth++) {
    const value = valueAt(data, path.slice(0, depth + 1));
    const last = depth === path.length - 1;
    const children = here.flatMap((schema) => child(schema, path[depth])).map((schema) => dereferenced(root, schema));
    here = children.flatMap((schema) => (last && !isRecord(value) ? [schema] : narrowed(root, schema, value)));
  }
  return here;
}

function narrowed(root: JsonSchema, schema: JsonSchema, data: unknown): JsonSchema[] {
  const here = dereferenced(root, schema);
  const options = here.oneOf ?? here.anyOf;
  if (options === undefined) return [here];
  const fitting = options.filter((option) => constantsAgree(option, data));
  return (fitting.length > 0 ? fitting : options).flatMap((option) => narrowed(root, option, data));
}

/** Schemas that contain themselves refer to `#/$defs/NAME`. */
function dereferenced(root: JsonSchema, schema: JsonSchema): JsonSchema {
  return schema.$ref === undefined ? schema : (root.$defs?.[schema.$ref.slice('#/$defs/'.length)] ?? schema);
}

function constantsAgree(option: JsonSchema, data: unknown): boolean {
  const constants = Object.entries(option.properties ?? {}).filter(([, property]) => property.const !== undefined);
  return (
    isRecord(data) &&
    constants.length > 0 &&
    constants.every(([key, property]) => (data[key] ?? property.default) === property.const)
  );
}

function child(schema: JsonSchema, part: PropertyKey): JsonSchema[] {
  if (typeof part === 'number') {
    const item = schema.prefixItems?.[part] ?? schema.items;
    return typeof item === 'object' ? [item] : [];
  }
  const property = schema.properties?.[String(part)] ?? schema.additionalProperties;
  return typeof property === 'object' ? [property] : [];
}

function knownKeys(schemas: readonly JsonSchema[]): string[] {
  return [...new Set(schemas.flatMap((schema) => Object.keys(schema.properties ?? {})))];
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
