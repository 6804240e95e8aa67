// The tensor file, byte by byte as its format says, and everything that is not one.

import { describe, expect, it } from 'vitest';
import { float32 } from '../../src/nn/graph.js';
import { decodeTensors, encodeTensors } from '../../src/nn/safetensors.js';

const tensors = {
  theta: float32(Float32Array.of(1.5, -2, 3, 4, 5, 6), [2, 3]),
  m: float32(Float32Array.of(0.25)),
};

/** A file of one tensor of 16-bit elements. */
function halves(dtype: string, words: readonly number[]): Uint8Array {
  const header = new TextEncoder().encode(
    JSON.stringify({ x: { dtype, shape: [words.length], data_offsets: [0, words.length * 2] } }),
  );
  const bytes = new Uint8Array(8 + header.length + words.length * 2);
  const view = new DataView(bytes.buffer);
  view.setBigUint64(0, BigInt(header.length), true);
  bytes.set(header, 8);
  words.forEach((word, i) => {
    view.setUint16(8 + header.length + 2 * i, word, true);
  });
  return bytes;
}

describe('safetensors', () => {
  it('is a length, a JSON header and little-endian data', () => {
    const bytes = encodeTensors(tensors, { format: 'pt' });
    const view = new DataView(bytes.buffer);
    const length = Number(view.getBigUint64(0, true));
    const header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + length)));
    expect(header).toEqual({
      __metadata__: { format: 'pt' },
      m: { dtype: 'F32', shape: [1], data_offsets: [0, 4] },
      theta: { dtype: 'F32', shape: [2, 3], data_offsets: [4, 28] },
    });
    expect(length % 8).toBe(0);
    expect(view.getFloat32(8 + length, true)).toBe(0.25);
    expect(view.getFloat32(8 + length + 8, true)).toBe(-2);
    expect(bytes.length).toBe(8 + length + 28);
  });

  it('reads back what it wrote, also from within a larger buffer', () => {
    const bytes = encodeTensors(tensors);
    const shifted = Buffer.alloc(bytes.length + 3);
    shifted.set(bytes, 3);
    expect(decodeTensors(shifted.subarray(3))).toEqual(tensors);
  });

  it('widens float16 and bfloat16', () => {
    const values = (bytes: Uint8Array) => Array.from(decodeTensors(bytes)['x'].data, Number);
    expect(values(halves('F16', [0x3c00, 0xc000, 0x0001, 0x7bff, 0x7c00]))).toEqual([
      1,
      -2,
      2 ** -24,
      65504,
      Number.POSITIVE_INFINITY,
    ]);
    expect(values(halves('BF16', [0x3f80, 0xc000, 0x3e80]))).toEqual([1, -2, 0.25]);
    expect(() => decodeTensors(halves('I16', [1]))).toThrow('I16');
  });

  it('refuses anything cut short or not of its form', () => {
    const bytes = encodeTensors(tensors);
    for (const length of [0, 7, 20, bytes.length - 1]) expect(() => decodeTensors(bytes.subarray(0, length))).toThrow();
    expect(() => decodeTensors(new TextEncoder().encode('not a tensor file at all'))).toThrow();
  });
});
