// Episodes once, in any of the formats that trainers read: a folder with a data file for each table and split, and a card.

import { type FileHandle, mkdir, open, readdir, writeFile } from 'node:fs/promises';
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
import { type CardOptions, cardText, EpisodeStatistics } from './card.js';
import { openAiFormat, shareGptFormat, verlFormat } from './chat-formats.js';
import {
  type DataFiles,
  type EpisodeFormat,
  type FormatContext,
  type FormatTable,
  ONLY_TABLE,
  type Split,
  toolDefinitions,
  type WorldPrompt,
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
  entry('verl', "Starts for verl's reinforcement learning.", verlFormat),
  entry('atif', 'Trajectories in ATIF.', atifFormat),
  entry('adp', 'Trajectories in ADP.', adpFormat),
  entry('parquet', 'One wide table.', parquetFormat),
  {
    name: 'world-model',
    summary: 'Calls and their answers, as a language model that simulates the tools is asked and has to answer.',
    make: async () => (await import('./world-model.js')).worldModelFormat,
  },
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
  /** For rows that train a world model: the context of its prompts. */
  readonly world?: WorldPrompt;
  /** Least reward of an episode that is written to be imitated; `any`: all of them. Default 1. */
  readonly imitation?: number | 'any';
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
  { format: name, domain, tasks = [], card, world, imitation = 1 }: EpisodeExportOptions,
): Promise<WrittenEpisodes> {
  const adapted: Record<string, number> = {};
  // Each reason counts once an episode.
  const ofThis = new Set<string>();
  const adapt = (reason: string) => {
    if (!ofThis.has(reason)) adapted[reason] = (adapted[reason] ?? 0) + 1;
    ofThis.add(reason);
  };
  const byId = new Map([...domain.tasks, ...tasks].map((task) => [task.id, task]));
  const context = { tools: toolDefinitions(domain), taskOf: (id: string) => byId.get(id), license: card.license };
  const format = (await episodeExports.get(name).make())({ ...context, domain, world, adapt });
  const statistics = new EpisodeStatistics();
  const open = new Map<string, DataFile>();
  const rows: Record<string, number> = {};
  const write = async (table: string, split: Split, value: JsonObject) => {
    const key = `${table}/${split}`;
    const file = open.get(key) ?? new DataFile(folder, table, split, format.tables[table]);
    open.set(key, file);
    await file.write(value);
    rows[table] = (rows[table] ?? 0) + 1;
  };
  try {
    for await (const record of records) {
      statistics.add(record);
      ofThis.clear();
      const reason = whyNotImitated(record, imitation);
      for (const { table = ONLY_TABLE, split, value } of format.rows(record)) {
        if (reason === undefined || !format.tables[table].isImitated) await write(table, split, value);
        else adapt(`not written to be imitated: ${reason}`);
      }
    }
    for (const { table = ONLY_TABLE, split, value } of format.end?.() ?? []) await write(table, split, value);
    for (const file of open.values()) await file.finish();
  } finally {
    for (const file of open.values()) await file.close();
  }
  const files = filesOf(format, open);
  const others = Object.entries(format.files?.(files) ?? {});
  for (const [path, content] of others) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), `${JSON.stringify(content, null, 2)}\n`);
  }
  const changed = Object.fromEntries(Object.entries(adapted).sort(([a], [b]) => (a < b ? -1 : 1)));
  const input = { format: { name, format }, domain, options: card, statistics, files, rows, adapted: changed };
  await writeFile(join(folder, 'README.md'), cardText(input));
  const data = [...files.values()].flatMap((splits) => [...splits.values()]);
  const all = Object.values(rows).reduce((sum, count) => sum + count, 0);
  return {
    files: [...data, ...others.map(([path]) => path), 'README.md'],
    rows: all,
    tables: rows,
    adapted: changed,
  };
}

/** In the order of tables and splits. */
function filesOf({ tables }: EpisodeFormat, open: ReadonlyMap<string, DataFile>): DataFiles {
  const files = Object.keys(tables).map((table) => {
    const splits = (['train', 'validation', 'test'] as const).flatMap((split): [Split, string][] => {
      const file = open.get(`${table}/${split}`);
      return file === undefined ? [] : [[split, file.path]];
    });
    return [table, new Map(splits)] as const;
  });
  return new Map(files.filter(([, splits]) => splits.size > 0));
}

/** Rows and bytes (as JSON) of a row group, or of what is written at once. */
const GROUP_ROWS = 1024;
const GROUP_BYTES = 8 * 2 ** 20;

/** The data of a table and split, written as rows come. */
class DataFile {
  readonly path: string;
  private readonly parquet?: ParquetFile;
  private file?: FileHandle;
  private rows: JsonObject[] = [];
  private waiting = 0;

  constructor(
    private readonly folder: string,
    table: string,
    split: Split,
    { columns }: FormatTable,
  ) {
    const name = `${split}-00000-of-00001.${columns ? 'parquet' : 'jsonl'}`;
    this.path = table === ONLY_TABLE ? `data/${name}` : `data/${table}/${name}`;
    this.parquet = columns && new ParquetFile(columns);
  }

  async write(row: JsonObject): Promise<void> {
    this.rows.push(row);
    this.waiting += JSON.stringify(row).length;
    if (this.rows.length >= GROUP_ROWS || this.waiting >= GROUP_BYTES) await this.flush();
  }

  async finish(): Promise<void> {
    await this.flush();
    if (this.parquet) await this.file?.writeFile(this.parquet.finish());
  }

  async close(): Promise<void> {
    await this.file?.close();
  }

  private async flush(): Promise<void> {
    if (this.rows.length === 0) return;
    if (this.file === undefined) {
      const path = join(this.folder, this.path);
      await mkdir(dirname(path), { recursive: true });
      this.file = await open(path, 'wx');
    }
    const lines = () => Buffer.from(this.rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
    await this.file.writeFile(this.parquet?.addRows(this.rows) ?? lines());
    this.rows = [];
    this.waiting = 0;
  }
}
