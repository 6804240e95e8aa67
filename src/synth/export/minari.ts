// Transitions as a Minari dataset (Farama, minari 0.5), stored as Parquet: a folder an episode, read by `minari.load_dataset`
// or straight from the folder. Layout: minari/dataset/_storages/arrow_storage.py and minari/serialization.py.

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { reverieError } from '../../core/errors.js';
import { rowSize, type VectorSpace } from '../../env/index.js';
import { replaceFolderAtomic } from '../../store/atomic-file.js';
import { type ColumnType, parquetPieces } from './parquet-file.js';
import { rowOf, type TransitionSource, type TransitionTable, tableOf } from './table.js';
import { refuseExisting } from './transitions.js';

/** Dataset versions of this layout that minari 0.5 reads. */
const MINARI_VERSION = '0.5.3';
const DATASET_ID = /^(?:[-\w][-\w/]*[-\w]\/)?[-\w]+?-v\d+$/;

export interface MinariOptions {
  /** Folder of Minari datasets (`MINARI_DATASETS_PATH`). */
  readonly root: string;
  /** `namespace/name-v0`. */
  readonly datasetId: string;
  readonly observationSpace: VectorSpace;
  readonly actionSpace: VectorSpace;
  /** More of Minari's own fields: `author`, `author_email`, `algorithm_name`, `code_permalink`, `description`, ... */
  readonly metadata?: Readonly<Record<string, unknown>>;
}

export interface MinariExport {
  /** The dataset's folder, `root/datasetId`. */
  readonly folder: string;
  readonly episodes: number;
  readonly steps: number;
  /** Episodes that neither terminated nor were truncated: cut off at their last step, which is marked truncated. */
  readonly cut: number;
}

/**
 * Writes a dataset; its folder appears whole or not at all. Where each episode came from is in its `metadata.json`, under
 * `reverie`. Throws EXPORT_INVALID, EXPORT_EXISTS, STORAGE_FULL, STORAGE_FAILED.
 */
export async function exportMinari(source: TransitionSource, options: MinariOptions): Promise<MinariExport> {
  const table = tableOf(source);
  checkOptions(table, options);
  const folder = join(options.root, ...options.datasetId.split('/'));
  await refuseExisting(folder);
  const episodes = episodesOf(table);
  await replaceFolderAtomic(folder, (temporary) => writeDataset(join(temporary, 'data'), table, episodes, options));
  const cut = episodes.filter((rows) => isCut(table, rows)).length;
  return { folder, episodes: episodes.length, steps: table.rows, cut };
}

function checkOptions(table: TransitionTable, { datasetId, observationSpace, actionSpace }: MinariOptions): void {
  if (!DATASET_ID.test(datasetId)) {
    const hint = 'Minari names datasets namespace/name-v0: letters, digits, "-" and "_", and a version.';
    throw reverieError('EXPORT_INVALID', { problem: `"${datasetId}" is no Minari dataset id.`, hint });
  }
  if (table.rows === 0) {
    const problem = 'there is no transition, and a Minari dataset has at least one.';
    throw reverieError('EXPORT_INVALID', { problem, hint: 'Give transitions, or leave Minari out.' });
  }
  const dims = [rowSize(observationSpace), rowSize(actionSpace)];
  if (table.obsDim !== dims[0] || table.actionDim !== dims[1]) {
    const problem = `${table.rows} transitions of ${table.obsDim} and ${table.actionDim} values do not fit spaces of ${dims.join(' and ')}.`;
    throw reverieError('EXPORT_INVALID', { problem, hint: 'Give the spaces that the transitions were lived in.' });
  }
}

async function writeDataset(
  data: string,
  table: TransitionTable,
  episodes: readonly EpisodeRows[],
  options: MinariOptions,
): Promise<void> {
  let bytes = 0;
  for (const [id, rows] of episodes.entries()) {
    const folder = join(data, String(id));
    await mkdir(folder, { recursive: true });
    const file = Buffer.concat([...parquetPieces(columnsOf(options), [episodeColumns(table, rows, options)])]);
    await writeFile(join(folder, 'part-0.parquet'), file);
    await writeFile(join(folder, 'metadata.json'), JSON.stringify(episodeMetadata(table, rows, id)));
    bytes += file.length;
  }
  const metadata = {
    ...options.metadata,
    dataset_id: options.datasetId,
    total_episodes: episodes.length,
    total_steps: table.rows,
    dataset_size: Math.round(bytes / 1e5) / 10,
    data_format: 'parquet',
    observation_space: minariSpace(options.observationSpace),
    action_space: minariSpace(options.actionSpace),
    minari_version: MINARI_VERSION,
  };
  await writeFile(join(data, 'metadata.json'), JSON.stringify(metadata, null, 2));
}

