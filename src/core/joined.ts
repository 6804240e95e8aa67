// Arrays of numbers one behind the other, as one: batches that are stacked, rewards of many episodes, weights of many members. The
// elements are copied as they are, and none of the arrays given is changed.

type Numbers = Float32Array | Int32Array;

/** All of `arrays` in order; empty where there are none. */
export function joinedFloats(arrays: readonly Float32Array[]): Float32Array {
  return laid(arrays, new Float32Array(lengthOf(arrays)));
}

/** The same of integers. */
export function joinedIntegers(arrays: readonly Int32Array[]): Int32Array {
  return laid(arrays, new Int32Array(lengthOf(arrays)));
}

function lengthOf(arrays: readonly Numbers[]): number {
  return arrays.reduce((sum, { length }) => sum + length, 0);
}

function laid<Into extends Numbers>(arrays: readonly Numbers[], into: Into): Into {
  let at = 0;
  for (const array of arrays) {
    into.set(array, at);
    at += array.length;
  }
  return into;
}
