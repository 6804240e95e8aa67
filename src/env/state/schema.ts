// Checks values against JSON Schemas that come with a domain: a state, or the arguments of a call.

import type { Ajv, ErrorObject, ValidateFunction } from 'ajv';
import type { Ajv2020 } from 'ajv/dist/2020.js';
import { LRUCache } from 'lru-cache';
import type { Json, JsonObject } from '../../core/canonical-json.js';
import { nearest, reverieError } from '../../core/errors.js';
import { ajvDraft7, ajvDraft2020 } from '../../core/packs.js';

export type SchemaCheck = (value: Json) => readonly string[];

const MAX_PROBLEMS = 5;

/**
 * A check that answers what is wrong with a value, one sentence a fault (at most five); empty if it fits.
 * @throws SCHEMA_INVALID if `schema` itself is no JSON Schema
 */
export function compileSchema(schema: JsonObject, what: string): SchemaCheck {
  const validate = compiled(schema, what);
  return (value) => (validate(value) ? [] : (validate.errors ?? []).slice(0, MAX_PROBLEMS).map(sentence));
}

const OPTIONS = { allErrors: true, verbose: true, strict: false, validateFormats: false, logger: false as const };
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
    const known = nearest(key, Object.keys((parentSchema?.properties as object | undefined) ?? {}));
    return `${where} has an unknown key "${key}"${known === undefined ? '' : ` (did you mean "${known}"?)`}`;
  }
  if (keyword === 'enum') return `${where} must be one of ${JSON.stringify(params.allowedValues)}`;
  return `${where} ${message ?? 'does not fit its schema'}`;
}
