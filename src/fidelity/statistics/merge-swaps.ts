// Sorting that counts how far a list was from sorted.

/** Sorts `values` and answers how many pairs stood the wrong way round; equals never do. */
export function discordantSwaps(values: Float64Array): number {
  let from = values;
  let to: Float64Array = new Float64Array(values.length);
  let swaps = 0;
  for (let width = 1; width < values.length; width *= 2) {
    for (let start = 0; start < values.length; start += 2 * width) swaps += merge(from, to, start, width);
    [from, to] = [to, from];
  }
  if (from !== values) values.set(from);
  return swaps;
}

/** Merges the two sorted runs of `width` from `start` on. */
function merge(from: Float64Array, to: Float64Array, start: number, width: number): number {
  const middle = Math.min(start + width, from.length);
  const end = Math.min(start + 2 * width, from.length);
  let left = start;
  let right = middle;
  let swaps = 0;
  for (let at = start; at < end; at++) {
    if (left < middle && (right >= end || from[left] <= from[right])) {
      to[at] = from[left++];
    } else {
      swaps += middle - left;
      to[at] = from[right++];
    }
  }
  return swaps;
}
