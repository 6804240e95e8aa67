// Transitions as one file, a row each, with all that is known of where they came from: Parquet and JSON Lines.

import { stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { reverieError } from '../../core/errors.js';
import { ensureFolder, type FileContent, writeFileAtomic } from '../../core/files.js';
import type { Origin } from '../../replay/provenance.js';
import { type ColumnType, type EncodedGroup, encodeGroup, parquetFile } from './parquet-file.js';
import { type ExportOptions, encodedSlices, sliceTask } from './slice-task.js';
import { rowOf, type TransitionSlice, type TransitionSource, tableOf } from './table.js';

// The columns of an exported transition: their names (as Python readers write them), types and where they come from.
// Unknown numbers and absent texts are null.

type Cell = number | bigint | boolean | string | null | readonly number[];

interface Column {
  readonly type: ColumnType;
  readonly of: (slice: TransitionSlice, row: number) => Cell;
}

export const TRANSITION_COLUMNS: Readonly<Record<string, Column>> = {
  obs: { type: 'float list', of: ({ columns, obsDim }, i) => rowOf(columns.obs, i, obsDim) },
  action: { type: 'float list', of: ({ columns, actionDim }, i) => rowOf(columns.action, i, actionDim) },
  reward: { type: 'float', of: ({ columns }, i) => columns.reward[i] },
  terminated: { type: 'boolean', of: ({ columns }, i) => columns.terminated[i] === 1 },
  truncated: { type: 'boolean', of: ({ columns }, i) => columns.truncated[i] === 1 },
  next_obs: { type: 'float list', of: ({ columns, obsDim }, i) => rowOf(columns.nextObs, i, obsDim) },
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

/**
 * Writes transitions as Parquet, in row groups of 32768; columns are those of `TRANSITION_COLUMNS`. The file appears whole
 * or not at all. Answers the rows written. Throws OUTPUT_EXISTS, STORAGE_FULL, STORAGE_FAILED.
 */
export async function exportParquet(
  source: TransitionSource,
  path: string,
  options: ExportOptions = {},
): Promise<number> {
  const groups = encodedSlices(source, rangesOf(source), parquetGroupTask, {}, options);
  await writeNew(path, parquetFile(TYPES, groups));
  return tableOf(source).rows;
}

/** The same rows and names as `exportParquet`, one JSON object a line. */
export async function exportJsonl(
  source: TransitionSource,
  path: string,
  options: ExportOptions = {},
): Promise<number> {
  await writeNew(path, encodedSlices(source, rangesOf(source), jsonLinesTask, {}, options));
  return tableOf(source).rows;
}

/** Throws OUTPUT_EXISTS if there is anything at `path`. */
export async function refuseExisting(path: string): Promise<void> {
  const there = await stat(path).catch(() => undefined);
  if (there)
    throw reverieError('OUTPUT_EXISTS', {
      problem: `There is already something at "${path}".`,
      hint: 'Export into a new folder or file name, or remove that one first.',
    });
}

async function writeNew(path: string, content: FileContent): Promise<void> {
  await refuseExisting(path);
  await ensureFolder(dirname(path));
  await writeFileAtomic(path, content);
}

function* rangesOf(source: TransitionSource): Generator<{ from: number; rows: number }> {
  const { rows } = tableOf(source);
  for (let from = 0; from < rows; from += GROUP_ROWS) yield { from, rows: Math.min(GROUP_ROWS, rows - from) };
}

export const parquetGroupTask = sliceTask(import.meta.url, 'parquetGroupTask', async (slice): Promise<EncodedGroup> => {
  const group = NAMES.map((name) => {
    const { of } = TRANSITION_COLUMNS[name];
    const cells = new Array<Cell>(slice.rows);
    for (let row = 0; row < slice.rows; row++) cells[row] = of(slice, row);
    return [name, cells] as const;
  });
  return encodeGroup(TYPES, Object.fromEntries(group));
});

export const jsonLinesTask = sliceTask(import.meta.url, 'jsonLinesTask', async (slice): Promise<Uint8Array> => {
  const lines: string[] = [];
  for (let row = 0; row < slice.rows; row++) {
    const cells = NAMES.map((name) => [name, TRANSITION_COLUMNS[name].of(slice, row)]);
    lines.push(`${JSON.stringify(Object.fromEntries(cells))}\n`);
  }
  return new TextEncoder().encode(lines.join(''));
});
