// Reading back what was exported.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parquetReadObjects } from 'hyparquet';
import type { EpisodeRecord } from '../../../src/replay/experience/experience.js';
import { type EpisodeExportOptions, exportEpisodes } from '../../../src/synth/export/episodes/export-episodes.js';
import { parcelDomain } from '../episode-records.js';

export const CARD = { name: 'Parcels', license: 'cc-by-4.0' };

export async function exported(
  folder: string,
  format: EpisodeExportOptions['format'],
  records: Iterable<EpisodeRecord> | AsyncIterable<EpisodeRecord>,
  change: Partial<EpisodeExportOptions> = {},
) {
  const result = await exportEpisodes(records, { format, folder, domain: parcelDomain(), card: CARD, ...change });
  return { ...result, card: readFileSync(join(folder, 'README.md'), 'utf8') };
}

// biome-ignore lint/suspicious/noExplicitAny: rows of any format
export type Row = any;

export function jsonLines(folder: string, path: string): Row[] {
  const lines = readFileSync(join(folder, path), 'utf8').split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line));
}

export async function parquetRows(folder: string, path: string): Promise<Row[]> {
  const bytes = readFileSync(join(folder, path));
  const rows = await parquetReadObjects({
    file: bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length),
  });
  return JSON.parse(JSON.stringify(rows, (_, value) => (typeof value === 'bigint' ? Number(value) : value)));
}
