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
  /** Targets that never change: they are answered as they are and take no part in what is learned. Absent where none. */
  readonly constant?: readonly number[];
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
    if (isVaried(deviation, mean[j])) scale[j] = deviation;
  }
  return { mean, scale };
}

/** Below float32 resolution of a column there is only rounding noise, which must not be blown up to one. */
function isVaried(deviation: number, mean: number): boolean {
  return deviation > 1e-6 * Math.max(Math.abs(mean), 1e-6);
}

/** Columns of `data` [rows, width] that have one value in all rows, rounding apart. */
export function constantColumns(data: Float32Array, width: number, { mean }: Moments): number[] {
  return mean.flatMap((value, j) => {
    for (let at = j; at < data.length; at += width) {
      if (isVaried(Math.abs(data[at] - value), value)) return [];
    }
    return [j];
  });
}

/** Normalises `data` [rows, width] in place. */
export function normalise(data: Float32Array, width: number, { mean, scale }: Moments): void {
  for (let at = 0; at < data.length; at += width) {
    for (let j = 0; j < width; j++) data[at + j] = (data[at + j] - mean[j]) / scale[j];
  }
}
