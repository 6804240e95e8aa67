// Finds values that are not finite; runs over everything that is dreamt.

/** Index of the first NaN or infinity, or -1. */
export function firstNonFinite(values: Float32Array): number {
  for (let i = 0; i < values.length; i++) if (!Number.isFinite(values[i])) return i;
  return -1;
}
