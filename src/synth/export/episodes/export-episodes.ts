// Episodes once, in any of the formats that trainers read: a folder with data in shards by split, and a card.

import { type FileHandle, mkdir, open, readdir, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import type { JsonObject } from '../../../core/canonical-json.js';
import { ensureFolder, replaceFolderAtomic } from '../../../core/files.js';
import { type Entry, Registry } from '../../../core/registry.js';
import type { ToolsDomain, ToolsTask } from '../../../env/tools/domain.js';
import type { EpisodeRecord } from '../../../replay/experience/experience.js';
import { whyNotImitated } from '../../quality/quality-pipeline.js';
import { ParquetFile } from '../parquet-file.js';
import { outputExists } from '../transitions.js';
import { type CardOptions, cardText, EpisodeStatistics, extensionOf, folderOf } from './card.js';
import { openAiFormat, shareGptFormat, verlFormat } from './chat-formats.js';
import {
  type DataFiles,
  type EpisodeFormat,
  type FormatContext,
  type FormatRow,
  type FormatTable,
  ONLY_TABLE,
  type Split,
  toolDefinitions,
} from './format.js';
import { adpFormat, atifFormat, parquetFormat } from './trajectory-formats.js';
import { trlFormat } from './trl.js';

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

interface WrittenEpisodes {
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
  const { folder } = options;
  const entries = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw outputExists(folder, error);
  });
  if (entries.length > 0) throw outputExists(folder);
  await ensureFolder(dirname(folder));
  let made: WrittenEpisodes | undefined;
  await replaceFolderAtomic(folder, async (temporary) => {
    made = await writeDataset(records, temporary, options);
  });
  return made as WrittenEpisodes;
}

async function writeDataset(
  records: AsyncIterable<EpisodeRecord> | Iterable<EpisodeRecord>,
  folder: string,
  { format: name, domain, tasks = [], card, imitation = 1, shardBytes = 256 * 2 ** 20 }: EpisodeExportOptions,
): Promise<WrittenEpisodes> {
  const adaptations = new Adaptations();
  const adapt = (reason: string) => adaptations.add(reason);
  const byId = new Map([...domain.tasks, ...tasks].map((task) => [task.id, task]));
  const context = { tools: toolDefinitions(domain), taskOf: (id: string) => byId.get(id), license: card.license };
  const format = (await episodeExports.get(name).make())({ ...context, domain, adapt });
  const statistics = new EpisodeStatistics();
  const shards = new ShardWriter(folder, format.tables, shardBytes);
  try {
    for await (const record of records) {
      statistics.add(record);
      adaptations.next();
      const reason = whyNotImitated(record, imitation);
      for (const row of format.rows(record)) {
        if (reason === undefined || !format.tables[row.table ?? ONLY_TABLE].isImitated) await shards.write(row);
        else adapt(`not written to be imitated: ${reason}`);
      }
    }
    for (const row of format.end?.() ?? []) await shards.write(row);
  } catch (error) {
    await shards.close();
    throw error;
  }
  const files = await shards.finish();
  const others = Object.entries(format.files?.(files) ?? {});
  for (const [path, content] of others) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), `${JSON.stringify(content, null, 2)}\n`);
  }
  const { rows: tables } = shards;
  const adapted = adaptations.counts();
  const input = { format: { name, format }, domain, options: card, statistics, files, rows: tables, adapted };
  await writeFile(join(folder, 'README.md'), cardText(input));
  const data = [...files.values()].flatMap((splits) => [...splits.values()].flat());
  const rows = Object.values(tables).reduce((sum, count) => sum + count, 0);
  return { files: [...data, ...others.map(([path]) => path), 'README.md'], rows, tables, adapted };
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

/** Rows and bytes (as JSON) of a row group, or of what is written at once. */
const GROUP_ROWS = 1024;
const GROUP_BYTES = 8 * 2 ** 20;

