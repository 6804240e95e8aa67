// What of a JSON Schema can be written under: references are followed, what says several things at once is put together, and whatever
// would let a text through that the schema does not allow is refused, by its place.

import { z } from 'zod';
import { reverieError } from '../../../core/errors.js';
import type { Json, JsonObject } from '../../../core/json.js';

export const TYPES = ['object', 'array', 'string', 'number', 'integer', 'boolean', 'null'] as const;
export type TypeName = (typeof TYPES)[number];

const count = z.int().min(0).optional();
const bound = z.number().optional();
const schemas = z.array(z.unknown()).min(1).optional();
const nodeSchema = z.looseObject({
  type: z.union([z.enum(TYPES), z.array(z.enum(TYPES)).min(1)], { error: `not one of ${TYPES.join(', ')}` }).optional(),
  enum: z.array(z.unknown()).optional(),
  ...{ $ref: z.string().optional(), anyOf: schemas, oneOf: schemas, allOf: schemas },
  properties: z.record(z.string(), z.unknown()).optional(),
  required: z.array(z.string()).optional(),
  ...{ minItems: count, maxItems: count, minLength: count, maxLength: count },
  ...{ pattern: z.string().optional(), format: z.string().optional() },
  ...{ minimum: bound, maximum: bound, exclusiveMinimum: bound, exclusiveMaximum: bound },
});
export type SchemaNode = Readonly<z.infer<typeof nodeSchema>>;

/** Keywords that say what a value may be, and are not understood here; all others that are not understood are remarks. */
const REFUSED = [
  ...['not', 'if', 'then', 'else', 'dependentRequired', 'dependentSchemas', 'dependencies', 'patternProperties'],
  ...['propertyNames', 'minProperties', 'contains', 'minContains', 'maxContains', 'prefixItems', 'additionalItems'],
  ...['multipleOf', '$dynamicRef', '$recursiveRef', 'maxProperties'],
];
/** Keywords beside `enum` or `const` that need not be looked at, as values are picked by their type. */
const BESIDE_VALUES = ['type', 'enum', 'const'];
/** Keywords that are understood and say what a value may be. */
const UNDERSTOOD = [
  ...['type', 'enum', 'const', 'anyOf', 'oneOf', 'allOf', '$ref', 'properties', 'required', 'items', 'minItems'],
  ...['maxItems', 'uniqueItems', 'minLength', 'maxLength', 'pattern', 'format', 'minimum', 'maximum'],
  ...['exclusiveMinimum', 'exclusiveMaximum', 'additionalProperties', 'unevaluatedProperties', 'unevaluatedItems'],
];

/** A place in a schema, and which references led there. */
export interface Place {
  readonly schema: SchemaNode;
  /** A JSON Pointer, for messages. */
  readonly at: string;
  readonly refs: readonly string[];
}

export class SchemaReading {
  /** @param what whose schema it is, for messages */
  constructor(
    private readonly root: JsonObject,
    private readonly what: string,
  ) {}

  /** The whole. */
  whole(): Place {
    return this.place(this.root, '#', []);
  }

  /** @throws DECODER_SCHEMA_UNSUPPORTED always */
  refuse({ at }: Pick<Place, 'at'>, problem: string): never {
    throw reverieError('DECODER_SCHEMA_UNSUPPORTED', { what: this.what, at, problem });
  }

  /** What stands at a key of a place, such as `properties/name`. */
  below(place: Place, path: string, schema: unknown): Place {
    return this.place(schema, `${place.at}/${path}`, place.refs);
  }

