// Parquet as bytes: a flat table of named, typed columns, one row group after another, so that no table need be in memory
// whole. Lists are the three-level LIST that pyarrow, pandas, DuckDB and `datasets` read.

import { ByteWriter, ParquetWriter, type SchemaElement } from 'hyparquet-writer';

/** `integer` is INT64, `float` FLOAT, `double` DOUBLE; all but lists may hold null. */
export type ColumnType = 'float list' | 'float' | 'double' | 'integer' | 'boolean' | 'text';

/** Column name to the values of one row group; all of one length. */
export type RowGroup = Readonly<Record<string, readonly unknown[]>>;

/** The pieces of a Parquet file with these columns (name to type), in order. */
export function* parquetPieces(
  columns: Readonly<Record<string, ColumnType>>,
  groups: Iterable<RowGroup>,
): Generator<Uint8Array> {
  const writer = new ByteWriter();
  const file = new ParquetWriter({ writer, schema: schemaOf(columns), createdBy: 'reverie' });
  for (const group of groups) {
    const columnData = Object.entries(columns).map(([name, type]) => ({ name, data: encoded(group[name], type) }));
    file.write({ columnData, rowGroupSize: Math.max(1, columnData[0].data.length) });
    yield drain(writer);
  }
  file.finish();
  yield drain(writer);
}

function encoded(values: readonly unknown[], type: ColumnType): unknown[] {
  if (type !== 'integer') return values as unknown[];
  return values.map((value) => (value === null ? null : BigInt(value as number)));
}

/** `index` is the writer's place in its buffer, `offset` its place in the file: only the first begins anew. */
function drain(writer: ByteWriter): Uint8Array {
  const piece = writer.getBytes().slice();
  writer.index = 0;
  return piece;
}

const PHYSICAL = {
  float: { type: 'FLOAT' },
  double: { type: 'DOUBLE' },
  integer: { type: 'INT64' },
  boolean: { type: 'BOOLEAN' },
  text: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
} as const;

function schemaOf(columns: Readonly<Record<string, ColumnType>>): SchemaElement[] {
  const root: SchemaElement = { name: 'root', num_children: Object.keys(columns).length };
  return [root, ...Object.entries(columns).flatMap(([name, type]) => elementsOf(name, type))];
}

function elementsOf(name: string, type: ColumnType): SchemaElement[] {
  if (type !== 'float list') return [{ name, repetition_type: 'OPTIONAL', ...PHYSICAL[type] }];
  return [
    { name, repetition_type: 'REQUIRED', converted_type: 'LIST', num_children: 1 },
    { name: 'list', repetition_type: 'REPEATED', num_children: 1 },
    { name: 'element', repetition_type: 'REQUIRED', type: 'FLOAT' },
  ];
}
