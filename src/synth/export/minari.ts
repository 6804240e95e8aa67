// Transitions as a Minari dataset (Farama, minari 0.5), stored as Parquet: a folder an episode, read by `minari.load_dataset`
// or straight from the folder. Layout: minari/dataset/_storages/arrow_storage.py and minari/serialization.py.

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { VectorSpace } from '../../core/environment.js';
import { reverieError } from '../../core/errors.js';
import { replaceFolderAtomic } from '../../core/files.js';
import type { SavedTransitions } from '../../replay/snapshot.js';
import type { Spaces } from '../../worldmodel/dynamics.js';
import { type ParquetColumns, ParquetFile } from './parquet-file.js';
import {
  type ExportOptions,
  refuseExisting,
  rowOf,
  type SliceRange,
  slicesOf,
  type TransitionSlice,
} from './transitions.js';

/** Dataset versions of this layout that minari 0.5 reads. */
const MINARI_VERSION = '0.5.3';
/** Rows that make a piece of work, and rows in whose numbers episodes are looked for at once. */
const RANGE_ROWS = 32_768;
const SCANNED_ROWS = 1 << 20;
const DATASET_ID = /^(?:[-\w][-\w/]*[-\w]\/)?[-\w]+?-v\d+$/;

export interface MinariOptions extends Spaces, ExportOptions {
  /** Folder of Minari datasets (`MINARI_DATASETS_PATH`). */
  readonly root: string;
  /** `namespace/name-v0`. */
  readonly datasetId: string;
  /** Further fields of the dataset's metadata. */
  readonly metadata?: Readonly<Record<string, unknown>>;
}

interface MinariExport {
  readonly episodes: number;
  /** Bytes of data files. */
  readonly bytes: number;
}

/**
 * Writes a dataset to `root/datasetId`; its folder appears whole or not at all. Where each episode came from is in its
 * `metadata.json`, under `reverie`. Throws SCENARIO_UNFIT, OUTPUT_EXISTS, STORAGE_FULL, STORAGE_FAILED.
 */
export async function exportMinari(saved: SavedTransitions, options: MinariOptions): Promise<MinariExport> {
  checkOptions(saved, options);
  const folder = join(options.root, ...options.datasetId.split('/'));
  await refuseExisting(folder);
  const ranges = await episodeRanges(saved);
  let all: MinariExport = { episodes: 0, bytes: 0 };
  await replaceFolderAtomic(folder, async (temporary) => {
    const data = join(temporary, 'data');
    for await (const [slice, { firstId }] of slicesOf(saved, ranges, options)) {
      const one = await writeEpisodes(slice, firstId, data, options);
      all = { episodes: all.episodes + one.episodes, bytes: all.bytes + one.bytes };
    }
    await writeFile(join(data, 'metadata.json'), JSON.stringify(datasetMetadata(all, saved.rows, options), null, 2));
  });
  return all;
}

function checkOptions({ rows }: SavedTransitions, { datasetId }: MinariOptions): void {
  if (!DATASET_ID.test(datasetId)) {
    const hint = 'Minari names datasets namespace/name-v0: letters, digits, "-" and "_", and a version.';
    throw reverieError('SCENARIO_UNFIT', { problem: `Cannot export: "${datasetId}" is no Minari dataset id.`, hint });
  }
  if (rows === 0) {
    const problem = 'Cannot export: there is no transition, and a Minari dataset has at least one.';
    throw reverieError('SCENARIO_UNFIT', { problem, hint: 'Give transitions, or leave Minari out.' });
  }
}

/** Rows of whole episodes, and the number of the first of them. */
interface EpisodeRange extends SliceRange {
  readonly firstId: number;
}

/** Ranges of whole episodes, which lie one after another. */
async function episodeRanges(saved: SavedTransitions): Promise<EpisodeRange[]> {
  const ranges: EpisodeRange[] = [];
  let open = { from: 0, firstId: 0 };
  let last = -1;
  let episodes = 0;
  for (let from = 0; from < saved.rows; from += SCANNED_ROWS) {
    const { episode } = await saved.read(from, Math.min(SCANNED_ROWS, saved.rows - from), ['episode']);
    for (let row = 0; row < episode.length; row++) {
      if (episode[row] === last) continue;
      last = episode[row];
      if (from + row - open.from >= RANGE_ROWS) {
        ranges.push({ ...open, rows: from + row - open.from });
        open = { from: from + row, firstId: episodes };
      }
      episodes++;
    }
  }
  return [...ranges, { ...open, rows: saved.rows - open.from }];
}

/** Writes the folders of a slice's episodes, numbered from `firstId`. */
async function writeEpisodes(
  slice: TransitionSlice,
  firstId: number,
  data: string,
  spaces: Spaces,
): Promise<MinariExport> {
  const episodes = episodesOf(slice);
  let bytes = 0;
  for (const [i, rows] of episodes.entries()) {
    const folder = join(data, String(firstId + i));
    await mkdir(folder, { recursive: true });
    const parquet = new ParquetFile(columnsOf(spaces));
    const file = Buffer.concat([parquet.add(episodeColumns(slice, rows, spaces)), parquet.finish()]);
    await writeFile(join(folder, 'part-0.parquet'), file);
    await writeFile(join(folder, 'metadata.json'), JSON.stringify(episodeMetadata(slice, rows, firstId + i)));
    bytes += file.length;
  }
  return { episodes: episodes.length, bytes };
}