  /**
   * The ways a value may be, none of which leads further by `$ref`, `anyOf`, `oneOf` or `allOf`.
   * @throws DECODER_SCHEMA_UNSUPPORTED
   */
  ways(place: Place): Place[] {
    const { schema } = place;
    const unknown = REFUSED.find((key) => key in schema);
    if (unknown !== undefined) this.refuse(place, `has "${unknown}", which is not supported`);
    if (schema.uniqueItems === true && (schema.maxItems ?? 2) > 1)
      this.refuse(place, 'has "uniqueItems", which is not supported');
    const { $ref, anyOf, oneOf, allOf, ...rest } = schema;
    if ($ref !== undefined)
      return this.ways(this.merged({ ...place, schema: without(schema, '$ref') }, this.target(place)));
    if (allOf !== undefined) {
      const parts = this.list(place, 'allOf');
      const base: Place = { ...place, schema: without(schema, 'allOf') };
      return this.ways(parts.reduce((all, part) => this.merged(all, part), base));
    }
    if (anyOf === undefined && oneOf === undefined) return [place];
    if (anyOf !== undefined && oneOf !== undefined) this.refuse(place, 'has both "anyOf" and "oneOf"');
    const base: Place = { ...place, schema: rest };
    const kinds = this.list(place, anyOf === undefined ? 'oneOf' : 'anyOf').map((part) =>
      this.ways(part).flatMap((way) => this.ways(this.merged(base, way))),
    );
    if (oneOf !== undefined) this.requireApart(place, kinds);
    return kinds.flat();
  }

  /** Types of a value; all where nothing is said. */
  types({ schema: { type } }: Place): readonly TypeName[] {
    if (type === undefined) return TYPES;
    return Array.isArray(type) ? type : [type];
  }

  /** Values that are listed, by `const` or `enum`, of the types; undefined where none are. */
  values(place: Place): readonly Json[] | undefined {
    const { schema } = place;
    const listed = 'const' in schema ? [schema.const as Json] : (schema.enum as readonly Json[] | undefined);
    if (listed === undefined) return undefined;
    const other = UNDERSTOOD.find((key) => key in schema && !BESIDE_VALUES.includes(key));
    if (other !== undefined) this.refuse(place, `lists values and has "${other}" beside them`);
    const among = 'const' in schema ? (schema.enum as readonly Json[] | undefined) : undefined;
    const types = this.types(place);
    return listed.filter(
      (value) => typesOf(value).some((type) => types.includes(type)) && (among === undefined || isAmong(value, among)),
    );
  }

  private place(schema: unknown, at: string, refs: readonly string[]): Place {
    if (schema === true) return { schema: {}, at, refs };
    if (schema === false) this.refuse({ at }, 'allows nothing');
    const read = nodeSchema.safeParse(schema);
    if (read.success) return { schema: read.data, at, refs };
    const [{ path, message }] = read.error.issues;
    return this.refuse({ at: [at, ...path].join('/') }, `is no schema: ${message}`);
  }

  private list(place: Place, key: 'anyOf' | 'oneOf' | 'allOf'): Place[] {
    return place.schema[key]!.map((part, i) => this.below(place, `${key}/${i}`, part));
  }

