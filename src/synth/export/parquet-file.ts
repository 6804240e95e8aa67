// Parquet as bytes, one row group after another, so that no table need be in memory whole. Lists are the three-level LIST that
// pyarrow, pandas, DuckDB and `datasets` read.

import { ByteWriter, ParquetWriter, type SchemaElement } from 'hyparquet-writer';
import type { JsonObject } from '../../core/canonical-json.js';

/** `integer` is INT64, `float` FLOAT, `double` DOUBLE. All but `floats`, a list of FLOAT, and its values may be null. */
export type ColumnType =
  | keyof typeof PHYSICAL
  | 'floats'
  | { readonly list: ColumnType }
  | { readonly struct: ParquetColumns };

/** Name to type, in order. */
export interface ParquetColumns {
  readonly [name: string]: ColumnType;
}

const PHYSICAL = {
  text: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
  integer: { type: 'INT64' },
  float: { type: 'FLOAT' },
  double: { type: 'DOUBLE' },
  boolean: { type: 'BOOLEAN' },
} as const;

/** A file in pieces of bytes, in order: one for each row group, and the end. */
export class ParquetFile {
  private readonly writer = new ByteWriter();
  private readonly file: ParquetWriter;

  constructor(private readonly columns: ParquetColumns) {
    const root: SchemaElement = { name: 'root', num_children: Object.keys(columns).length };
    const schema = [root, ...Object.entries(columns).flatMap(([name, type]) => elementsOf(name, type))];
    this.file = new ParquetWriter({ writer: this.writer, schema, createdBy: 'reverie' });
  }

  /** A row group: the values of each column by its name, all of one length. */
  add(group: Readonly<Record<string, readonly unknown[]>>): Uint8Array {
    const columnData = Object.entries(this.columns).map(([name, type]) => ({
      name,
      data: group[name].map((value) => encoded(type, value)),
    }));
    this.file.write({ columnData, rowGroupSize: Math.max(1, columnData[0].data.length) });
    return this.drain();
  }

  /** A row group of rows that are JSON. */
  addRows(rows: readonly JsonObject[]): Uint8Array {
    const group = Object.keys(this.columns).map((name) => [name, rows.map((row) => row[name] ?? null)]);
    return this.add(Object.fromEntries(group));
  }

  finish(): Uint8Array {
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

function elementsOf(name: string, type: ColumnType): SchemaElement[] {
  if (type === 'floats')
    return listOf(name, 'REQUIRED', [{ name: 'element', repetition_type: 'REQUIRED', type: 'FLOAT' }]);
  if (typeof type === 'string') return [{ name, repetition_type: 'OPTIONAL', ...PHYSICAL[type] }];
  if ('list' in type) return listOf(name, 'OPTIONAL', elementsOf('element', type.list));
  const fields = Object.entries(type.struct);
  const group: SchemaElement = { name, repetition_type: 'OPTIONAL', num_children: fields.length };
  return [group, ...fields.flatMap(([field, inner]) => elementsOf(field, inner))];
}

function listOf(name: string, repetition_type: 'REQUIRED' | 'OPTIONAL', element: SchemaElement[]): SchemaElement[] {
  return [
    { name, repetition_type, converted_type: 'LIST', num_children: 1 },
    { name: 'list', repetition_type: 'REPEATED', num_children: 1 },
    ...element,
  ];
}

/** The value as the writer wants it: INT64 as bigint, what is absent as null. */
function encoded(type: ColumnType, value: unknown): unknown {
  if (value === null || value === undefined) return null;
  if (type === 'integer') return BigInt(value as number);
  if (typeof type === 'string') return value;
  if ('list' in type) return (value as unknown[]).map((part) => encoded(type.list, part));
  const fields = Object.entries(type.struct);
  return Object.fromEntries(fields.map(([name, inner]) => [name, encoded(inner, (value as JsonObject)[name])]));
}
