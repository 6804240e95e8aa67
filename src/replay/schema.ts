// What rows consist of: columns by name, each with a dtype and the shape of one row's value. Storage, batches, windows and
// files are all laid out by such a schema, so that no column can be forgotten in one of them.

import { z } from 'zod';
import { reverieError } from '../core/errors.js';

const CONSTRUCTORS = {
  float32: Float32Array,
  float64: Float64Array,
  uint8: Uint8Array,
  /** One byte, 0 or 1. */
  bool: Uint8Array,
  int32: Int32Array,
  uint32: Uint32Array,
  uint64: BigUint64Array,
} as const;

export type Dtype = keyof typeof CONSTRUCTORS;
export type ColumnArray = Float32Array | Float64Array | Uint8Array | Int32Array | Uint32Array | BigUint64Array;

export interface ColumnSpec {
  readonly dtype: Dtype;
  /** Of one row's value: `[]` for a number, `[84, 84, 3]` for an image. */
  readonly shape: readonly number[];
}

/** Columns by name; the order is that of files. */
export type Schema = Readonly<Record<string, ColumnSpec>>;

/** Values by column; row-major, [rows, ...shape]. */
export type ColumnSet = Readonly<Record<string, ColumnArray>>;

/** As it stands in the headers of files. */
export const schemaSchema = z.record(
  z.string().regex(/^[A-Za-z][\w.]*$/),
  z.strictObject({
    dtype: z.enum(Object.keys(CONSTRUCTORS) as [Dtype, ...Dtype[]]),
    shape: z.array(z.int().min(1)).readonly(),
  }),
);

/** A column of one number a row. */
export function scalar(dtype: Dtype): ColumnSpec {
  return { dtype, shape: [] };
}

/** A column of vectors, or of anything that has a shape. */
export function tensor(dtype: Dtype, ...shape: number[]): ColumnSpec {
  return { dtype, shape };
}

/** Elements of one row. */
export function widthOf({ shape }: ColumnSpec): number {
  return shape.reduce((product, size) => product * size, 1);
}

export function elementBytes({ dtype }: ColumnSpec): number {
  return CONSTRUCTORS[dtype].BYTES_PER_ELEMENT;
}

/** Bytes of one row in all columns together, without padding. */
export function bytesPerRow(schema: Schema): number {
  return Object.values(schema).reduce((bytes, spec) => bytes + widthOf(spec) * elementBytes(spec), 0);
}

/** Throws DATA_MISMATCH unless there is a column, every shape is of positive whole numbers, and every dtype exists. */
export function checkSchema(schema: Schema): void {
  const parsed = schemaSchema.safeParse(schema);
  const names = Object.keys(schema);
  if (names.length === 0)
    throw reverieError('DATA_MISMATCH', {
      problem: `Column "(none)" of the schema is not acceptable: there must be one.`,
      hint: 'A schema gives each column a dtype (float32, float64, uint8, bool, int32, uint32, uint64) and the shape of one row.',
    });
  if (parsed.success) return;
  const [column = '(all)', ...at] = parsed.error.issues[0].path.map(String);
  const problem = `${at.join('.')} ${parsed.error.issues[0].message}`.trim();
  throw reverieError('DATA_MISMATCH', {
    problem: `Column "${column}" of the schema is not acceptable: ${problem}`,
    hint: 'A schema gives each column a dtype (float32, float64, uint8, bool, int32, uint32, uint64) and the shape of one row.',
  });
}

/** Zeroed columns for `rows` rows. */
export function allocate(schema: Schema, rows: number): Record<string, ColumnArray> {
  const entries = Object.entries(schema).map(([name, spec]) => [
    name,
    new CONSTRUCTORS[spec.dtype](rows * widthOf(spec)),
  ]);
  return Object.fromEntries(entries);
}

/** The columns `names` of a schema, in its order. Throws DATA_MISMATCH for one that it does not have. */
export function pickColumns(schema: Schema, names: readonly string[]): Schema {
  const unknown = names.find((name) => !(name in schema));
  if (unknown !== undefined) throw columnInvalid(unknown, schema, 'it is in no row of the store.');
  return Object.fromEntries(Object.entries(schema).filter(([name]) => names.includes(name)));
}

/** Rows [first, first + rows) of every column as views: no copy, writes go through. */
export function viewRows(schema: Schema, columns: ColumnSet, first: number, rows: number): Record<string, ColumnArray> {
  const entries = Object.keys(columns).map((name) => {
    const width = widthOf(schema[name]);
    return [name, columns[name].subarray(first * width, (first + rows) * width)];
  });
  return Object.fromEntries(entries);
}

/** Copies rows [from, from + rows) of every column of `source` to rows [to, …) of the same columns of `target`. */
export function copyRows(
  schema: Schema,
  source: ColumnSet,
  from: number,
  target: ColumnSet,
  to: number,
  rows: number,
): void {
  for (const name of Object.keys(target)) {
    const width = widthOf(schema[name]);
    setElements(target[name], source[name].subarray(from * width, (from + rows) * width), to * width);
  }
}

/** Both are of one dtype; the union hides that. */
export function setElements(target: ColumnArray, source: ColumnArray, at: number): void {
  (target as Float32Array).set(source as Float32Array, at);
}

/**
 * Throws unless `columns` are exactly those of the schema, each of its dtype and of `rows` rows: DATA_MISMATCH for a missing,
 * unknown or mistyped column or a bool that is neither 0 nor 1, DATA_MISMATCH for one of another length.
 */
export function checkColumns(schema: Schema, columns: ColumnSet, rows: number): void {
  for (const name of Object.keys(columns)) {
    if (!(name in schema)) throw columnInvalid(name, schema, 'it is unknown.');
  }
  for (const [name, spec] of Object.entries(schema)) {
    const values = columns[name];
    if (values === undefined) throw columnInvalid(name, schema, 'it is missing.');
    if (!(values instanceof CONSTRUCTORS[spec.dtype])) {
      const got = (values as object).constructor?.name ?? typeof values;
      throw columnInvalid(name, schema, `it is of ${got}, not of ${CONSTRUCTORS[spec.dtype].name}.`);
    }
    const want = rows * widthOf(spec);
    if (values.length !== want)
      throw reverieError('DATA_MISMATCH', {
        problem: `Batch column "${name}" has ${values.length} values where ${want} are needed.`,
        hint: `Columns are row-major [rows, dim]; check rows (${rows}) and the dimensions of the buffer.`,
      });
    if (spec.dtype === 'bool') checkBools(name, schema, values as Uint8Array);
  }
}

function checkBools(name: string, schema: Schema, values: Uint8Array): void {
  let all = 0;
  for (let i = 0; i < values.length; i++) all |= values[i];
  if (all <= 1) return;
  const at = values.findIndex((value) => value > 1);
  throw columnInvalid(name, schema, `element ${at} is ${values[at]}, and a bool is 0 or 1.`);
}

function columnInvalid(column: string, schema: Schema, problem: string): Error {
  const known = Object.entries(schema).map(([name, { dtype, shape }]) => `${name} ${dtype}[${shape.join(', ')}]`);
  return reverieError('DATA_MISMATCH', {
    problem: `Column "${column}" does not fit the schema: ${problem}`,
    hint: `Its columns are ${known.join(', ')}; values are row-major [rows, ...shape].`,
  });
}