  /** What a reference within the schema names. */
  private target(place: Place): Place {
    const ref = String(place.schema.$ref);
    if (ref !== '#' && !ref.startsWith('#/')) this.refuse(place, `refers to "${ref}", which is not within the schema`);
    if (place.refs.includes(ref)) this.refuse(place, `refers to "${ref}", which contains itself`);
    const keys = ref.split('/').slice(1);
    let found: unknown = this.root;
    for (const key of keys.map((part) => decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~')))
      found =
        typeof found === 'object' && found !== null && Object.hasOwn(found, key)
          ? (found as SchemaNode)[key]
          : undefined;
    if (found === undefined) this.refuse(place, `refers to "${ref}", which is not there`);
    return this.place(found, ref, [...place.refs, ref]);
  }

  /** What holds where both do. @throws DECODER_SCHEMA_UNSUPPORTED where they speak of one thing in two ways */
  private merged(a: Place, b: Place): Place {
    const out: Record<string, unknown> = { ...a.schema };
    for (const [key, value] of Object.entries(b.schema)) {
      const mine = out[key];
      if (mine === undefined || !isAssertion(key) || JSON.stringify(mine) === JSON.stringify(value)) out[key] = value;
      else if (key === 'required') out[key] = [...new Set([...(mine as string[]), ...(value as string[])])];
      else if (key === 'properties' && areApart(mine as SchemaNode, value as SchemaNode))
        out[key] = { ...(mine as SchemaNode), ...(value as SchemaNode) };
      else this.refuse(b, `says something else of "${key}" than ${a.at}`);
    }
    if (
      [a, b].some(
        ({ schema }, i) =>
          isClosed(schema) &&
          ownKeys([b, a][i].schema).some((key) => !(key in ((schema.properties as object | undefined) ?? {}))),
      )
    )
      this.refuse(b, `and ${a.at} have properties that one of them closes out by "additionalProperties"`);
    return { schema: out, at: b.at, refs: [...new Set([...a.refs, ...b.refs])] };
  }

  /** `oneOf` is `anyOf` only if no value can be of two kinds. */
  private requireApart(place: Place, kinds: readonly (readonly Place[])[]): void {
    const clash = kinds.some((some, i) =>
      kinds.slice(i + 1).some((others) => some.some((a) => others.some((b) => !this.isApart(a, b)))),
    );
    if (clash)
      this.refuse(place, 'has a "oneOf" of schemas that are not told apart by type or by values (use "anyOf")');
  }

  private isApart(a: Place, b: Place): boolean {
    const [mine, theirs] = [a, b].map((place) => this.values(place));
    if (mine !== undefined && theirs !== undefined) return !mine.some((value) => isAmong(value, theirs));
    const typesIn = (place: Place, values: readonly Json[] | undefined) =>
      values?.flatMap(typesOf) ?? this.types(place);
    const types = typesIn(a, mine).flatMap((type) => (type === 'integer' ? ['integer', 'number'] : [type]));
    const others = typesIn(b, theirs).flatMap((type) => (type === 'integer' ? ['integer', 'number'] : [type]));
    const shared = types.filter((type) => others.includes(type));
    return shared.every((type) => type === 'object' && this.hasOwnMark(a, b));
  }

  /** Whether a property that both need has different values in them. */
  private hasOwnMark(a: Place, b: Place): boolean {
    const needed = (a.schema.required as string[] | undefined) ?? [];
    const shared = needed.filter((key) => ((b.schema.required as string[] | undefined) ?? []).includes(key));
    return shared.some((key) => {
      const [mine, theirs] = [a, b].map((place) => {
        const property = (place.schema.properties as SchemaNode | undefined)?.[key];
        return property === undefined ? undefined : this.values(this.below(place, `properties/${key}`, property));
      });
      return mine !== undefined && theirs !== undefined && !mine.some((value) => isAmong(value, theirs));
    });
  }
}

function without(schema: SchemaNode, key: string): SchemaNode {
  return Object.fromEntries(Object.entries(schema).filter(([name]) => name !== key));
}

function isAssertion(key: string): boolean {
  return UNDERSTOOD.includes(key) || REFUSED.includes(key);
}

function ownKeys({ properties = {} }: SchemaNode): string[] {
  return Object.keys(properties as object);
}

function areApart(a: SchemaNode, b: SchemaNode): boolean {
  return Object.keys(b).every((key) => !(key in a) || JSON.stringify(a[key]) === JSON.stringify(b[key]));
}

function isClosed({ additionalProperties, unevaluatedProperties }: SchemaNode): boolean {
  return [additionalProperties, unevaluatedProperties].some((say) => say !== undefined && say !== true);
}

function isAmong(value: Json, values: readonly Json[]): boolean {
  return values.some((one) => JSON.stringify(one) === JSON.stringify(value));
}

function typesOf(value: Json): readonly TypeName[] {
  if (value === null) return ['null'];
  if (Array.isArray(value)) return ['array'];
  if (typeof value === 'number') return Number.isInteger(value) ? ['integer', 'number'] : ['number'];
  return [typeof value as 'string' | 'boolean' | 'object'];
}
