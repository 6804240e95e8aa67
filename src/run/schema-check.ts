// Checks data against a zod schema and turns the first thing wrong into one catalogue error that names the key's path,
// the value seen and what was expected.

import type { z } from 'zod';
import { nameHint, type ReverieError, reverieError } from '../core/errors.js';
import { retiredSetting } from './retired-settings.js';

type Path = readonly PropertyKey[];
type Issue = z.core.$ZodIssue;

/**
 * `data` parsed, defaults filled in.
 * @param source what the data is, for messages: a file or a flag
 * @throws UNKNOWN_KEY naming the nearest known key, or SCENARIO_INVALID naming path, value and what is expected
 */
export function checkAgainst<S extends z.ZodType>(schema: S, data: unknown, source: string): z.output<S> {
  const result = schema.safeParse(data, { error: knownKeys });
  if (result.success) return result.data;
  throw errorOf(likeliest(result.error.issues), data, source);
}

/** The message of an unknown key is the keys that its object has, which no issue says. */
const knownKeys: z.core.$ZodErrorMap = (issue) => {
  if (issue.code !== 'unrecognized_keys') return undefined;
  const { shape = {} } = (issue.inst as z.core.$ZodObject)._zod.def;
  return Object.keys(shape).join(' ');
};

/** An unknown key is most often the cause of whatever else is missing, so it is told first. */
function likeliest(issues: readonly Issue[]): Issue {
  return issues.find(({ code }) => code === 'unrecognized_keys') ?? issues[0];
}

function errorOf(issue: Issue, data: unknown, source: string): ReverieError {
  if (issue.code === 'unrecognized_keys') {
    const [own] = issue.keys;
    const key = pathText([...issue.path, own]);
    const retired = retiredSetting(key);
    if (retired !== undefined) return reverieError('SCENARIO_INVALID', { path: source, problem: retired });
    const hint = nameHint(own, issue.message.split(' '), key.slice(0, key.length - own.length));
    return reverieError('UNKNOWN_KEY', { key, where: source, hint });
  }
  const nested = deepest(issue);
  if (nested !== undefined) return errorOf({ ...nested, path: [...issue.path, ...nested.path] } as Issue, data, source);
  return reverieError('SCENARIO_INVALID', { path: source, problem: problemOf(issue, data) });
}

/** Within a union, the issue of the option that got furthest, if one got past its first look. */
function deepest(issue: Issue): Issue | undefined {
  if (issue.code !== 'invalid_union') return undefined;
  const depth = ({ path, code }: Issue) => path.length + (code === 'unrecognized_keys' ? 1 : 0);
  const [best] = issue.errors.map(likeliest).toSorted((a, b) => depth(b) - depth(a));
  return best !== undefined && depth(best) > 0 ? best : undefined;
}

function problemOf(issue: Issue, data: unknown): string {
  const where = pathText(issue.path, 'the file');
  const value = valueAt(data, issue.path);
  if (issue.code === 'custom')
    return `"${where}" is ${value === undefined ? 'left at its default' : shown(value)}: ${issue.message}.`;
  if (value === undefined) return `"${where}" is missing; expected ${expectation(issue)}.`;
  return retiredSetting(where, value) ?? `"${where}" is ${shown(value)}; expected ${expectation(issue)}.`;
}

/** What would have been accepted, in words: `integer`, `at least 1`, `one of "a", "b"`. */
function expectation(issue: Issue): string {
  switch (issue.code) {
    case 'invalid_type':
      return issue.expected === 'int' ? 'integer' : issue.expected;
    case 'too_small':
      if (issue.origin === 'string' && issue.minimum === 1) return 'a text that is not empty';
      return `${issue.inclusive === false ? 'above' : 'at least'} ${counted(issue.minimum, issue.origin)}`;
    case 'too_big':
      return `${issue.inclusive === false ? 'below' : 'at most'} ${counted(issue.maximum, issue.origin)}`;
    case 'invalid_value':
      return oneOf(issue.values);
    case 'invalid_union':
      if ('options' in issue && issue.options !== undefined) return oneOf(issue.options);
      return [...new Set(issue.errors.map((issues) => expectation(likeliest(issues))))].join(', or ');
    default:
      return issue.message;
  }
}

function counted(number: number | bigint, origin: string): string {
  const things = { string: ' character', array: ' element' }[origin];
  return things === undefined ? String(number) : `${number}${things}${Number(number) === 1 ? '' : 's'}`;
}

function oneOf(values: readonly unknown[]): string {
  return `${values.length > 1 ? 'one of ' : ''}${values.map((value) => JSON.stringify(value)).join(', ')}`;
}

/** `a.b[2].c`, or `fallback` for the empty path. */
function pathText(path: Path, fallback = ''): string {
  const text = path.map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`)).join('');
  return text.replace(/^\./, '') || fallback;
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
