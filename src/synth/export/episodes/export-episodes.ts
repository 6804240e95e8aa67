// Episodes once, in any of the formats that trainers read: a folder with data in shards by split, and a card.

import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { reverieError } from '../../../core/errors.js';
import { ensureFolder, replaceFolderAtomic } from '../../../core/files.js';
import { type Entry, Registry } from '../../../core/registry.js';
import type { ToolsDomain, ToolsTask } from '../../../env/tools/domain.js';
import type { EpisodeRecord } from '../../../replay/experience/experience.js';
import { whyNotImitated } from '../../quality/quality-pipeline.js';
import { adpFormat } from './adp.js';
import { atifFormat } from './atif.js';
import { type CardOptions, cardText } from './card.js';
import { type DataFiles, type EpisodeFormat, type FormatContext, type FormatRow, ONLY_TABLE } from './format.js';
import { toolDefinitions } from './messages.js';
import { openAiFormat } from './openai.js';
import { parquetFormat } from './parquet.js';
import { ShardWriter } from './shards.js';
import { shareGptFormat } from './sharegpt.js';
import { EpisodeStatistics } from './statistics.js';
import { trlFormat } from './trl.js';
import { verlFormat } from './verl.js';

/** A format of datasets of episodes: what writes rows, made for a domain and its tools. `name` is what `synth.export` gives. */
export type EpisodeExport = Entry<(context: FormatContext) => EpisodeFormat>;

const entry = (name: string, summary: string, format: (context: FormatContext) => EpisodeFormat): EpisodeExport => ({
  ...{ name, summary },
  make: async () => format,
});

export const episodeExports = new Registry<EpisodeExport>('export', [
  entry('openai', "OpenAI's fine-tuning rows.", openAiFormat),
  entry('sharegpt', "ShareGPT's conversations, as LLaMA-Factory reads them.", shareGptFormat),
  entry('trl', "TRL's trainers: messages, completions, preferences.", trlFormat),
  entry('verl', "verl's supervised and reinforcement learning.", verlFormat),
  entry('atif', 'Trajectories in ATIF.', atifFormat),
  entry('adp', 'Trajectories in ADP.', adpFormat),
  entry('parquet', 'One wide table.', parquetFormat),
]);

/** Names of formats that are registered now. */
export const episodeFormatSchema = z.lazy(() => z.enum(episodeExports.names() as [string, ...string[]]));

export interface EpisodeExportOptions {
  /** Name of a registered format. */
  readonly format: string;
  /** A folder that is not there yet, or is empty. */
  readonly folder: string;
  readonly domain: ToolsDomain;
  /** Tasks beyond the domain's own, where episodes were made from them. */
  readonly tasks?: readonly ToolsTask[];
  readonly card: CardOptions;
  /** Least reward of an episode that is written to be imitated; `any`: all of them. Default 1. */
  readonly imitation?: number | 'any';
  /** Bytes (as JSON) of a shard, roughly; default 256 MiB. */
  readonly shardBytes?: number;
}

export interface WrittenEpisodes {
  /** Paths within the folder, data first. */
  readonly files: readonly string[];
  readonly rows: number;
  /** Rows by table: formats of more than one kind of row have a configuration for each. */
  readonly tables: Readonly<Record<string, number>>;
  /** What had to be changed to fit the format, to the number of episodes. */
  readonly adapted: Readonly<Record<string, number>>;
}

/**
 * Writes a dataset; its folder appears whole or not at all, and equal records make equal bytes. Records are read once and
 * never all held: rows of a group should lie side by side, as they do in the order of rows.
 * @throws OUTPUT_EXISTS, STORAGE_FULL, STORAGE_FAILED
 */
export async function exportEpisodes(
  records: AsyncIterable<EpisodeRecord> | Iterable<EpisodeRecord>,
  options: EpisodeExportOptions,
): Promise<WrittenEpisodes> {
  await refuseOccupied(options.folder);
  await ensureFolder(dirname(options.folder));
  let made: WrittenEpisodes | undefined;
  await replaceFolderAtomic(options.folder, async (temporary) => {
    made = await writeDataset(records, temporary, options);
  });
  return made as WrittenEpisodes;
}

