// The shape of a τ-bench database, said once: from it come the JSON Schemas of states and arguments, the order of keys
// and the spelling of numbers in what tools answer.

import type { JsonObject } from 'reverie/extend';

/** `decimal` is a float in τ-bench (written 10.0), `integer` an int; both are numbers in JSON. */
export type DataModel =
  | { readonly kind: 'text'; readonly values?: readonly string[]; readonly about?: string }
  | { readonly kind: 'integer'; readonly about?: string }
  | { readonly kind: 'decimal'; readonly about?: string }
  | { readonly kind: 'flag'; readonly about?: string }
  | { readonly kind: 'list'; readonly of: DataModel; readonly about?: string }
  | { readonly kind: 'map'; readonly of: DataModel; readonly about?: string }
  | RecordModel
  | { readonly kind: 'union'; readonly by: string; readonly of: Readonly<Record<string, RecordModel>> };

export interface RecordModel {
  readonly kind: 'record';
  /** In the order in which the successor's tools write them. */
  readonly fields: Readonly<Record<string, DataModel>>;
  /** May be missing from a record; the successor's tools then write null. */
  readonly optional: readonly string[];
}

export function text(about?: string): DataModel {
  return { kind: 'text', about };
}

export function oneOf(...values: readonly string[]): DataModel {
  return { kind: 'text', values };
}

export function integer(about?: string): DataModel {
  return { kind: 'integer', about };
}

export function decimal(about?: string): DataModel {
  return { kind: 'decimal', about };
}

export function listOf(of: DataModel, about?: string): DataModel {
  return { kind: 'list', of, about };
}

export function mapOf(of: DataModel): DataModel {
  return { kind: 'map', of };
}

export function record(
  fields: Readonly<Record<string, DataModel>>,
  optional: Readonly<Record<string, DataModel>> = {},
): RecordModel {
  return { kind: 'record', fields: { ...fields, ...optional }, optional: Object.keys(optional) };
}

/** Records that differ by the value of one field. */
export function unionBy(by: string, of: Readonly<Record<string, RecordModel>>): DataModel {
  return { kind: 'union', by, of };
}

/** JSON Schema of a model. A `closed` record takes no other keys: a state is closed, arguments are open. */
export function schemaOf(model: DataModel, closed: boolean): JsonObject {
  if (model.kind === 'record') return recordSchema(model, closed);
  if (model.kind === 'union') return { anyOf: Object.values(model.of).map((part) => schemaOf(part, closed)) };
  const described: JsonObject = model.about === undefined ? {} : { description: model.about };
  switch (model.kind) {
    case 'text':
      return { type: 'string', ...(model.values === undefined ? {} : { enum: model.values }), ...described };
    case 'list':
      return { type: 'array', items: schemaOf(model.of, closed), ...described };
    case 'map':
      return { type: 'object', additionalProperties: schemaOf(model.of, closed), ...described };
    default:
      return { type: { integer: 'integer', decimal: 'number', flag: 'boolean' }[model.kind], ...described };
  }
}

function recordSchema({ fields, optional }: RecordModel, closed: boolean): JsonObject {
  const required = Object.keys(fields).filter((name) => !optional.includes(name));
  const properties = Object.fromEntries(Object.entries(fields).map(([name, part]) => [name, schemaOf(part, closed)]));
  return { type: 'object', properties, required, ...(closed ? { additionalProperties: false } : {}) };
}