const SPLITS: readonly Split[] = ['train', 'validation', 'test'];

/** A series of shards for each table and split, written as rows come, none larger than it should be. */
class ShardWriter {
  /** By table. */
  readonly rows: Record<string, number> = {};
  private readonly shards = new Map<string, SplitShards>();

  constructor(
    private readonly folder: string,
    private readonly tables: Readonly<Record<string, FormatTable>>,
    private readonly shardBytes: number,
  ) {}

  async write({ table = ONLY_TABLE, split, value }: FormatRow): Promise<void> {
    const key = `${table}/${split}`;
    let shards = this.shards.get(key);
    if (!shards) {
      shards = new SplitShards(this.folder, table, split, this.tables[table], this.shardBytes);
      this.shards.set(key, shards);
    }
    await shards.write(value);
    this.rows[table] = (this.rows[table] ?? 0) + 1;
  }

  /** Ends all files and gives them their names. */
  async finish(): Promise<DataFiles> {
    const files = new Map<string, Map<Split, readonly string[]>>();
    for (const table of Object.keys(this.tables)) {
      for (const split of SPLITS) {
        const shards = this.shards.get(`${table}/${split}`);
        if (!shards) continue;
        const ofTable = files.get(table) ?? new Map<Split, readonly string[]>();
        files.set(table, ofTable.set(split, await shards.finish()));
      }
    }
    return files;
  }

  async close(): Promise<void> {
    for (const shards of this.shards.values()) await shards.close();
  }
}

class SplitShards {
  private file?: FileHandle;
  private parquet?: ParquetFile;
  private rows: JsonObject[] = [];
  private waiting = 0;
  private written = 0;
  private count = 0;

  constructor(
    private readonly folder: string,
    private readonly name: string,
    private readonly split: Split,
    private readonly table: FormatTable,
    private readonly shardBytes: number,
  ) {}

  async write(row: JsonObject): Promise<void> {
    this.rows.push(row);
    this.waiting += JSON.stringify(row).length;
    if (this.rows.length >= GROUP_ROWS || this.waiting >= Math.min(GROUP_BYTES, this.shardBytes)) await this.flush();
    if (this.written >= this.shardBytes) await this.endShard();
  }

  async finish(): Promise<string[]> {
    await this.flush();
    await this.endShard();
    const paths: string[] = [];
    for (let index = 0; index < this.count; index++) {
      const path = this.pathOf(index, this.count);
      await mkdir(dirname(join(this.folder, path)), { recursive: true });
      await rename(this.partOf(index), join(this.folder, path));
      paths.push(path);
    }
    return paths;
  }

  async close(): Promise<void> {
    await this.file?.close();
    this.file = undefined;
  }

  private async flush(): Promise<void> {
    if (this.rows.length === 0) return;
    const { columns } = this.table;
    if (!this.file) {
      await mkdir(dirname(this.partOf(this.count)), { recursive: true });
      this.file = await open(this.partOf(this.count), 'wx');
      this.parquet = columns && new ParquetFile(columns);
      this.count++;
    }
    const lines = () => Buffer.from(this.rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
    await this.file.writeFile(this.parquet?.addRows(this.rows) ?? lines());
    this.written += this.waiting;
    this.rows = [];
    this.waiting = 0;
  }

  private async endShard(): Promise<void> {
    if (this.parquet) await this.file?.writeFile(this.parquet.finish());
    await this.close();
    this.written = 0;
  }

  private partOf(index: number): string {
    return join(this.folder, folderOf(this.name), `${this.split}-${index}.part`);
  }

  private pathOf(index: number, of: number): string {
    const number = (value: number) => String(value).padStart(5, '0');
    const name = `${this.split}-${number(index)}-of-${number(of)}.${extensionOf(this.table)}`;
    const folder = folderOf(this.name);
    return this.table.splitFolders ? `${folder}/${this.split}/${name}` : `${folder}/${name}`;
  }
}
