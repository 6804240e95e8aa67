// How many rows a model was asked at a time.

/** Upper bounds of the buckets, in rows; larger batches count in the last. */
const BOUNDS = [1, 2, 4, 8, 16, 32, 64, 128, 256];

export interface BatchSizes {
  readonly bounds: readonly number[];
  /** Batches of at most so many rows, and more than the bound before. */
  readonly counts: readonly number[];
  readonly batches: number;
  readonly rows: number;
}

export class BatchHistogram {
  private readonly counts = new Array<number>(BOUNDS.length).fill(0);
  private batches = 0;
  private rows = 0;

  add(rows: number): void {
    const bucket = BOUNDS.findIndex((bound) => rows <= bound);
    this.counts[bucket < 0 ? BOUNDS.length - 1 : bucket]++;
    this.batches++;
    this.rows += rows;
  }

  get sizes(): BatchSizes {
    return { bounds: BOUNDS, counts: [...this.counts], batches: this.batches, rows: this.rows };
  }
}
