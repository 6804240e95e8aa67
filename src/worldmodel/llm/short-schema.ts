// A schema of a state cut to the parts that a prompt is about.

import { isJsonObject, type Json, type JsonObject } from '../../core/json.js';

/** What says more about values than their kinds, where it is no name of a property. */
const DETAILS = new Set(['description', 'pattern', 'title', 'minimum', 'maximum', 'additionalProperties', 'required']);

/** Names of its properties. */
export function partsOf(schema: JsonObject): string[] {
  return Object.keys(objectOf(schema.properties));
}

/** The schema with the properties in `kept` alone and the definitions they use: once with all details, once without. */
export function schemaForms(schema: JsonObject, kept: ReadonlySet<string>): JsonObject[] {
  const { $defs, properties } = schema;
  const entries = Object.entries(objectOf(properties)).filter(([key]) => kept.has(key));
  const cut: JsonObject = { type: 'object', properties: Object.fromEntries(entries) };
  const used = definitionsOf(cut, objectOf($defs));
  const whole = used.length === 0 ? cut : { ...cut, $defs: Object.fromEntries(used) };
  return [whole, withoutDetails(whole) as JsonObject];
}

/** Those that `form` names, and those that these name, in their order. */
function definitionsOf(form: JsonObject, all: JsonObject): [string, Json][] {
  const used = new Set<string>();
  const open = namedIn(form);
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    if (used.has(name) || !Object.hasOwn(all, name)) continue;
    used.add(name);
    open.push(...namedIn(all[name]));
  }
  return Object.entries(all).filter(([name]) => used.has(name));
}

function namedIn(value: Json): string[] {
  return [...JSON.stringify(value).matchAll(/"\$ref":"#\/\$defs\/([^"]+)"/g)].map(([, name]) => name);
}

function withoutDetails(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map(withoutDetails);
  if (typeof schema !== 'object' || schema === null) return schema;
  // A detail that is itself a schema is the name of a property; a list of required ones is none.
  const kept = Object.entries(schema).filter(
    ([key, part]) => !DETAILS.has(key) || (isJsonObject(part) && !isEmpty(part)),
  );
  return Object.fromEntries(kept.map(([key, part]) => [key, withoutDetails(part)]));
}

function objectOf(value: Json | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}

function isEmpty(value: JsonObject): boolean {
  return Object.keys(value).length === 0;
}
