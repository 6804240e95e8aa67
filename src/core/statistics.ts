// The few statistics that every room needs. Sums go from first to last, so that the same values give the same bytes.

/** NaN for no values. */
export function mean(values: ArrayLike<number>): number {
  let sum = 0;
  for (let i = 0; i < values.length; i++) sum += values[i];
  return sum / values.length;
}

/** With n - 1 in the denominator; 0 for fewer than two values. */
export function sampleDeviation(values: ArrayLike<number>): number {
  if (values.length < 2) return 0;
  const middle = mean(values);
  let squares = 0;
  for (let i = 0; i < values.length; i++) squares += (values[i] - middle) ** 2;
  return Math.sqrt(squares / (values.length - 1));
}

/** The middle value, or the mean of the two middle ones; NaN for no values. */
export function median(values: ArrayLike<number>): number {
  const sorted = Float64Array.from(values).sort();
  return (sorted[Math.floor((sorted.length - 1) / 2)] + sorted[Math.ceil((sorted.length - 1) / 2)]) / 2;
}

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
