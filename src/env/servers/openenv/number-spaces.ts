// Actions and observations of a server of OpenEnv as rows of numbers: which servers have them, and how a row is written there.

import { isJsonObject, type Json, type JsonObject } from '../../../core/canonical-json.js';
import type { BoxSpace, VectorSpace } from '../../../core/environment.js';

/** How an action of numbers is sent. */
export interface NumberActions {
  readonly space: VectorSpace;
  encode(row: Float32Array): JsonObject;
}

/** Keys of every observation that are not what is seen. */
const BESIDE = ['done', 'reward', 'metadata', 'ended', 'evaluation', 'instructions'];

/** Actions with one field, a list of numbers or one of several integers; else why they are no numbers. */
export function numberActions(schema: JsonObject): NumberActions | string {
  const { metadata: _, ...own } = (schema['properties'] ?? {}) as Record<string, JsonObject>;
  const [[key, field] = [], ...others] = Object.entries(own);
  if (key === undefined || field === undefined || others.length > 0) {
    return `actions have the fields ${Object.keys(own).join(', ') || 'none'}, and not one alone`;
  }
  if (field['type'] === 'array') {
    const space = boxOf(field);
    if (space === undefined) return `"${key}" is a list whose length its schema does not tell`;
    return { space, encode: (row) => ({ [key]: Array.from(row) }) };
  }
  const space = choiceOf(field);
  if (space === undefined) return `"${key}" is neither a list of numbers nor an integer within bounds`;
  return { space, encode: ([choice]) => ({ [key]: choice }) };
}

/** The space of observations that look like this one: bounds where the schema tells them for its one list. */
export function observedSpace(schema: JsonObject, first: readonly number[]): BoxSpace {
  const fields = Object.entries((schema['properties'] ?? {}) as Record<string, JsonObject>);
  const seen = fields.filter(([key]) => !BESIDE.includes(key));
  const told = seen.length === 1 ? boxOf(seen[0][1]) : undefined;
  if (told !== undefined && told.low.length === first.length) return told;
  return { type: 'box', shape: [first.length], low: first.map(() => null), high: first.map(() => null) };
}

/** All numbers of an observation, in the order of its keys; truth values count as 0 and 1. Else what is no number. */
export function observedNumbers(observation: JsonObject): number[] | string {
  const numbers: number[] = [];
  for (const [key, value] of Object.entries(observation)) {
    if (BESIDE.includes(key) || value === null) continue;
    const stray = numbersIn(value, numbers);
    if (stray !== undefined) return `"${key}" holds ${JSON.stringify(stray).slice(0, 80)}`;
  }
  return numbers.length === 0 ? 'it holds no number at all' : numbers;
}

/** Adds them to `found`; answers what is none. */
function numbersIn(value: Json, found: number[]): Json | undefined {
  if (typeof value === 'number') found.push(value);
  else if (typeof value === 'boolean') found.push(value ? 1 : 0);
  else if (Array.isArray(value) || isJsonObject(value)) {
    for (const part of Object.values(value)) {
      const stray = numbersIn(part as Json, found);
      if (stray !== undefined) return stray;
    }
  } else return value;
  return undefined;
}

/** Bounds an element (`low`, `high`) are those of our own servers; JSON Schema has one for all. */
function boxOf(field: JsonObject): BoxSpace | undefined {
  const { items, minItems, maxItems, low, high, shape } = field;
  const { minimum = null, maximum = null } = (items ?? {}) as Record<string, number | null>;
  const lows = low as readonly (number | null)[] | undefined;
  const size = lows?.length ?? (minItems === maxItems && typeof minItems === 'number' ? minItems : undefined);
  if (size === undefined) return undefined;
  const filled = (bound: number | null) => Array.from({ length: size }, () => bound);
  return {
    type: 'box',
    shape: (shape as readonly number[] | undefined) ?? [size],
    low: lows ?? filled(minimum),
    high: (high as readonly (number | null)[] | undefined) ?? filled(maximum),
  };
}

function choiceOf({ type, minimum, maximum, enum: values }: JsonObject): VectorSpace | undefined {
  if (type !== 'integer') return undefined;
  const isRun = Array.isArray(values) && values.every((value, i) => value === Number(values[0]) + i);
  if (isRun) return { type: 'discrete', start: Number(values[0]), n: values.length };
  if (typeof minimum !== 'number' || typeof maximum !== 'number') return undefined;
  return { type: 'discrete', start: minimum, n: maximum - minimum + 1 };
}
