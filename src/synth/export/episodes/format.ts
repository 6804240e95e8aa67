// What a format of episodes is: rows made from records, one after another, and what a reader must know of them.

import type { Json, JsonObject } from '../../../core/canonical-json.js';
import type { ToolsDomain, ToolsTask } from '../../../env/tools/domain.js';
import type { EpisodeRecord } from '../../../replay/experience/experience.js';
import type { Split } from '../../quality/quality-config.js';
import type { ToolDefinition } from './messages.js';
import type { NestedColumns } from './nested-parquet.js';

export type { Split };

export interface FormatContext {
  readonly domain: ToolsDomain;
  readonly tools: readonly ToolDefinition[];
  readonly taskOf: (id: string) => ToolsTask | undefined;
  readonly license: string;
  /** Says of the record at hand that it could not be written as it is; each reason is counted once a record. */
  readonly adapt: (reason: string) => void;
}

/** Rows of one form: a configuration of the dataset, with files of its own. */
export interface FormatTable {
  /** Columns of Parquet files; absent: JSON Lines. */
  readonly columns?: NestedColumns;
  /** Feature types for the card, as `datasets` writes them in YAML: JSON Lines alone have no types. */
  readonly features?: readonly JsonObject[];
  /** Whether what the agent does in a row is to be imitated: then only episodes that were good enough make rows of it. */
  readonly isImitated?: boolean;
  /** Whether each split has a folder of its own. */
  readonly splitFolders?: boolean;
}

export interface FormatRow {
  /** Which of the format's tables; absent: the only one. */
  readonly table?: string;
  readonly split: Split;
  readonly value: JsonObject;
}

/** Paths of data files within the folder, by table and split. */
export type DataFiles = ReadonlyMap<string, ReadonlyMap<Split, readonly string[]>>;

export const ONLY_TABLE = 'default';

export interface EpisodeFormat {
  /** By name, the one that readers get by default first. */
  readonly tables: Readonly<Record<string, FormatTable>>;
  /** How it is trained on, as Markdown, for the card. */
  readonly use?: string;
  rows(record: EpisodeRecord): Iterable<FormatRow>;
  /** Rows that waited for more records. */
  end?(): Iterable<FormatRow>;
  /** Further files beside the data: name to content. */
  files?(data: DataFiles): Readonly<Record<string, Json>>;
}
