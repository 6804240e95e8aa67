// Nested columns as Parquet: texts, numbers, bytes, lists and structs within one another, every level nullable. Lists are the
// three-level LIST that pyarrow, DuckDB and `datasets` read.

import { ByteWriter, ParquetWriter, type SchemaElement } from 'hyparquet-writer';
import type { JsonObject } from '../../../core/canonical-json.js';

export type NestedType =
  | 'text'
  | 'integer'
  | 'double'
  | 'boolean'
  /** In a row they are a text in base64. */
  | 'bytes'
  | { readonly list: NestedType }
  | { readonly struct: NestedColumns };

export interface NestedColumns {
  readonly [name: string]: NestedType;
}

const PHYSICAL = {
  text: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
  integer: { type: 'INT64' },
  double: { type: 'DOUBLE' },
  boolean: { type: 'BOOLEAN' },
  bytes: { type: 'BYTE_ARRAY' },
} as const;

/** Writes row groups; the bytes of each are given back, so that no file need be in memory whole. */
export class NestedParquet {
  private readonly writer = new ByteWriter();
  private readonly file: ParquetWriter;

  constructor(private readonly columns: NestedColumns) {
    const root: SchemaElement = { name: 'root', num_children: Object.keys(columns).length };
    const schema = [root, ...Object.entries(columns).flatMap(([name, type]) => elementsOf(name, type))];
    this.file = new ParquetWriter({ writer: this.writer, schema, createdBy: 'reverie' });
  }

  rowGroup(rows: readonly JsonObject[]): Uint8Array {
    const columnData = Object.entries(this.columns).map(([name, type]) => ({
      name,
      data: rows.map((row) => encoded(type, row[name])),
    }));
    if (rows.length > 0) this.file.write({ columnData, rowGroupSize: rows.length });
    return this.drain();
  }

  end(): Uint8Array {
    this.file.finish();
    return this.drain();
  }

  /** `index` is the writer's place in its buffer, `offset` its place in the file: only the first begins anew. */
  private drain(): Uint8Array {
    const piece = this.writer.getBytes().slice();
    this.writer.index = 0;
    return piece;
  }
}

function elementsOf(name: string, type: NestedType): SchemaElement[] {
  if (typeof type === 'string') return [{ name, repetition_type: 'OPTIONAL', ...PHYSICAL[type] }];
  if ('list' in type) {
    return [
      { name, repetition_type: 'OPTIONAL', converted_type: 'LIST', num_children: 1 },
      { name: 'list', repetition_type: 'REPEATED', num_children: 1 },
      ...elementsOf('element', type.list),
    ];
  }
  const fields = Object.entries(type.struct);
  const group: SchemaElement = { name, repetition_type: 'OPTIONAL', num_children: fields.length };
  return [group, ...fields.flatMap(([field, inner]) => elementsOf(field, inner))];
}

/** The value as the writer wants it: INT64 as bigint, what is absent as null. */
function encoded(type: NestedType, value: unknown): unknown {
  if (value === null || value === undefined) return null;
  if (type === 'integer') return BigInt(value as number);
  if (type === 'bytes') return Uint8Array.from(Buffer.from(value as string, 'base64'));
  if (typeof type === 'string') return value;
  if ('list' in type) return (value as unknown[]).map((part) => encoded(type.list, part));
  const fields = Object.entries(type.struct);
  return Object.fromEntries(fields.map(([name, inner]) => [name, encoded(inner, (value as JsonObject)[name])]));
}