async function refuseOccupied(folder: string): Promise<void> {
  const entries = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw reverieError(
      'OUTPUT_EXISTS',
      {
        problem: `There is already something at "${folder}".`,
        hint: 'Export into a new folder or file name, or remove that one first.',
      },
      error,
    );
  });
  if (entries.length > 0)
    throw reverieError('OUTPUT_EXISTS', {
      problem: `There is already something at "${folder}".`,
      hint: 'Export into a new folder or file name, or remove that one first.',
    });
}

async function writeDataset(
  records: AsyncIterable<EpisodeRecord> | Iterable<EpisodeRecord>,
  folder: string,
  options: EpisodeExportOptions,
): Promise<WrittenEpisodes> {
  const adapted = new Adaptations();
  const make = await episodeExports.get(options.format).make();
  const format = make(contextOf(options, (reason) => adapted.add(reason)));
  const statistics = new EpisodeStatistics();
  const shards = new ShardWriter(folder, format.tables, options.shardBytes ?? 256 * 2 ** 20);
  const least = options.imitation ?? 1;
  const tables = await writeRows(records, format, shards, {
    seen: (record) => {
      statistics.add(record);
      adapted.next();
    },
    whyNotImitated: (record) => whyNotImitated(record, least),
    leftOut: (reason) => adapted.add(reason),
  });
  const files = await shards.finish();
  const others = await writeOthers(folder, format, files);
  const { domain, card } = options;
  const input = { format: { name: options.format, format }, domain, options: card, statistics, files, rows: tables };
  await writeFile(join(folder, 'README.md'), cardText({ ...input, adapted: adapted.counts() }));
  const data = [...files.values()].flatMap((splits) => [...splits.values()].flat());
  const rows = Object.values(tables).reduce((sum, count) => sum + count, 0);
  return { files: [...data, ...others, 'README.md'], rows, tables, adapted: adapted.counts() };
}

function contextOf({ domain, tasks = [], card }: EpisodeExportOptions, adapt: (reason: string) => void): FormatContext {
  const byId = new Map([...domain.tasks, ...tasks].map((task) => [task.id, task]));
  const { license } = card;
  return { domain, tools: toolDefinitions(domain), taskOf: (id) => byId.get(id), license, adapt };
}

interface RowGate {
  readonly seen: (record: EpisodeRecord) => void;
  readonly whyNotImitated: (record: EpisodeRecord) => string | undefined;
  readonly leftOut: (reason: string) => void;
}

async function writeRows(
  records: AsyncIterable<EpisodeRecord> | Iterable<EpisodeRecord>,
  format: EpisodeFormat,
  shards: ShardWriter,
  { seen, whyNotImitated, leftOut }: RowGate,
): Promise<Record<string, number>> {
  const rows: Record<string, number> = {};
  const write = async (row: FormatRow): Promise<void> => {
    await shards.write(row);
    const table = row.table ?? ONLY_TABLE;
    rows[table] = (rows[table] ?? 0) + 1;
  };
  try {
    for await (const record of records) {
      seen(record);
      const reason = whyNotImitated(record);
      for (const row of format.rows(record)) {
        if (reason === undefined || !format.tables[row.table ?? ONLY_TABLE].isImitated) await write(row);
        else leftOut(`not written to be imitated: ${reason}`);
      }
    }
    for (const row of format.end?.() ?? []) await write(row);
    return rows;
  } catch (error) {
    await shards.close();
    throw error;
  }
}

async function writeOthers(folder: string, format: EpisodeFormat, data: DataFiles): Promise<string[]> {
  const others = Object.entries(format.files?.(data) ?? {});
  for (const [path, content] of others) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), `${JSON.stringify(content, null, 2)}\n`);
  }
  return others.map(([path]) => path);
}

/** Counts episodes by what was changed in them: each reason once an episode. */
class Adaptations {
  private readonly byReason = new Map<string, number>();
  private readonly ofThis = new Set<string>();

  next(): void {
    this.ofThis.clear();
  }

  add(reason: string): void {
    if (this.ofThis.has(reason)) return;
    this.ofThis.add(reason);
    this.byReason.set(reason, (this.byReason.get(reason) ?? 0) + 1);
  }

  counts(): Record<string, number> {
    return Object.fromEntries([...this.byReason].sort(([a], [b]) => (a < b ? -1 : 1)));
  }
}
