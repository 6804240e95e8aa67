// Named tensors as one safetensors file (format of huggingface/safetensors): 8 bytes of header length, a JSON header of
// {name: {dtype, shape, data_offsets}}, then the data. Any safetensors reader opens what this writes.

import { z } from 'zod';
import { elementCount, float32, type Tensor } from './graph.js';

const count = z.int().min(0);
const entrySchema = z.object({
  dtype: z.string(),
  shape: z.array(count),
  data_offsets: z.tuple([count, count]),
});
type Entry = z.infer<typeof entrySchema>;
const headerSchema = z.record(z.string(), z.union([entrySchema, z.record(z.string(), z.string())]));

const LENGTH_BYTES = 8;
const METADATA = '__metadata__';

/** Float32 tensors in order of name. The same tensors give the same bytes. */
export function encodeTensors(tensors: Readonly<Record<string, Tensor>>): Uint8Array {
  const names = Object.keys(tensors).sort();
  const header: Record<string, unknown> = {};
  const starts = new Map<string, number>();
  let end = 0;
  for (const name of names) {
    const { data, dims } = tensors[name];
    starts.set(name, end);
    end += data.byteLength;
    header[name] = { dtype: 'F32', shape: dims, data_offsets: [end - data.byteLength, end] };
  }
  const text = new TextEncoder().encode(JSON.stringify(header));
  const headerLength = Math.ceil(text.length / 8) * 8;
  const bytes = new Uint8Array(LENGTH_BYTES + headerLength + end);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(headerLength), true);
  bytes.fill(0x20, LENGTH_BYTES + text.length, LENGTH_BYTES + headerLength);
  bytes.set(text, LENGTH_BYTES);
  for (const name of names) {
    const { buffer, byteOffset, byteLength } = tensors[name].data;
    bytes.set(new Uint8Array(buffer, byteOffset, byteLength), LENGTH_BYTES + headerLength + starts.get(name)!);
  }
  return bytes;
}

/**
 * The float32 tensors of a safetensors file.
 * Throws an Error that says what is wrong with anything else.
 */
export function decodeTensors(bytes: Uint8Array): Record<string, Tensor> {
  if (bytes.length < LENGTH_BYTES) throw new Error('the file ends before its header');
  const headerLength = Number(new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0, true));
  const start = LENGTH_BYTES + headerLength;
  if (start > bytes.length) throw new Error('the file ends within its header');
  const header = headerSchema.parse(JSON.parse(new TextDecoder().decode(bytes.subarray(LENGTH_BYTES, start))));
  const tensors: Record<string, Tensor> = {};
  for (const [name, entry] of Object.entries(header)) {
    if (name !== METADATA) tensors[name] = tensorOf(name, entry as Entry, bytes.subarray(start));
  }
  return tensors;
}

function tensorOf(name: string, { dtype, shape, data_offsets: [from, to] }: Entry, data: Uint8Array): Tensor {
  if (dtype !== 'F32') throw new Error(`tensor "${name}" is of type ${dtype}, not F32`);
  if (to - from !== elementCount(shape) * 4 || to > data.length)
    throw new Error(`the file ends within tensor "${name}"`);
  // Copied: a view of the file could start at any byte, and a Buffer's own `slice` does not copy.
  return float32(new Float32Array(Uint8Array.from(data.subarray(from, to)).buffer), shape);
}
