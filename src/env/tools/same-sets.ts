// Equality of values in which lists that their schema declares as sets (`uniqueItems`) may be in any order.

import { canonicalJson, isJsonObject, type Json, type JsonObject } from '../../core/canonical-json.js';
import { pointerKeys } from '../state/state.js';

interface Schemas {
  /** Root for references. */
  readonly root: JsonObject;
  /** All schemas that apply to the value. */
  readonly all: readonly JsonObject[];
}

/** Schemas of the value at a JSON Pointer; by default of the root. */
export function schemasAt(root: JsonObject, pointer = ''): Schemas {
  const whole = { root, all: applicable(root, root) };
  return (pointerKeys(pointer) ?? []).reduce(within, whole);
}

export function isSameBut(a: Json, b: Json, schemas: Schemas): boolean {
  if (a === b) return true;
  if (Array.isArray(a) && Array.isArray(b)) {
    if (a.length !== b.length) return false;
    const isSet = schemas.all.some(({ uniqueItems }) => uniqueItems === true);
    if (!isSet) return a.every((part, i) => isSameBut(part, b[i], within(schemas, String(i))));
    const left: Json[] = [...b];
    return a.every((part) => {
      const at = left.findIndex((other) => isSameBut(part, other, within(schemas, '0')));
      if (at >= 0) left.splice(at, 1);
      return at >= 0;
    });
  }
  if (isJsonObject(a) && isJsonObject(b)) {
    const keys = Object.keys(a);
    const isOfSameKeys = keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key));
    return isOfSameKeys && keys.every((key) => isSameBut(a[key], b[key], within(schemas, key)));
  }
  return canonicalJson(a) === canonicalJson(b);
}

function within({ root, all }: Schemas, key: string): Schemas {
  const parts = all.flatMap(({ properties, patternProperties, additionalProperties, items, prefixItems }) => {
    const named = isObject(properties) && Object.hasOwn(properties, key) ? [properties[key]] : [];
    const matched = Object.entries(isObject(patternProperties) ? patternProperties : {}).flatMap(([pattern, schema]) =>
      new RegExp(pattern, 'u').test(key) ? [schema] : [],
    );
    const known = [...named, ...matched];
    const listed = /^\d+$/.test(key) && Array.isArray(prefixItems) ? [prefixItems[Number(key)] ?? items] : [items];
    return [...(known.length > 0 ? known : [additionalProperties]), ...listed];
  });
  return { root, all: parts.flatMap((part) => applicable(part, root)) };
}

/** A schema with its references and parts. */
function applicable(schema: Json | undefined, root: JsonObject, depth = 0): JsonObject[] {
  if (!isObject(schema) || depth > 16) return [];
  const { $ref, allOf, anyOf, oneOf } = schema;
  const referred = typeof $ref === 'string' && $ref.startsWith('#') ? [referredBy($ref, root)] : [];
  const made = [allOf, anyOf, oneOf].flatMap((list) => (Array.isArray(list) ? list : []));
  return [schema, ...[...referred, ...made].flatMap((part) => applicable(part, root, depth + 1))];
}

function referredBy(reference: string, root: JsonObject): Json | undefined {
  let found: Json | undefined = root;
  for (const key of pointerKeys(decodeURIComponent(reference.slice(1))) ?? [])
    found = isObject(found) && Object.hasOwn(found, key) ? found[key] : undefined;
  return found;
}

function isObject(value: Json | undefined): value is JsonObject {
  return value !== undefined && isJsonObject(value);
}
