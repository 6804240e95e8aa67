// Transitions as one file, a row each, with all that is known of where they came from: Parquet and JSON Lines.

import { stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { reverieError } from '../../core/errors.js';
import type { RowProvenance } from '../../replay/index.js';
import { ensureFolder, type FileContent, writeFileAtomic } from '../../store/atomic-file.js';
import { type ColumnType, parquetPieces, type RowGroup } from './parquet-file.js';
import { rowOf, type TransitionSource, type TransitionTable, tableOf } from './table.js';

// The columns of an exported transition: their names (as Python readers write them), types and where they come from.
// Unknown numbers and absent texts are null.

type Cell = number | bigint | boolean | string | null | readonly number[];

interface Column {
  readonly type: ColumnType;
  /** `index`: where the row lies in the batch. */
  readonly of: (table: TransitionTable, index: number, provenance: RowProvenance) => Cell;
}

export const TRANSITION_COLUMNS: Readonly<Record<string, Column>> = {
  obs: { type: 'float list', of: ({ batch, obsDim }, i) => rowOf(batch.obs, i, obsDim) },
  action: { type: 'float list', of: ({ batch, actionDim }, i) => rowOf(batch.action, i, actionDim) },
  reward: { type: 'float', of: ({ batch }, i) => batch.reward[i] },
  terminated: { type: 'boolean', of: ({ batch }, i) => batch.terminated[i] === 1 },
  truncated: { type: 'boolean', of: ({ batch }, i) => batch.truncated[i] === 1 },
  next_obs: { type: 'float list', of: ({ batch, obsDim }, i) => rowOf(batch.nextObs, i, obsDim) },
  source: { type: 'text', of: (_, __, { source }) => source },
  backend: { type: 'text', of: (_, __, { backend }) => backend },
  model_version: { type: 'text', of: (_, __, { modelVersion }) => modelVersion || null },
  scenario: { type: 'text', of: (_, __, { scenario }) => scenario || null },
  task: { type: 'text', of: (_, __, { task }) => task || null },
  policy_version: { type: 'text', of: (_, __, { policyVersion }) => policyVersion || null },
  seed: { type: 'integer', of: (_, __, { seed }) => seed },
  row_id: { type: 'integer', of: (_, __, { rowId }) => rowId },
  episode: { type: 'integer', of: (_, __, { episode }) => episode },
  step: { type: 'integer', of: (_, __, { step }) => step },
  group: { type: 'integer', of: (_, __, { group }) => (group < 0 ? null : group) },
  parent: { type: 'integer', of: (_, __, { parent }) => (parent < 0 ? null : parent) },
  log_prob: { type: 'float', of: (_, __, { logProb }) => known(logProb) },
  confidence: { type: 'float', of: (_, __, { confidence }) => known(confidence) },
  state_hash: { type: 'text', of: (_, __, { stateHash }) => (stateHash === 0n ? null : hex(stateHash)) },
};

function known(value: number): number | null {
  return Number.isNaN(value) ? null : value;
}

function hex(hash: bigint): string {
  return hash.toString(16).padStart(16, '0');
}

const GROUP_ROWS = 32_768;
const NAMES = Object.keys(TRANSITION_COLUMNS);

/**
 * Writes transitions as Parquet, in row groups of 32768; columns are those of `TRANSITION_COLUMNS`. The file appears whole
 * or not at all. Answers the rows written. Throws EXPORT_EXISTS, STORAGE_FULL, STORAGE_FAILED.
 */
export async function exportParquet(source: TransitionSource, path: string): Promise<number> {
  const table = tableOf(source);
  const types = Object.fromEntries(NAMES.map((name) => [name, TRANSITION_COLUMNS[name].type]));
  await writeNew(path, parquetPieces(types, rowGroups(table)));
  return table.rows;
}

/** The same rows and names as `exportParquet`, one JSON object a line. */
export async function exportJsonl(source: TransitionSource, path: string): Promise<number> {
  const table = tableOf(source);
  await writeNew(path, jsonLines(table));
  return table.rows;
}

/** Throws EXPORT_EXISTS if there is anything at `path`. */
export async function refuseExisting(path: string): Promise<void> {
  const there = await stat(path).catch(() => undefined);
  if (there) throw reverieError('EXPORT_EXISTS', { path });
}

async function writeNew(path: string, content: FileContent): Promise<void> {
  await refuseExisting(path);
  await ensureFolder(dirname(path));
  await writeFileAtomic(path, content);
}

function* rowGroups(table: TransitionTable): Generator<RowGroup> {
  for (let from = 0; from < table.rows; from += GROUP_ROWS) {
    const group: Record<string, Cell[]> = Object.fromEntries(NAMES.map((name) => [name, []]));
    const to = Math.min(table.rows, from + GROUP_ROWS);
    for (let row = from; row < to; row++) for (const [name, cell] of cellsOf(table, row)) group[name].push(cell);
    yield group;
  }
}

function* jsonLines(table: TransitionTable): Generator<Uint8Array> {
  const encoder = new TextEncoder();
  for (let from = 0; from < table.rows; from += GROUP_ROWS) {
    const lines: string[] = [];
    const to = Math.min(table.rows, from + GROUP_ROWS);
    for (let row = from; row < to; row++) lines.push(`${JSON.stringify(Object.fromEntries(cellsOf(table, row)))}\n`);
    yield encoder.encode(lines.join(''));
  }
}

function cellsOf(table: TransitionTable, row: number): [name: string, cell: Cell][] {
  const index = table.indexOf(row);
  const provenance = table.provenanceOf(row);
  return NAMES.map((name) => [name, TRANSITION_COLUMNS[name].of(table, index, provenance)]);
}
