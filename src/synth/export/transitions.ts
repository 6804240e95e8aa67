// Transitions of a saved buffer as one Parquet file, a row each, with all that is known of where they came from; and the slices that
// exports read them by.

import { stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { reverieError } from '../../core/errors.js';
import { ensureFolder, writeFileAtomic } from '../../core/files.js';
import type { Columns } from '../../replay/columns.js';
import type { Origin } from '../../replay/provenance.js';
import type { SavedTransitions } from '../../replay/snapshot.js';
import type { Source } from '../../replay/transition.js';
import { type ColumnType, ParquetFile } from './parquet-file.js';

export interface ExportOptions {
  /** Ends the export; the promise rejects with the signal's reason, and nothing is left at the path. */
  readonly signal?: AbortSignal;
  /** Called as rows are written. */
  readonly onRows?: (rows: number) => void;
}

/** Rows [from, from + rows) of a buffer, oldest first. */
export interface SliceRange {
  readonly from: number;
  readonly rows: number;
}

/** Rows one after another, with all that is known of them. */
export interface TransitionSlice {
  readonly rows: number;
  /** Row id of the first; the others follow. */
  readonly firstRowId: number;
  readonly obsDim: number;
  readonly actionDim: number;
  readonly source: Source;
  /** What column `origin` refers to by number. */
  readonly origins: readonly Origin[];
  readonly columns: Columns;
}

/** The slice of each range, in order; a range counts as written once the next is asked for. */
export async function* slicesOf<Range extends SliceRange>(
  saved: SavedTransitions,
  ranges: Iterable<Range>,
  { signal, onRows }: ExportOptions,
): AsyncGenerator<readonly [TransitionSlice, Range]> {
  const { obsDim, actionDim, source, origins } = saved;
  let done = 0;
  for (const range of ranges) {
    // Encoding never waits: signals and progress come in between.
    await nextTurn();
    signal?.throwIfAborted();
    const { from, rows } = range;
    const columns = await saved.read(from, rows);
    yield [{ rows, firstRowId: saved.firstRowId + from, obsDim, actionDim, source, origins, columns }, range];
    done += rows;
    onRows?.(done);
  }
}

/** Row `index` of a [rows, dim] column as plain numbers. */
export function rowOf(column: Float32Array, index: number, dim: number): number[] {
  return Array.from(column.subarray(index * dim, (index + 1) * dim));
}

type Cell = number | bigint | boolean | string | null | readonly number[];

interface Column {
  readonly type: ColumnType;
  readonly of: (slice: TransitionSlice, row: number) => Cell;
}

/** Names (as Python readers write them), types and sources of columns. Unknown numbers and absent texts are null. */
export const TRANSITION_COLUMNS: Readonly<Record<string, Column>> = {
  obs: { type: 'floats', of: ({ columns, obsDim }, i) => rowOf(columns.obs, i, obsDim) },
  action: { type: 'floats', of: ({ columns, actionDim }, i) => rowOf(columns.action, i, actionDim) },
  reward: { type: 'float', of: ({ columns }, i) => columns.reward[i] },
  terminated: { type: 'boolean', of: ({ columns }, i) => columns.terminated[i] === 1 },
  truncated: { type: 'boolean', of: ({ columns }, i) => columns.truncated[i] === 1 },
  next_obs: { type: 'floats', of: ({ columns, obsDim }, i) => rowOf(columns.nextObs, i, obsDim) },
  source: { type: 'text', of: ({ source }) => source },
  backend: { type: 'text', of: (slice, i) => originOf(slice, i).backend },
  model_version: { type: 'text', of: (slice, i) => originOf(slice, i).modelVersion || null },
  scenario: { type: 'text', of: (slice, i) => originOf(slice, i).scenario || null },
  task: { type: 'text', of: (slice, i) => originOf(slice, i).task || null },
  policy_version: { type: 'text', of: (slice, i) => originOf(slice, i).policyVersion || null },
  seed: { type: 'integer', of: (slice, i) => originOf(slice, i).seed },
  row_id: { type: 'integer', of: ({ firstRowId }, i) => firstRowId + i },
  episode: { type: 'integer', of: ({ columns }, i) => columns.episode[i] },
  step: { type: 'integer', of: ({ columns }, i) => columns.step[i] },
  group: { type: 'integer', of: ({ columns }, i) => numbered(columns.group[i]) },
  parent: { type: 'integer', of: ({ columns }, i) => numbered(columns.parent[i]) },
  log_prob: { type: 'float', of: ({ columns }, i) => known(columns.logProb[i]) },
  confidence: { type: 'float', of: ({ columns }, i) => known(columns.confidence[i]) },
  state_hash: { type: 'text', of: ({ columns }, i) => hex(columns.stateHash[i]) },
};

function originOf({ origins, columns }: TransitionSlice, row: number): Origin {
  return origins[columns.origin[row]];
}

function numbered(value: number): number | null {
  return value < 0 ? null : value;
}

function known(value: number): number | null {
  return Number.isNaN(value) ? null : value;
}

function hex(hash: bigint): string | null {
  return hash === 0n ? null : hash.toString(16).padStart(16, '0');
}

const GROUP_ROWS = 32_768;
const COLUMNS = Object.entries(TRANSITION_COLUMNS);

/**
 * Writes transitions as Parquet, in row groups of 32768; columns are those of `TRANSITION_COLUMNS`. The file appears whole
 * or not at all. Throws OUTPUT_EXISTS, STORAGE_FULL, STORAGE_FAILED.
 */
export async function exportParquet(
  saved: SavedTransitions,
  { path, ...options }: ExportOptions & { readonly path: string },
): Promise<void> {
  const file = new ParquetFile(Object.fromEntries(COLUMNS.map(([name, { type }]) => [name, type])));
  const pieces = async function* () {
    for await (const [slice] of slicesOf(saved, rangesOf(saved), options)) {
      const group = COLUMNS.map(([name, { of }]) => {
        return [name, Array.from({ length: slice.rows }, (_, row) => of(slice, row))];
      });
      yield file.add(Object.fromEntries(group));
    }
    yield file.finish();
  };
  await refuseExisting(path);
  await ensureFolder(dirname(path));
  await writeFileAtomic(path, pieces());
}

function* rangesOf({ rows }: SavedTransitions): Generator<SliceRange> {
  for (let from = 0; from < rows; from += GROUP_ROWS) yield { from, rows: Math.min(GROUP_ROWS, rows - from) };
}

/** Throws OUTPUT_EXISTS if there is anything at `path`. */
export async function refuseExisting(path: string): Promise<void> {
  const there = await stat(path).catch(() => undefined);
  if (there) throw outputExists(path);
}

export function outputExists(path: string, cause?: unknown): Error {
  const problem = `There is already something at "${path}".`;
  const hint = 'Export into a new folder or file name, or remove that one first.';
  return reverieError('OUTPUT_EXISTS', { problem, hint }, cause);
}
