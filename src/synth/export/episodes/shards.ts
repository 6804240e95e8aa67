// Rows as files: a series of shards for each table and split, written as rows come, none larger than it should be.

import { type FileHandle, mkdir, open, rename } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { JsonObject } from '../../../core/canonical-json.js';
import { type DataFiles, type FormatRow, type FormatTable, ONLY_TABLE, type Split } from './format.js';
import { NestedParquet } from './nested-parquet.js';

/** Rows and bytes (as JSON) of a row group, or of what is written at once. */
const GROUP_ROWS = 1024;
const GROUP_BYTES = 8 * 2 ** 20;

const SPLITS: readonly Split[] = ['train', 'validation', 'test'];

export class ShardWriter {
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

/** Folder of a table's data. */
export function folderOf(table: string): string {
  return table === ONLY_TABLE ? 'data' : `data/${table}`;
}

/** What a shard is written with: rows in, bytes out. */
interface Encoder {
  group(rows: readonly JsonObject[]): Uint8Array;
  end(): Uint8Array;
}

class SplitShards {
  private file?: FileHandle;
  private encoder?: Encoder;
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
    if (!this.file || !this.encoder) {
      await mkdir(dirname(this.partOf(this.count)), { recursive: true });
      this.file = await open(this.partOf(this.count), 'wx');
      this.encoder = encoderOf(this.table);
      this.count++;
    }
    await writeAll(this.file, this.encoder.group(this.rows));
    this.written += this.waiting;
    this.rows = [];
    this.waiting = 0;
  }

  private async endShard(): Promise<void> {
    if (this.file && this.encoder) await writeAll(this.file, this.encoder.end());
    await this.close();
    this.encoder = undefined;
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

export function extensionOf(table: FormatTable): 'parquet' | 'jsonl' {
  return table.columns ? 'parquet' : 'jsonl';
}

function encoderOf({ columns }: FormatTable): Encoder {
  if (!columns) {
    const encoder = new TextEncoder();
    const lines = (rows: readonly JsonObject[]) => rows.map((row) => `${JSON.stringify(row)}\n`).join('');
    return { group: (rows) => encoder.encode(lines(rows)), end: () => new Uint8Array() };
  }
  const parquet = new NestedParquet(columns);
  return { group: (rows) => parquet.rowGroup(rows), end: () => parquet.end() };
}

async function writeAll(file: FileHandle, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length; ) at += (await file.write(bytes, at, bytes.length - at)).bytesWritten;
}
