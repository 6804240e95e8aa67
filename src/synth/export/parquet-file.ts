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

/** Column name to the values of one row group; all of one length. */
type RowGroup = Readonly<Record<string, readonly unknown[]>>;

/** A row group as bytes, with what the end of the file says of it; may be made in another thread than the file. */
export interface EncodedGroup {
  readonly bytes: Uint8Array;
  readonly rowGroups: ParquetWriter['row_groups'];
  /** Of its columns, in order; their places are counted from the group's first byte. */
  readonly indexes: ParquetWriter['pendingIndexes'];
}

const PHYSICAL = {
  text: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
  integer: { type: 'INT64' },
  float: { type: 'FLOAT' },
  double: { type: 'DOUBLE' },
  boolean: { type: 'BOOLEAN' },
} as const;

const MAGIC_BYTES = 4;

/** One row group by itself. */
export function encodeGroup(columns: ParquetColumns, group: RowGroup): EncodedGroup {
  const { writer, file } = beginFile(columns);
  const columnData = Object.entries(columns).map(([name, type]) => ({
    name,
    data: group[name].map((value) => encoded(type, value)),
  }));
  file.write({ columnData, rowGroupSize: Math.max(1, columnData[0].data.length) });
  const indexes = file.pendingIndexes;
  for (const index of indexes) shift(index, -MAGIC_BYTES);
  return { bytes: writer.getBytes().slice(MAGIC_BYTES), rowGroups: file.row_groups, indexes };
}

/** Puts encoded groups one after another, and writes the end of the file: pieces of bytes, in order. */
export class ParquetFile {
  private readonly writer: ByteWriter;
  private readonly file: ParquetWriter;

  constructor(private readonly columns: ParquetColumns) {
    ({ writer: this.writer, file: this.file } = beginFile(columns));
  }

  add({ bytes, rowGroups, indexes }: EncodedGroup): Uint8Array {
    const head = this.drain();
    for (const index of indexes) shift(index, this.writer.offset);
    this.writer.offset += bytes.length;
    this.file.pendingIndexes.push(...indexes);
    this.file.row_groups.push(...rowGroups);
    for (const { num_rows } of rowGroups) this.file.num_rows += num_rows;
    return head.length === 0 ? bytes : Buffer.concat([head, bytes]);
  }

  /** A group of rows that are JSON. */
  addRows(rows: readonly JsonObject[]): Uint8Array {
    const group = Object.keys(this.columns).map((name) => [name, rows.map((row) => row[name] ?? null)]);
    return this.add(encodeGroup(this.columns, Object.fromEntries(group)));
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

function beginFile(columns: ParquetColumns) {
  const writer = new ByteWriter();
  const root: SchemaElement = { name: 'root', num_children: Object.keys(columns).length };
  const schema = [root, ...Object.entries(columns).flatMap(([name, type]) => elementsOf(name, type))];
  return { writer, file: new ParquetWriter({ writer, schema, createdBy: 'reverie' }) };
}

/** Moves all places that a column names by `bytes`. Its chunk is that of the row group: one object. */
function shift({ chunk, offsetIndex }: ParquetWriter['pendingIndexes'][number], bytes: number): void {
  const by = BigInt(bytes);
  chunk.file_offset += by;
  const { meta_data: meta } = chunk;
  if (meta !== undefined) {
    meta.data_page_offset += by;
    if (meta.dictionary_page_offset !== undefined) meta.dictionary_page_offset += by;
  }
  for (const page of offsetIndex?.page_locations ?? []) page.offset += by;
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
