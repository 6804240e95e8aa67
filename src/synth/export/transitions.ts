// Transitions as one file, a row each, with all that is known of where they came from: Parquet and JSON Lines.

import { stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { ensureFolder, type FileContent, writeFileAtomic } from '../../atomic-file.js';
import { reverieError } from '../../errors.js';
import { type Cell, TRANSITION_COLUMNS } from './columns.js';
import { parquetPieces, type RowGroup } from './parquet-file.js';
import { type TransitionSource, type TransitionTable, tableOf } from './table.js';

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
