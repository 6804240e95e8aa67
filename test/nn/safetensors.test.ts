// The tensor file, byte by byte as its format says, and everything that is not one.

import { describe, expect, it } from 'vitest';
import { float32 } from '../../src/nn/graph.js';
import { decodeTensors, encodeTensors } from '../../src/nn/safetensors.js';

const tensors = {
  theta: float32(Float32Array.of(1.5, -2, 3, 4, 5, 6), [2, 3]),
  m: float32(Float32Array.of(0.25)),
};

describe('safetensors', () => {
  it('is a length, a JSON header and little-endian data', () => {
    const bytes = encodeTensors(tensors);
    const view = new DataView(bytes.buffer);
    const length = Number(view.getBigUint64(0, true));
    const header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + length)));
    expect(header).toEqual({
      m: { dtype: 'F32', shape: [1], data_offsets: [0, 4] },
      theta: { dtype: 'F32', shape: [2, 3], data_offsets: [4, 28] },
    });
    expect(length % 8).toBe(0);
    expect(view.getFloat32(8 + length, true)).toBe(0.25);
    expect(view.getFloat32(8 + length + 8, true)).toBe(-2);
    expect(bytes.length).toBe(8 + length + 28);
  });

  it('refuses other types', () => {
    const text = Buffer.from(encodeTensors(tensors)).toString('latin1').replace('F32', 'F16');
    expect(() => decodeTensors(Buffer.from(text, 'latin1'))).toThrow('F16');
  });

  it('refuses anything cut short or not of its form', () => {
    const bytes = encodeTensors(tensors);
    for (const length of [0, 7, 20, bytes.length - 1]) expect(() => decodeTensors(bytes.subarray(0, length))).toThrow();
    expect(() => decodeTensors(new TextEncoder().encode('not a tensor file at all'))).toThrow();
  });
});
