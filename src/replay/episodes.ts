// Whole episodes of any length: steps (of a body, or tokens of an agent of language) one after another, and a row for each
// episode. Both lie in storages of rows, in memory or on disk. Room is made by letting whole episodes go, the oldest first.

import { join } from 'node:path';
import { reverieError } from '../core/errors.js';
import { DiskRows } from './disk-rows.js';
import { MemoryRows } from './memory-rows.js';
import { type RowIndices, type RowStorage, takeRows } from './row-storage.js';
import { type ColumnSet, checkColumns, type Schema, scalar } from './schema.js';
import type { RowStore } from './selector.js';

export interface EpisodeStoreOptions {
  /** Columns of a step or a token. */
  readonly steps: Schema;
  /** Columns of an episode as a whole; `start` and `length` are the store's own. */
  readonly episode?: Schema;
  /** Steps kept at most, over all episodes. */
  readonly capacity: number;
  /** Episodes kept at most; as many as steps unless given. */
  readonly episodes?: number;
  /** Where they lie on disk; in memory unless given. */
  readonly folder?: string;
}

/** One episode to be stored: `steps` [length, ...shape], `values` [1, ...shape]. */
export interface Episode {
  readonly length: number;
  readonly steps: ColumnSet;
  readonly values?: ColumnSet;
}

/** Columns of what an agent of language says and reads, a row a token, as GRPO and its kin learn from it. */
export const TOKEN_STEPS: Schema = {
  token: scalar('int32'),
  /** Of the token under the weights that drew it; 0 where it was read. */
  logProb: scalar('float32'),
  /** 1 where the agent drew the token, and so learns from it. */
  lossMask: scalar('bool'),
  /** Of the policy's weights at that token: an episode may outlive an update. */
  weightVersion: scalar('uint32'),
};

/** Columns of such an episode; `group` is common to the episodes of one task that are compared. */
export const TOKEN_EPISODES: Schema = { group: scalar('float64'), reward: scalar('float32') };

const PLACE: Schema = { start: scalar('float64'), length: scalar('uint32') };

/** A store of rows to selectors: its rows are episodes, and index i is that of episode number i, modulo the capacity. */
export class EpisodeStore implements RowStore {
  readonly stepSchema: Schema;
  readonly episodeSchema: Schema;
  private oldestEpisode = 0;
  private readonly leaving: ((index: number, count: number) => void)[] = [];

  private constructor(
    private readonly rows: RowStorage,
    private readonly heads: RowStorage,
  ) {
    this.stepSchema = rows.schema;
    const { start: _start, length: _length, ...episode } = heads.schema;
    this.episodeSchema = episode;
    this.oldestEpisode = heads.inserted - heads.size;
  }

  /** An empty store. Throws ROW_SCHEMA_INVALID, REPLAY_OPTION_INVALID, STORAGE_FULL, STORAGE_FAILED. */
  static create(options: EpisodeStoreOptions): EpisodeStore {
    const { steps, episode = {}, capacity, episodes = capacity, folder } = options;
    for (const column of Object.keys(PLACE)) {
      if (!(column in episode)) continue;
      throw reverieError('ROW_SCHEMA_INVALID', { column, problem: 'the store of episodes has one of that name.' });
    }
    const make = (name: string, schema: Schema, rows: number): RowStorage =>
      folder === undefined
        ? new MemoryRows(schema, rows)
        : DiskRows.create({ folder: join(folder, name), schema, capacity: rows });
    return new EpisodeStore(make('steps', steps, capacity), make('episodes', { ...PLACE, ...episode }, episodes));
  }

  /** A store on disk as its last `flush` left it. Throws CHECKPOINT_NOT_FOUND, CHECKPOINT_CORRUPT. */
  static open(folder: string): EpisodeStore {
    const store = new EpisodeStore(DiskRows.open(join(folder, 'steps')), DiskRows.open(join(folder, 'episodes')));
    // Steps are made durable before their episodes, so some episodes may have lost steps to others that never arrived.
    store.leaveUntil(store.rows.inserted - store.rows.capacity);
    return store;
  }

  /** Episodes kept at most. */
  get capacity(): number {
    return this.heads.capacity;
  }

  /** Episodes held now. */
  get size(): number {
    return this.heads.inserted - this.oldest;
  }

  /** Episodes ever inserted. */
  get inserted(): number {
    return this.heads.inserted;
  }

