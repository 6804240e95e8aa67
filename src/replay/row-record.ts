// A row as a record of bytes, for storage on disk: its columns one after another, so that a row drawn at random is one read.
// The widest elements come first and records are padded to 8 bytes, so every value can be read in place.
//
//   values of all columns, by falling size of element and then in the order of the schema, little-endian
//   zeros up to a multiple of 8 bytes, less 4
//   CRC-32 of the row's number (float64) and of all that comes before, 4 bytes

import { crc32 } from 'node:zlib';
import { type ColumnArray, type ColumnSet, elementBytes, type Schema, widthOf } from './schema.js';

interface Field {
  readonly name: string;
  readonly width: number;
  readonly bytes: number;
  /** Of the first element within a record, in elements. */
  readonly offset: number;
  readonly viewOf: (buffer: ArrayBuffer) => ColumnArray;
}

const VIEWS: Readonly<Record<string, (buffer: ArrayBuffer) => ColumnArray>> = {
  float32: (buffer) => new Float32Array(buffer),
  float64: (buffer) => new Float64Array(buffer),
  uint8: (buffer) => new Uint8Array(buffer),
  bool: (buffer) => new Uint8Array(buffer),
  int32: (buffer) => new Int32Array(buffer),
  uint32: (buffer) => new Uint32Array(buffer),
  uint64: (buffer) => new BigUint64Array(buffer),
};

/** Longer values are copied by `set`, whose fixed cost is then small. */
const LOOP_LIMIT = 64;
const CHECKSUM_BYTES = 4;

/** Records of one schema. */
export class RowRecords {
  /** Of one record. */
  readonly bytes: number;
  private readonly fields: readonly Field[];
  private readonly number = new Float64Array(1);
  private readonly numberBytes = new Uint8Array(this.number.buffer);

  constructor(schema: Schema) {
    const byWidth = Object.entries(schema).sort(([, a], [, b]) => elementBytes(b) - elementBytes(a));
    let end = 0;
    this.fields = byWidth.map(([name, spec]) => {
      const bytes = elementBytes(spec);
      const width = widthOf(spec);
      const offset = end / bytes;
      end += width * bytes;
      return { name, width, bytes, offset, viewOf: VIEWS[spec.dtype] };
    });
    this.bytes = Math.ceil((end + CHECKSUM_BYTES) / 8) * 8;
  }

  /** Room for `rows` records. */
  allocate(rows: number): Uint8Array<ArrayBuffer> {
    return new Uint8Array(rows * this.bytes);
  }

  /** Writes rows [from, from + rows) of all columns to records `at` … of `records`; row `from` has the number `firstId`. */
  encode(
    columns: ColumnSet,
    from: number,
    rows: number,
    firstId: number,
    records: Uint8Array<ArrayBuffer>,
    at: number,
  ): void {
    for (const { name, width, bytes, offset, viewOf } of this.fields) {
      const stride = this.bytes / bytes;
      copyStrided(
        columns[name],
        from * width,
        width,
        viewOf(records.buffer),
        at * stride + offset,
        stride,
        width,
        rows,
      );
    }
    const checksums = new Uint32Array(records.buffer);
    for (let i = 0; i < rows; i++)
      checksums[((at + i + 1) * this.bytes - CHECKSUM_BYTES) / 4] = this.checksum(records, at + i, firstId + i);
  }

  /** Copies records [0, rows) to rows `at` … of the columns that `into` has. */
  decode(records: Uint8Array<ArrayBuffer>, rows: number, into: ColumnSet, at: number): void {
    for (const { name, width, bytes, offset, viewOf } of this.fields) {
      const target = into[name];
      const stride = this.bytes / bytes;
      if (target) copyStrided(viewOf(records.buffer), offset, stride, target, at * width, width, width, rows);
    }
  }

  /** Whether record `index` is row `id`, whole. */
  isWhole(records: Uint8Array<ArrayBuffer>, index: number, id: number): boolean {
    const stored = new Uint32Array(records.buffer, (index + 1) * this.bytes - CHECKSUM_BYTES, 1)[0];
    return stored === this.checksum(records, index, id);
  }

  private checksum(records: Uint8Array, index: number, id: number): number {
    this.number[0] = id;
    const start = index * this.bytes;
    return crc32(records.subarray(start, start + this.bytes - CHECKSUM_BYTES), crc32(this.numberBytes));
  }
}

/** Copies `rows` pieces of `width` elements, each so many elements after the one before on either side; one dtype. */
function copyStrided(
  source: ColumnArray,
  from: number,
  sourceStride: number,
  target: ColumnArray,
  to: number,
  targetStride: number,
  width: number,
  rows: number,
): void {
  const [values, into] = [source as Float32Array, target as Float32Array];
  if (width > LOOP_LIMIT) {
    for (let i = 0; i < rows; i++) {
      const start = from + i * sourceStride;
      into.set(values.subarray(start, start + width), to + i * targetStride);
    }
    return;
  }
  for (let i = 0; i < rows; i++) {
    const start = from + i * sourceStride;
    const end = to + i * targetStride;
    for (let k = 0; k < width; k++) into[end + k] = values[start + k];
  }
}
