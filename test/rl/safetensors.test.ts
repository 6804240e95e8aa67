// The array file, byte by byte as its format says, and everything that is not one.

import { describe, expect, it } from 'vitest';
import { decodeArrays, encodeArrays } from '../../src/rl/checkpoint.js';

const arrays = { theta: Float32Array.of(1.5, -2, 3), m: Float32Array.of(0.25) };

describe('safetensors', () => {
  it('is a length, a JSON header and little-endian data', () => {
    const bytes = encodeArrays(arrays);
    const view = new DataView(bytes.buffer);
    const length = Number(view.getBigUint64(0, true));
    const header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + length)));
    expect(header).toEqual({
      m: { dtype: 'F32', shape: [1], data_offsets: [0, 4] },
      theta: { dtype: 'F32', shape: [3], data_offsets: [4, 16] },
    });
    expect(length % 8).toBe(0);
    expect(view.getFloat32(8 + length, true)).toBe(0.25);
    expect(view.getFloat32(8 + length + 8, true)).toBe(-2);
    expect(bytes.length).toBe(8 + length + 16);
  });

  it('reads back what it wrote, also from within a larger buffer', () => {
    const bytes = encodeArrays(arrays);
    const shifted = Buffer.alloc(bytes.length + 3);
    shifted.set(bytes, 3);
    expect(decodeArrays(shifted.subarray(3))).toEqual(arrays);
  });

  it('refuses anything cut short or not of its form', () => {
    const bytes = encodeArrays(arrays);
    for (const length of [0, 7, 20, bytes.length - 1]) expect(() => decodeArrays(bytes.subarray(0, length))).toThrow();
    expect(() => decodeArrays(new TextEncoder().encode('not an array file at all'))).toThrow();
  });
});
