// Means and scales that bring network inputs and targets to zero mean and unit variance. Plain numbers, JSON-safe.

/** Per element: normalised = (value - mean) / scale. */
export interface Moments {
  readonly mean: readonly number[];
  readonly scale: readonly number[];
}

export interface Normaliser {
  /** Observation elements, then action elements; one-hot actions are left as they are. */
  readonly input: Moments;
  /** Change of each observation element, then the reward where it is learned. */
  readonly target: Moments;
}

/**
 * Moments of the first `columns` columns of `data` [rows, width] over rows [first, rows); identity for the others.
 * A column that never changes gets scale 1, so that it stays finite and predictable.
 */
export function momentsOf(data: Float32Array, width: number, first: number, rows: number, columns = width): Moments {
  const mean = new Array<number>(width).fill(0);
  const scale = new Array<number>(width).fill(1);
  const count = rows - first;
  for (let j = 0; j < columns; j++) {
    let sum = 0;
    for (let r = first; r < rows; r++) sum += data[r * width + j];
    mean[j] = sum / count;
    let squares = 0;
    for (let r = first; r < rows; r++) squares += (data[r * width + j] - mean[j]) ** 2;
    const deviation = Math.sqrt(squares / count);
    // Below float32 resolution of the column there is only rounding noise, which must not be blown up to one.
    if (deviation > 1e-6 * Math.max(Math.abs(mean[j]), 1e-6)) scale[j] = deviation;
  }
  return { mean, scale };
}

/** Normalises `data` [rows, width] in place. */
export function normalise(data: Float32Array, width: number, { mean, scale }: Moments): void {
  for (let at = 0; at < data.length; at += width) {
    for (let j = 0; j < width; j++) data[at + j] = (data[at + j] - mean[j]) / scale[j];
  }
}
