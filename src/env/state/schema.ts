// Checks values against JSON Schemas that come with a domain: a state, or the arguments of a call.

import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { nearest, reverieError } from '../../core/errors.js';
import type { Json, JsonObject } from '../../core/json.js';

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

function compiled(schema: JsonObject, what: string): ValidateFunction {
  const isDraft7 = typeof schema.$schema === 'string' && schema.$schema.includes('draft-07');
  const Draft = isDraft7 ? Ajv : Ajv2020;
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
