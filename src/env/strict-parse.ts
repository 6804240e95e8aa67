// Data checked against a schema, with this project's errors: an unknown key names the nearest known one.

import { z } from 'zod';
import { nameHint, reverieError } from '../core/errors.js';

/** What we read of a zod schema's definition to list the keys at a path. */
interface SchemaNode {
  readonly def: {
    readonly type: string;
    readonly shape?: Record<string, SchemaNode>;
    readonly element?: SchemaNode;
    readonly items?: readonly SchemaNode[];
    readonly options?: readonly SchemaNode[];
    readonly innerType?: SchemaNode;
    readonly getter?: () => SchemaNode;
  };
}

/** The parsed value; throws UNKNOWN_KEY, or `invalid` (ENV_SPEC_INVALID) with the first problem and its path. */
export function parseStrictly<S extends z.ZodType>(
  schema: S,
  value: unknown,
  where: string,
  invalid?: (problem: string, place: readonly PropertyKey[]) => Error,
  /** The line of a place, shown after its keys. */
  lineOf: (place: readonly PropertyKey[]) => string = () => '',
): z.output<S> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  // Unknown keys first: they explain the other problems an object has.
  const { issues } = result.error;
  const issue = issues.find(({ code }) => code === 'unrecognized_keys') ?? issues[0];
  const path = [where, ...issue.path.map(String)].join('.');
  if (issue.code === 'unrecognized_keys') {
    const known = keysAt(schema as unknown as SchemaNode, issue.path);
    const [key] = issue.keys;
    const line = lineOf([...issue.path, key]);
    throw reverieError('UNKNOWN_KEY', { key, where: `${path}${line}`, hint: nameHint(key, known) });
  }
  if (invalid)
    throw invalid(issue.path.length > 0 ? `${issue.path.join('.')}: ${issue.message}` : issue.message, issue.path);
  throw reverieError('ENV_SPEC_INVALID', { problem: `${path}: ${issue.message}` });
}

function keysAt(schema: SchemaNode, path: readonly PropertyKey[]): string[] {
  let node = unwrapped(schema);
  for (const part of path) {
    const next = node.def.shape?.[String(part)] ?? node.def.items?.[Number(part)] ?? node.def.element;
    if (next === undefined) return [];
    node = unwrapped(next);
  }
  return (node.def.options ?? [node]).flatMap((option) => Object.keys(unwrapped(option).def.shape ?? {}));
}

function unwrapped(schema: SchemaNode): SchemaNode {
  let node = schema;
  for (;;) {
    const inner = node.def.innerType ?? node.def.getter?.();
    if (inner === undefined) return node;
    node = inner;
  }
}

/** Keys of all schemas, without defaults, which are each one's own. Two may mean different things by one key. */
export function keysOfAll(schemas: readonly (z.ZodObject | undefined)[]): Record<string, z.ZodType> {
  const keys: Record<string, z.ZodType> = {};
  const known = new Map<string, z.ZodType[]>();
  for (const [key, type] of schemas.flatMap((schema) => Object.entries(schema?.shape ?? {}))) {
    const bare = (type instanceof z.ZodDefault || type instanceof z.ZodOptional ? type.unwrap() : type) as z.ZodType;
    const types = [...new Set([...(known.get(key) ?? []), bare])];
    known.set(key, types);
    const either = types.length === 1 ? bare : z.union(types);
    keys[key] = either.optional().describe(type.description ?? bare.description ?? '');
  }
  return keys;
}
