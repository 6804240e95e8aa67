// What synth.kills holds a run's folder against: rows of its journal, none lost, none changed, none twice.

import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Json } from '../src/core/canonical-json.js';
import { canonicalJson } from '../src/core/canonical-json.js';
import type { EpisodeRecord } from '../src/replay/experience/experience.js';
import { RowJournal } from '../src/synth/episodes/produce-rows.js';

/** Hash of what each row is. */
export type RowHashes = ReadonlyMap<number, string>;

const FILE = 'rollouts.journal';
const HEAD_BYTES = 16;

/** The rows of a journal, read from a copy, as opening one mends it: that is the run's own to do. */
export async function rowsOnDisk(folder: string): Promise<{ readonly rows: RowHashes; readonly isTorn: boolean }> {
  const rows = new Map<number, string>();
  const job = jobOf(join(folder, FILE));
  if (job === undefined) return { rows, isTorn: false };
  const copy = mkdtempSync(join(tmpdir(), 'reverie-journal-'));
  try {
    cpSync(folder, copy, { recursive: true });
    const size = statSync(join(copy, FILE)).size;
    const journal = await RowJournal.open<EpisodeRecord>(copy, job);
    for (const row of journal.rows) rows.set(row, hashOf(await journal.read(row)));
    await journal.close();
    return { rows, isTorn: statSync(join(copy, FILE)).size < size };
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

/** The job that a journal is of, as its first record says; undefined where that is not whole. */
function jobOf(file: string): Record<string, string> | undefined {
  if (!existsSync(file)) return undefined;
  const bytes = readFileSync(file);
  if (bytes.length < HEAD_BYTES) return undefined;
  const end = HEAD_BYTES + bytes.readUInt32LE(8);
  return bytes.length < end ? undefined : JSON.parse(bytes.subarray(HEAD_BYTES, end).toString('utf8'));
}

/** Every row that was durable before must still be there, as it was. */
export function requireGrowth(before: RowHashes, after: RowHashes, where: string): void {
  for (const [row, hash] of before) {
    if (!after.has(row)) throw new Error(`${where}: row ${row} is lost`);
    if (after.get(row) !== hash) throw new Error(`${where}: row ${row} is not what it was`);
  }
}

/** Rows 0 to n - 1 once each in the journal; in the data each at most once, in order, as in the journal but for repairs. */
export async function requireWhole(run: string, n: number): Promise<void> {
  const { rows } = await rowsOnDisk(join(run, 'journal'));
  const missing = Array.from({ length: n }, (_, row) => row).filter((row) => !rows.has(row));
  if (missing.length > 0 || rows.size !== n)
    throw new Error(`${run}: ${rows.size} rows of ${n}; missing: ${missing.join(', ') || 'none'}`);
  const lines = readFileSync(join(run, 'data', 'episodes.jsonl'), 'utf8')
    .trim()
    .split('\n');
  const written = lines.map((line) => JSON.parse(line) as EpisodeRecord);
  const ids = new Set(written.map(({ id }) => id));
  if (ids.size !== written.length) throw new Error(`${run}: an episode is twice in the data`);
  const isOrdered = written.every(({ row }, i) => i === 0 || row > written[i - 1].row);
  if (!isOrdered) throw new Error(`${run}: the data are not in the order of rows, or a row is twice`);
}

export function runStatus(run: string): string | undefined {
  const file = join(run, 'run.json');
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')).status : undefined;
}

function hashOf(value: unknown): string {
  const json = JSON.parse(JSON.stringify(value)) as Json;
  return createHash('sha256').update(canonicalJson(json)).digest('hex');
}
