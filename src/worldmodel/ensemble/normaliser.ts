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
  const passes = new MomentPasses(width, columns);
  const piece = data.subarray(first * width, rows * width);
  passes.add(piece);
  passes.addSquares(piece);
  return passes.moments();
}

/** The same of rows that come piece by piece, all of them twice: the result does not depend on where the pieces are cut. */
export class MomentPasses {
  private readonly sums: Float64Array;
  private readonly squares: Float64Array;
  private count = 0;

  constructor(
    private readonly width: number,
    private readonly columns = width,
  ) {
    this.sums = new Float64Array(width);
    this.squares = new Float64Array(width);
  }

  /** First pass. */
  add(piece: Float32Array): void {
    const { width, columns, sums } = this;
    for (let at = 0; at < piece.length; at += width) for (let j = 0; j < columns; j++) sums[j] += piece[at + j];
    this.count += piece.length / width;
  }

  /** Second pass, over the same rows. */
  addSquares(piece: Float32Array): void {
    const { width, columns, squares } = this;
    const mean = this.mean();
    for (let at = 0; at < piece.length; at += width)
      for (let j = 0; j < columns; j++) squares[j] += (piece[at + j] - mean[j]) ** 2;
  }

  /** After the first pass. */
  mean(): number[] {
    return Array.from(this.sums, (sum, j) => (j < this.columns ? sum / this.count : 0));
  }

  /** After the second pass. */
  moments(): Moments {
    const mean = this.mean();
    const deviations = Array.from(this.squares, (sum) => Math.sqrt(sum / this.count));
    const scale = deviations.map((deviation, j) => (j < this.columns && isVaried(deviation, mean[j]) ? deviation : 1));
    return { mean, scale };
  }
}

/** Below float32 resolution of a column there is only rounding noise, which must not be blown up to one. */
function isVaried(deviation: number, mean: number): boolean {
  return deviation > 1e-6 * Math.max(Math.abs(mean), 1e-6);
}

/** Columns of `data` [rows, width] that have one value in all rows, rounding apart. */
export function constantColumns(data: Float32Array, width: number, { mean }: Pick<Moments, 'mean'>): number[] {
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