function columnsOf({ observationSpace, actionSpace }: MinariOptions): Record<string, ColumnType> {
  const typeOf = (space: VectorSpace): ColumnType => (space.type === 'discrete' ? 'integer' : 'float list');
  return {
    observations: typeOf(observationSpace),
    actions: typeOf(actionSpace),
    rewards: 'double',
    terminations: 'boolean',
    truncations: 'boolean',
  };
}

/** T steps as T + 1 rows: one observation more than actions, whose last entry (and that of the rest) is padding. */
function episodeColumns(table: TransitionTable, rows: EpisodeRows, options: MinariOptions) {
  const { batch, obsDim, actionDim } = table;
  const at = rows.map(table.indexOf);
  const last = at[at.length - 1];
  const cellOf = (space: VectorSpace, values: number[]) => (space.type === 'discrete' ? values[0] : values);
  const observation = (values: number[]) => cellOf(options.observationSpace, values);
  const action = (values: number[]) => cellOf(options.actionSpace, values);
  return {
    observations: [
      ...at.map((index) => observation(rowOf(batch.obs, index, obsDim))),
      observation(rowOf(batch.nextObs, last, obsDim)),
    ],
    actions: [
      ...at.map((index) => action(rowOf(batch.action, index, actionDim))),
      action(new Array(actionDim).fill(0)),
    ],
    rewards: [...at.map((index) => batch.reward[index]), 0],
    terminations: [...at.map((index) => batch.terminated[index] === 1), false],
    truncations: [...at.map((index) => batch.truncated[index] === 1 || (index === last && isCut(table, rows))), false],
  };
}

function isCut({ batch, indexOf }: TransitionTable, rows: EpisodeRows): boolean {
  const last = indexOf(rows[rows.length - 1]);
  return batch.terminated[last] === 0 && batch.truncated[last] === 0;
}

function episodeMetadata(table: TransitionTable, rows: EpisodeRows, id: number) {
  const { source, backend, modelVersion, scenario, task, policyVersion, seed, episode, step, group, parent } =
    table.provenanceOf(rows[0]);
  const reverie = {
    source,
    backend,
    model_version: modelVersion,
    scenario,
    task,
    policy_version: policyVersion,
    seed,
    episode,
    first_step: step,
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
  const low = bounds(space.low, '-Infinity');
  const high = bounds(space.high, 'Infinity');
  return `{"type": "Box", "dtype": "float32", "shape": ${JSON.stringify(space.shape)}, "low": ${low}, "high": ${high}}`;
}

/** Row-major texts as nested lists of a shape. */
function nested(values: readonly string[], shape: readonly number[]): string {
  if (shape.length === 0) return values[0];
  const size = values.length / shape[0];
  const parts = Array.from({ length: shape[0] }, (_, i) =>
    nested(values.slice(i * size, (i + 1) * size), shape.slice(1)),
  );
  return `[${parts.join(', ')}]`;
}

// Transitions put together to episodes again, checked to be unbroken: formats of episodes keep each observation once.

/** Rows of a table that are one episode, steps ascending without a gap. */
type EpisodeRows = readonly number[];

/**
 * The episodes of a table, in the order in which they begin. An episode may lack its beginning (a ring forgets) or its end.
 * Throws EXPORT_INVALID for one with a step missing or twice, or where an observation is not the one before led to.
 */
function episodesOf(table: TransitionTable): EpisodeRows[] {
  const episodes = new Map<number, number[]>();
  const steps = new Uint32Array(table.rows);
  for (let row = 0; row < table.rows; row++) {
    const { episode, step } = table.provenanceOf(row);
    steps[row] = step;
    const rows = episodes.get(episode);
    if (rows) rows.push(row);
    else episodes.set(episode, [row]);
  }
  for (const [episode, rows] of episodes) {
    rows.sort((a, b) => steps[a] - steps[b]);
    for (let i = 1; i < rows.length; i++) {
      if (steps[rows[i]] !== steps[rows[i - 1]] + 1)
        broken(episode, `step ${steps[rows[i]]} follows step ${steps[rows[i - 1]]}`);
      if (!isContinued(table, rows[i - 1], rows[i]))
        broken(episode, `step ${steps[rows[i]]} begins elsewhere than the step before it ended`);
    }
  }
  return [...episodes.values()];
}

function isContinued({ batch, obsDim, indexOf }: TransitionTable, before: number, after: number): boolean {
  const from = indexOf(before) * obsDim;
  const to = indexOf(after) * obsDim;
  for (let k = 0; k < obsDim; k++) if (batch.nextObs[from + k] !== batch.obs[to + k]) return false;
  return true;
}

function broken(episode: number, problem: string): never {
  throw reverieError('EXPORT_INVALID', {
    problem: `in episode ${episode}, ${problem}.`,
    hint: 'Give each episode a number of its own within a run, or export plain transitions, which need no episodes.',
  });
}
