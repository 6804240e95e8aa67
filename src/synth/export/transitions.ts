// Transitions of a saved buffer as one file, a row each, with all that is known of where they came from.
// Slices of rows are encoded a few ahead, by worker threads where there are some, and are written in order.

import { stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { reverieError } from '../../core/errors.js';
import { ensureFolder, type FileContent, writeFileAtomic } from '../../core/files.js';
import type { WorkerPool } from '../../core/pool.js';
import { inOrder, moved, type PoolTask, poolTask } from '../../core/pool-task.js';
import type { Columns } from '../../replay/columns.js';
import type { Origin } from '../../replay/provenance.js';
import { SavedTransitions } from '../../replay/snapshot.js';
import type { Source } from '../../replay/transition.js';
import { type ColumnType, type EncodedGroup, encodeGroup, ParquetFile } from './parquet-file.js';

export interface ExportOptions {
  /** Threads that encode; absent: this one does. */
  readonly pool?: WorkerPool;
  /** Ends the export; the promise rejects with the signal's reason, and nothing is left at the path. */
  readonly signal?: AbortSignal;
  /** Told as rows are written. */
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

async function sliceOf(saved: SavedTransitions, { from, rows }: SliceRange): Promise<TransitionSlice> {
  const { obsDim, actionDim, source, origins } = saved;
  const columns = await saved.read(from, rows);
  return { rows, firstRowId: saved.firstRowId + from, obsDim, actionDim, source, origins, columns };
}

/** Row `index` of a [rows, dim] column as plain numbers. */
export function rowOf(column: Float32Array, index: number, dim: number): number[] {
  return Array.from(column.subarray(index * dim, (index + 1) * dim));
}

/** What makes bytes, or anything else, of a slice: here or, by its folder and range, in a thread. */
export interface SliceTask<Range extends SliceRange, T> extends PoolTask<{ folder: string; range: Range }, T> {
  readonly encode: (slice: TransitionSlice, range: Range) => Promise<T>;
}

/** A task that its module exports as `name`; see `poolTask`. */
export function sliceTask<Range extends SliceRange, T>(
  from: string,
  name: string,
  encode: SliceTask<Range, T>['encode'],
): SliceTask<Range, T> {
  const task = poolTask(from, name, async ({ folder, range }: { folder: string; range: Range }) => {
    const saved = await SavedTransitions.open(folder);
    try {
      return moved(await encode(await sliceOf(saved, range), range));
    } finally {
      await saved.close();
    }
  });
  return { ...task, encode };
}

/** What `task` makes of each range, in order. */
export async function* encodedSlices<Range extends SliceRange, T>(
  saved: SavedTransitions,
  ranges: Iterable<Range>,
  task: SliceTask<Range, T>,
  { pool, signal, onRows }: ExportOptions,
): AsyncGenerator<T> {
  const workers = pool?.workers ?? 0;
  const work = async (range: Range, stop: AbortSignal) => {
    const make = () => ({ folder: saved.folder, range });
    const encoded =
      workers > 0
        ? await pool!.run(task, make, { signal: stop, label: `rows ${range.from} and on` })
        : await task.encode(await sliceOf(saved, range), range);
    return { encoded, rows: range.rows };
  };
  let done = 0;
  for await (const { encoded, rows } of inOrder(ranges, work, { ahead: workers + 1, signal })) {
    yield encoded;
    done += rows;
    onRows?.(done);
  }
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
const NAMES = Object.keys(TRANSITION_COLUMNS);
const TYPES = Object.fromEntries(NAMES.map((name) => [name, TRANSITION_COLUMNS[name].type]));

interface FileExportOptions extends ExportOptions {
  readonly path: string;
}

/**
 * Writes transitions as Parquet, in row groups of 32768; columns are those of `TRANSITION_COLUMNS`. The file appears whole
 * or not at all. Throws OUTPUT_EXISTS, STORAGE_FULL, STORAGE_FAILED.
 */
export async function exportParquet(saved: SavedTransitions, { path, ...options }: FileExportOptions): Promise<void> {
  const file = new ParquetFile(TYPES);
  const pieces = async function* () {
    for await (const group of encodedSlices(saved, rangesOf(saved), parquetGroupTask, options)) yield file.add(group);
    yield file.finish();
  };
  await writeNew(path, pieces());
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

async function writeNew(path: string, content: FileContent): Promise<void> {
  await refuseExisting(path);
  await ensureFolder(dirname(path));
  await writeFileAtomic(path, content);
}

function* rangesOf({ rows }: SavedTransitions): Generator<SliceRange> {
  for (let from = 0; from < rows; from += GROUP_ROWS) yield { from, rows: Math.min(GROUP_ROWS, rows - from) };
}

export const parquetGroupTask = sliceTask(import.meta.url, 'parquetGroupTask', async (slice): Promise<EncodedGroup> => {
  const group = NAMES.map((name) => {
    const { of } = TRANSITION_COLUMNS[name];
    return [name, Array.from({ length: slice.rows }, (_, row) => of(slice, row))] as const;
  });
  return encodeGroup(TYPES, Object.fromEntries(group));
});
