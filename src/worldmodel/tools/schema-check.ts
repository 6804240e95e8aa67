// Schemas of a domain are compiled once.

import type { JsonObject } from '../../core/canonical-json.js';
import { compileSchema, type SchemaCheck } from '../../env/state/state.js';

const compiled = new WeakMap<JsonObject, SchemaCheck>();

/** As `compileSchema`; the same object is compiled once. Throws SCHEMA_INVALID. */
export function schemaCheckOf(schema: JsonObject, what: string): SchemaCheck {
  const check = compiled.get(schema) ?? compileSchema(schema, what);
  compiled.set(schema, check);
  return check;
}