function datasetMetadata({ episodes, bytes }: MinariExport, rows: number, options: MinariOptions): object {
  return {
    ...options.metadata,
    dataset_id: options.datasetId,
    total_episodes: episodes,
    total_steps: rows,
    dataset_size: Math.round(bytes / 1e5) / 10,
    data_format: 'parquet',
    observation_space: minariSpace(options.observationSpace),
    action_space: minariSpace(options.actionSpace),
    minari_version: MINARI_VERSION,
  };
}

function columnsOf({ observationSpace, actionSpace }: Spaces): ParquetColumns {
  const typeOf = (space: VectorSpace) => (space.type === 'discrete' ? 'integer' : 'floats');
  return {
    observations: typeOf(observationSpace),
    actions: typeOf(actionSpace),
    rewards: 'double',
    terminations: 'boolean',
    truncations: 'boolean',
  };
}

/** T steps as T + 1 rows: one observation more than actions, whose last entry (and that of the rest) is padding. */
function episodeColumns(slice: TransitionSlice, at: EpisodeRows, { observationSpace, actionSpace }: Spaces) {
  const { columns: batch, obsDim, actionDim } = slice;
  const last = at[at.length - 1];
  const cellOf = (space: VectorSpace, values: number[]) => (space.type === 'discrete' ? values[0] : values);
  const observations = [...at.map((row) => rowOf(batch.obs, row, obsDim)), rowOf(batch.nextObs, last, obsDim)];
  const actions = [...at.map((row) => rowOf(batch.action, row, actionDim)), new Array<number>(actionDim).fill(0)];
  return {
    observations: observations.map((values) => cellOf(observationSpace, values)),
    actions: actions.map((values) => cellOf(actionSpace, values)),
    rewards: [...at.map((row) => batch.reward[row]), 0],
    terminations: [...at.map((row) => batch.terminated[row] === 1), false],
    truncations: [...at.map((row) => batch.truncated[row] === 1 || (row === last && isCut(slice, at))), false],
  };
}

/** An episode that neither terminated nor was truncated is cut off at its last step, which is marked truncated. */
function isCut({ columns: batch }: TransitionSlice, rows: EpisodeRows): boolean {
  const last = rows[rows.length - 1];
  return batch.terminated[last] === 0 && batch.truncated[last] === 0;
}

function episodeMetadata({ source, origins, columns }: TransitionSlice, rows: EpisodeRows, id: number) {
  const [first] = rows;
  const { backend, modelVersion, scenario, task, policyVersion, seed } = origins[columns.origin[first]];
  const [group, parent] = [columns.group[first], columns.parent[first]];
  const reverie = {
    source,
    backend,
    model_version: modelVersion,
    scenario,
    task,
    policy_version: policyVersion,
    seed,
    episode: columns.episode[first],
    first_step: columns.step[first],
    group: group < 0 ? null : group,
    parent: parent < 0 ? null : parent,
  };
  return { id, total_steps: rows.length, reverie };
}

/** A space as Minari serialises it: JSON as Python writes it, which has infinities. */
function minariSpace(space: VectorSpace): string {
  if (space.type === 'discrete') {
    return JSON.stringify({ type: 'Discrete', dtype: 'int64', start: space.start, n: space.n });
  }
  const bounds = (values: readonly (number | null)[], unbounded: string) =>
    nested(
      values.map((value) => (value === null ? unbounded : String(value))),
      space.shape,
    );
  const [low, high] = [bounds(space.low, '-Infinity'), bounds(space.high, 'Infinity')];
  return `{"type": "Box", "dtype": "float32", "shape": ${JSON.stringify(space.shape)}, "low": ${low}, "high": ${high}}`;
}

/** Row-major texts as nested lists of a shape. */
function nested(values: readonly string[], shape: readonly number[]): string {
  if (shape.length === 0) return values[0];
  const size = values.length / shape[0];
  const part = (i: number) => nested(values.slice(i * size, (i + 1) * size), shape.slice(1));
  return `[${Array.from({ length: shape[0] }, (_, i) => part(i)).join(', ')}]`;
}

/** Rows of a slice that are one episode, steps ascending. An episode may lack its beginning (a ring forgets) or its end. */
type EpisodeRows = readonly number[];

/** The episodes of a slice, in the order in which they begin. */
function episodesOf({ rows, columns }: TransitionSlice): EpisodeRows[] {
  const episodes = new Map<number, number[]>();
  for (let row = 0; row < rows; row++) {
    const one = episodes.get(columns.episode[row]);
    if (one) one.push(row);
    else episodes.set(columns.episode[row], [row]);
  }
  return [...episodes.values()];
}