  /** Number of the oldest episode held. */
  get oldest(): number {
    return Math.max(this.oldestEpisode, this.heads.inserted - this.heads.capacity);
  }

  /** Steps of the episodes held. */
  get steps(): number {
    return this.size === 0 ? 0 : this.rows.inserted - this.startOf(this.oldest);
  }

  /**
   * Copies an episode in; the oldest ones leave until there is room. Throws COLUMN_INVALID, BATCH_MISMATCH,
   * EPISODE_TOO_LONG, STORAGE_FULL, STORAGE_FAILED, and then the episode is not there.
   */
  append({ length, steps, values = {} }: Episode): void {
    checkColumns(this.stepSchema, steps, length);
    checkColumns(this.episodeSchema, values, 1);
    const { capacity } = this.rows;
    if (length > capacity || length === 0) throw reverieError('EPISODE_TOO_LONG', { length, capacity });
    const start = this.rows.inserted;
    this.rows.append(steps, length);
    this.leaveUntil(this.rows.inserted - capacity);
    const place = { start: Float64Array.of(start), length: Uint32Array.of(length) };
    this.heads.append({ ...place, ...values }, 1);
  }

  /** Lengths of episodes. Throws ROW_OUT_OF_RANGE for one that is not held. */
  lengths(indices: RowIndices): Uint32Array {
    return this.places(indices).length;
  }

  /** Copies of the episodes' own columns, [episodes, ...shape]. Throws ROW_OUT_OF_RANGE. */
  values(indices: RowIndices, names: readonly string[] = Object.keys(this.episodeSchema)): ColumnSet {
    this.checkHeld(indices);
    return takeRows(this.heads, indices, names);
  }

  /** Indices of all episodes held, the oldest first. */
  held(): Uint32Array {
    return Uint32Array.from({ length: this.size }, (_, i) => (this.oldest + i) % this.capacity);
  }

  /**
   * Copies steps of episodes to rows of `into`: of episode `indices[i]` steps [from[i], from[i] + count[i]) to rows `at[i]` …
   * Throws ROW_OUT_OF_RANGE, BATCH_MISMATCH.
   */
  gatherSteps(
    indices: RowIndices,
    {
      from,
      count,
      at,
    }: { readonly from: ArrayLike<number>; readonly count: ArrayLike<number>; readonly at: ArrayLike<number> },
    into: ColumnSet,
  ): void {
    const { start } = this.places(indices);
    for (let i = 0; i < indices.length; i++) {
      const rows = new Uint32Array(count[i]);
      for (let t = 0; t < rows.length; t++) rows[t] = (start[i] + from[i] + t) % this.rows.capacity;
      this.rows.gather(rows, into, at[i]);
    }
  }

  onAppend(listener: (index: number, count: number) => void): void {
    this.heads.onAppend(listener);
  }

  onLeave(listener: (index: number, count: number) => void): void {
    this.leaving.push(listener);
  }

  /** Makes all episodes appended durable. Nothing to do in memory. Throws STORAGE_FULL, STORAGE_FAILED. */
  flush(): void {
    this.rows.flush();
    this.heads.flush();
  }

  close(): void {
    this.rows.close();
    this.heads.close();
  }

  private places(indices: RowIndices): { readonly start: Float64Array; readonly length: Uint32Array } {
    this.checkHeld(indices);
    const { start, length } = takeRows(this.heads, indices, ['start', 'length']);
    return { start: start as Float64Array, length: length as Uint32Array };
  }

  private startOf(episode: number): number {
    const { start } = takeRows(this.heads, Uint32Array.of(episode % this.capacity), ['start']);
    return Number(start[0]);
  }

  /** Lets go of episodes whose first step lies before step number `first`. */
  private leaveUntil(first: number): void {
    this.oldestEpisode = this.oldest;
    while (this.oldestEpisode < this.heads.inserted && this.startOf(this.oldestEpisode) < first) {
      const index = this.oldestEpisode++ % this.capacity;
      for (const listener of this.leaving) listener(index, 1);
    }
  }

  private checkHeld(indices: RowIndices): void {
    const { capacity, inserted, oldest } = this;
    for (const index of indices) {
      const newest = inserted - 1;
      const id = newest - ((((newest - index) % capacity) + capacity) % capacity);
      if (index >= 0 && index < capacity && id >= oldest) continue;
      throw reverieError('ROW_OUT_OF_RANGE', { row: index, size: this.size });
    }
  }
}
