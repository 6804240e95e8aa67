// Exports piece by piece: slices of a table are encoded a few ahead and come in order. Rows on disk are read and encoded by
// worker threads, so that the thread that writes has nothing else to do; rows in memory are encoded where they are.

import type { WorkerPool } from '../../core/pool.js';
import { inOrder, moved, type PoolTask, poolTask } from '../../core/pool-task.js';
import { SavedTransitions } from '../../replay/snapshot.js';
import { type TransitionSlice, type TransitionSource, tableOf } from './table.js';

export interface ExportOptions {
  /** Encodes what lies on disk; in this thread unless given. */
  readonly pool?: WorkerPool;
  /** Ends the export; the promise rejects with the signal's reason, and nothing is left at the path. */
  readonly signal?: AbortSignal;
  /** Told as rows are written. */
  readonly onRows?: (rows: number) => void;
}

export interface SliceRange {
  readonly from: number;
  readonly rows: number;
}

/** Rows of a folder, and what else the encoder is told. */
export interface SliceInput<Words> {
  readonly folder: string;
  readonly range: SliceRange;
  readonly words: Words;
}

/** What makes bytes, or anything else, of a slice: here or, by its folder and range, in a thread. */
export interface SliceTask<Range, Words, T> extends PoolTask<SliceInput<Words> & { readonly range: Range }, T> {
  readonly encode: (slice: TransitionSlice, words: Words, range: Range) => Promise<T>;
}

/** A task that its module exports as `name`; see `poolTask`. */
export function sliceTask<T, Words = object, Range extends SliceRange = SliceRange>(
  from: string,
  name: string,
  encode: (slice: TransitionSlice, words: Words, range: Range) => Promise<T>,
): SliceTask<Range, Words, T> {
  const task = poolTask(from, name, async ({ folder, range, words }: SliceInput<Words> & { readonly range: Range }) => {
    const saved = await SavedTransitions.open(folder);
    try {
      return moved(await encode(await tableOf(saved).slice(range.from, range.rows), words, range));
    } finally {
      await saved.close();
    }
  });
  return { ...task, encode };
}

/** What `task` makes of each range, in order. */
export async function* encodedSlices<T, Words, Range extends SliceRange>(
  source: TransitionSource,
  ranges: Iterable<Range>,
  task: SliceTask<Range, Words, T>,
  words: Words,
  { pool, signal, onRows }: ExportOptions,
): AsyncGenerator<T> {
  const workers = source instanceof SavedTransitions ? (pool?.workers ?? 0) : 0;
  const table = tableOf(source);
  const work = async (range: Range, stop: AbortSignal) => {
    const make = () => ({ folder: (source as SavedTransitions).folder, range, words });
    const encoded =
      workers > 0
        ? await pool!.run(task, make, { signal: stop, label: `rows ${range.from} and on` })
        : await task.encode(await table.slice(range.from, range.rows), words, range);
    return { encoded, rows: range.rows };
  };
  let done = 0;
  for await (const { encoded, rows } of inOrder(ranges, work, { ahead: workers + 1, signal })) {
    yield encoded;
    done += rows;
    onRows?.(done);
  }
}
