// Copies scattered rows of a column to consecutive rows of another. Column by column, so that the cache misses of
// different rows overlap; short rows by a loop, since a typed-array `set` costs more than the copy.

const LOOP_LIMIT = 48;

/** destination row (at + i) = source row indices[i]; both [rows, width]. */
export function gatherRows<T extends Float32Array | Uint8Array>(
  source: T,
  width: number,
  indices: Uint32Array | Int32Array,
  destination: T,
  at: number,
): void {
  if (width === 1) {
    for (let i = 0; i < indices.length; i++) destination[at + i] = source[indices[i]];
  } else if (width <= LOOP_LIMIT) {
    gatherShort(source, width, indices, destination, at * width);
  } else {
    for (let i = 0; i < indices.length; i++) {
      const from = indices[i] * width;
      destination.set(source.subarray(from, from + width), (at + i) * width);
    }
  }
}

function gatherShort<T extends Float32Array | Uint8Array>(
  source: T,
  width: number,
  indices: Uint32Array | Int32Array,
  destination: T,
  start: number,
): void {
  let to = start;
  for (let i = 0; i < indices.length; i++) {
    const from = indices[i] * width;
    for (let k = 0; k < width; k++) destination[to + k] = source[from + k];
    to += width;
  }
}
