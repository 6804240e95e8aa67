// For any other schema: the smallest value that fits it, with texts that say so. Enough for replies that are only read.

import type { Json, JsonObject } from '../../src/core/canonical-json.js';
import { asList, asObject, asText } from './asked.js';

const TEXT =
  'The first choice does what was asked for and keeps to the policy; the other changes nothing that was asked for.';

export function smallestValue(schema: JsonObject, root: JsonObject = schema): Json {
  if (typeof schema.$ref === 'string') return smallestValue(referred(schema.$ref, root), root);
  if ('const' in schema) return schema.const;
  if (Array.isArray(schema.enum)) return schema.enum[0] as Json;
  const choices = asList(schema.anyOf ?? schema.oneOf);
  if (choices.length > 0) return smallestValue(choices[0], root);
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  switch (type) {
    case 'object':
      return objectOf(schema, root);
    case 'array':
      return Array.from({ length: Number(schema.minItems ?? 0) }, () => smallestValue(asObject(schema.items), root));
    case 'string':
      return typeof schema.maxLength === 'number' ? TEXT.slice(0, schema.maxLength) : TEXT;
    case 'integer':
    case 'number':
      return Number(schema.minimum ?? 0);
    case 'boolean':
      return true;
    default:
      return null;
  }
}

function objectOf({ properties }: JsonObject, root: JsonObject): JsonObject {
  const entries = Object.entries(asObject(properties)).map(([key, part]) => [key, smallestValue(asObject(part), root)]);
  return Object.fromEntries(entries);
}

function referred(reference: string, root: JsonObject): JsonObject {
  const path = asText(reference).split('/').slice(1);
  return asObject(path.reduce<Json>((part, key) => asObject(part)[key], root));
}
