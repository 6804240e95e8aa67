// Parquet as bytes: a flat table of named, typed columns, one row group after another, so that no table need be in memory
// whole. Lists are the three-level LIST that pyarrow, pandas, DuckDB and `datasets` read.

import { ByteWriter, ParquetWriter, type SchemaElement } from 'hyparquet-writer';

/** `integer` is INT64, `float` FLOAT, `double` DOUBLE; all but lists may hold null. */
export type ColumnType = 'float list' | 'float' | 'double' | 'integer' | 'boolean' | 'text';

/** Column name to the values of one row group; all of one length. */
export type RowGroup = Readonly<Record<string, readonly unknown[]>>;

/** A row group as bytes, with what the end of the file says of it; may be made in another thread than the file. */
export interface EncodedGroup {
  readonly bytes: Uint8Array;
  readonly rowGroups: ParquetWriter['row_groups'];
  /** Of its columns, in order; their places are counted from the group's first byte. */
  readonly indexes: ParquetWriter['pendingIndexes'];
}

const MAGIC_BYTES = 4;

/** One row group by itself. */
export function encodeGroup(columns: Readonly<Record<string, ColumnType>>, group: RowGroup): EncodedGroup {
  const { writer, file } = beginFile(columns);
  const columnData = Object.entries(columns).map(([name, type]) => ({ name, data: encoded(group[name], type) }));
  file.write({ columnData, rowGroupSize: Math.max(1, columnData[0].data.length) });
  const indexes = file.pendingIndexes;
  for (const index of indexes) shift(index, -MAGIC_BYTES);
  return { bytes: writer.getBytes().slice(MAGIC_BYTES), rowGroups: file.row_groups, indexes };
}

/** The pieces of a Parquet file with these columns (name to type), in order, its row groups encoded already. */
export async function* parquetFile(
  columns: Readonly<Record<string, ColumnType>>,
  groups: AsyncIterable<EncodedGroup>,
): AsyncGenerator<Uint8Array> {
  const assembly = new Assembly(columns);
  for await (const group of groups) yield* assembly.add(group);
  yield assembly.finish();
}

/** As `parquetFile`, encoded here. */
export function* parquetPieces(
  columns: Readonly<Record<string, ColumnType>>,
  groups: Iterable<RowGroup>,
): Generator<Uint8Array> {
  const assembly = new Assembly(columns);
  for (const group of groups) yield* assembly.add(encodeGroup(columns, group));
  yield assembly.finish();
}

/** Puts encoded groups one after another, and writes the end of the file. */
class Assembly {
  private readonly writer: ByteWriter;
  private readonly file: ParquetWriter;

  constructor(columns: Readonly<Record<string, ColumnType>>) {
    const { writer, file } = beginFile(columns);
    this.writer = writer;
    this.file = file;
  }

  *add({ bytes, rowGroups, indexes }: EncodedGroup): Generator<Uint8Array> {
    if (this.writer.index > 0) yield drain(this.writer);
    for (const index of indexes) shift(index, this.writer.offset);
    this.writer.offset += bytes.length;
    this.file.pendingIndexes.push(...indexes);
    this.file.row_groups.push(...rowGroups);
    for (const { num_rows } of rowGroups) this.file.num_rows += num_rows;
    yield bytes;
  }

  finish(): Uint8Array {
    this.file.finish();
    return drain(this.writer);
  }
}

function beginFile(columns: Readonly<Record<string, ColumnType>>) {
  const writer = new ByteWriter();
  return { writer, file: new ParquetWriter({ writer, schema: schemaOf(columns), createdBy: 'reverie' }) };
}

type ColumnIndexes = ParquetWriter['pendingIndexes'][number];

/** Moves all places that a column names by `bytes`. Its chunk is that of the row group: one object. */
function shift({ chunk, offsetIndex }: ColumnIndexes, bytes: number): void {
  const by = BigInt(bytes);
  chunk.file_offset += by;
  const { meta_data: meta } = chunk;
  if (meta !== undefined) {
    meta.data_page_offset += by;
    if (meta.dictionary_page_offset !== undefined) meta.dictionary_page_offset += by;
  }
  for (const page of offsetIndex?.page_locations ?? []) page.offset += by;
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
