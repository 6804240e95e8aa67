// Values that fit a JSON Schema, drawn at random: for actions and arguments of tools.

import type { Json, JsonObject } from '../../json.js';
import type { Rng } from '../../rng.js';

const WORDS = ['look', 'help', 'wait', '1', 'A-1', 'north', 'yes'];
const SPAN = 1;

/** Reaches far enough for action schemas; what a schema says in other words (patterns, conditions) is not looked at. */
export function sampleJson(schema: JsonObject, rng: Rng): Json {
  const { const: only, enum: values, type, anyOf, oneOf, default: standard } = schema;
  if (only !== undefined) return only;
  if (Array.isArray(values)) return values[rng.int(values.length)];
  const options = (anyOf ?? oneOf) as JsonObject[] | undefined;
  if (options !== undefined) return sampleJson(options.find((option) => option['type'] !== 'null') ?? {}, rng);
  const kind = Array.isArray(type) ? type[0] : type;
  if (kind === 'object') return sampleObject(schema, rng);
  if (kind === 'array') return sampleList(schema, rng);
  if (kind === 'integer') return Math.floor(sampleNumber(schema, rng, 10));
  if (kind === 'number') return sampleNumber(schema, rng, SPAN);
  if (kind === 'boolean') return rng.int(2) === 1;
  if (kind === 'string') return WORDS[rng.int(WORDS.length)];
  return standard ?? null;
}

/** Required properties alone: others may exclude each other. */
function sampleObject(schema: JsonObject, rng: Rng): JsonObject {
  const properties = (schema['properties'] ?? {}) as Record<string, JsonObject>;
  const required = (schema['required'] ?? []) as string[];
  return Object.fromEntries(required.map((key) => [key, sampleJson(properties[key] ?? {}, rng)]));
}

/** Bounds an element (`low`, `high`) are ours to tell: JSON Schema has none. */
function sampleList({ items = {}, minItems = 1, low, high }: JsonObject, rng: Rng): Json[] {
  const size = Math.max(1, Number(minItems));
  return Array.from({ length: size }, (_, i) => {
    const minimum = (low as (number | null)[] | undefined)?.[i];
    const maximum = (high as (number | null)[] | undefined)?.[i];
    const bounds = { ...(minimum == null ? {} : { minimum }), ...(maximum == null ? {} : { maximum }) };
    return sampleJson({ ...(items as JsonObject), ...bounds }, rng);
  });
}

function sampleNumber({ minimum, maximum }: JsonObject, rng: Rng, span: number): number {
  const low = typeof minimum === 'number' ? minimum : typeof maximum === 'number' ? maximum - span : -span;
  const high = typeof maximum === 'number' ? maximum : low + 2 * span;
  const isWhole = span > SPAN;
  return isWhole ? low + rng.int(Math.max(1, high - low + 1)) : low + rng.uniform() * (high - low);
}
