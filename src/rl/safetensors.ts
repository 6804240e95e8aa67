// Named float32 arrays as one safetensors file (format of huggingface/safetensors): 8 bytes of header length, a JSON
// header of {name: {dtype, shape, data_offsets}}, then the data. Any safetensors reader opens what this writes.

import { z } from 'zod';

const entrySchema = z.object({
  dtype: z.literal('F32'),
  shape: z.tuple([z.int().min(0)]),
  data_offsets: z.tuple([z.int().min(0), z.int().min(0)]),
});
const headerSchema = z.record(z.string(), entrySchema);
const LENGTH_BYTES = 8;

/** Vectors in order of name. */
export function encodeArrays(arrays: Readonly<Record<string, Float32Array>>): Uint8Array {
  const names = Object.keys(arrays).sort();
  const header: Record<string, z.infer<typeof entrySchema>> = {};
  let end = 0;
  for (const name of names) {
    const start = end;
    end += arrays[name].byteLength;
    header[name] = { dtype: 'F32', shape: [arrays[name].length], data_offsets: [start, end] };
  }
  const text = JSON.stringify(header);
  const headerLength = Math.ceil(text.length / 8) * 8;
  const bytes = new Uint8Array(LENGTH_BYTES + headerLength + end);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(headerLength), true);
  bytes.set(new TextEncoder().encode(text.padEnd(headerLength)), LENGTH_BYTES);
  for (const name of names) {
    const { buffer, byteOffset, byteLength } = arrays[name];
    bytes.set(
      new Uint8Array(buffer, byteOffset, byteLength),
      LENGTH_BYTES + headerLength + header[name].data_offsets[0],
    );
  }
  return bytes;
}

/** Throws an Error with the reason for anything but a whole file of `encodeArrays`. */
export function decodeArrays(bytes: Uint8Array): Record<string, Float32Array> {
  if (bytes.length < LENGTH_BYTES) throw new Error('the file ends before its header');
  const headerLength = Number(new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0, true));
  const start = LENGTH_BYTES + headerLength;
  if (start > bytes.length) throw new Error('the file ends within its header');
  const header = headerSchema.parse(JSON.parse(new TextDecoder().decode(bytes.subarray(LENGTH_BYTES, start))));
  const arrays: Record<string, Float32Array> = {};
  for (const [name, { shape, data_offsets }] of Object.entries(header)) {
    const [from, to] = data_offsets;
    if (to - from !== shape[0] * 4 || start + to > bytes.length)
      throw new Error(`the file ends within array "${name}"`);
    // Copied: a view of the file could start at any byte, and a Buffer's own `slice` does not copy.
    arrays[name] = new Float32Array(Uint8Array.from(bytes.subarray(start + from, start + to)).buffer);
  }
  return arrays;
}
