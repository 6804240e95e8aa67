// Reading back what was exported.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parquetReadObjects } from 'hyparquet';
import type { EpisodeRecord } from '../../../src/replay/experience/experience.js';
import { textTurns } from '../../../src/synth/export/episodes/chat-formats.js';
import { type EpisodeExportOptions, exportEpisodes } from '../../../src/synth/export/episodes/export-episodes.js';
import { toLastTurn, toolDefinitions } from '../../../src/synth/export/episodes/format.js';
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

/** What the agent said in an episode, as text with its calls in tags, and whether it may be learnt. */
export function agentTexts(record: EpisodeRecord) {
  const context = { tools: toolDefinitions(parcelDomain()), adapt: () => {} };
  return textTurns(record, toLastTurn(record.messages, context.adapt), context).filter(
    ({ role }) => role === 'assistant',
  );
}
