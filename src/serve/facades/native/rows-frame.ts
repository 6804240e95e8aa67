// Rows as one flat frame, to be read without a parser: a header of five words, then arrays, then JSON where there is any.
// All little-endian:
//
//   0   'RVR1'
//   4   uint32 n, rows
//   8   uint32 d, elements of an observation
//   12  uint32 k, rows that ended and began anew (same_step)
//   16  uint32 j, bytes of JSON at the end
//   20  float32 obs [n, d], float32 reward [n], float32 final_obs [k, d],
//       uint8 terminated [n], uint8 truncated [n], uint8 final_mask [n], JSON {"infos"?, "final_info"?} [j]

import type { Rows } from '../../vector/vector-session.js';

export const ROWS_TYPE = 'application/vnd.reverie.rows';

const HEADER = 20;

/** @param json  what has no place in an array; undefined: nothing */
export function encodeRows({ obs, reward, finalObs, terminated, truncated, finalMask }: Rows, json?: unknown): Buffer {
  const text = json === undefined ? '' : JSON.stringify(json);
  const rows = reward.length;
  const tail = Buffer.from(text);
  const floats = [obs, reward, finalObs];
  const flags = [terminated, truncated, finalMask];
  const length = HEADER + 4 * floats.reduce((sum, array) => sum + array.length, 0) + 3 * rows + tail.length;
  const frame = Buffer.allocUnsafe(length);
  frame.write('RVR1', 'latin1');
  const d = obs.length / rows;
  for (const [i, word] of [rows, d, finalObs.length / d, tail.length].entries()) frame.writeUInt32LE(word, 4 + 4 * i);
  let at = HEADER;
  for (const part of [...floats, ...flags, tail]) {
    const bytes = bytesOf(part);
    frame.set(bytes, at);
    at += bytes.length;
  }
  return frame;
}

/** The same memory as bytes; ours are little-endian, as every machine Node.js runs on by default. */
export function bytesOf(array: Float32Array | Uint8Array): Uint8Array {
  return new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
}

/** Float32 rows that came as bytes; undefined unless there are `length` of them. */
export function floatsOf(bytes: Uint8Array, length: number): Float32Array | undefined {
  if (bytes.byteLength !== 4 * length) return undefined;
  // A view needs its offset to be a multiple of four, which that of a network buffer need not be.
  if (bytes.byteOffset % 4 === 0) return new Float32Array(bytes.buffer, bytes.byteOffset, length);
  return new Float32Array(Uint8Array.from(bytes).buffer);
}
