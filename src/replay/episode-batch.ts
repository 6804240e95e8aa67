// Batches of whole episodes, or of windows of them, as learners take them: padded to one length or packed one after another, in
// the order drawn; groups that are compared; and passes over everything in random order.

import { reverieError } from '../core/errors.js';
import type { Rng } from '../core/rng.js';
import type { EpisodeStore } from './episodes.js';
import type { RowIndices } from './row-storage.js';
import { allocate, type ColumnSet, pickColumns, type Schema } from './schema.js';
import { windowMasks } from './windows.js';

export interface EpisodeBatchOptions {
  /** Columns of steps; all unless given. */
  readonly names?: readonly string[];
  /** Longer episodes are cut to so many steps; uncut unless given. */
  readonly longest?: number;
  /** Which steps of a longer episode are kept; the first unless given. */
  readonly keep?: 'first' | 'last';
}

export interface PaddedEpisodes {
  readonly episodes: number;
  /** Steps of each row: those of the longest episode. */
  readonly length: number;
  /** [episodes, length, ...shape]; zeros where `mask` is 0. */
  readonly steps: ColumnSet;
  /** [episodes, length]: 1 where there is a step. */
  readonly mask: Uint8Array;
  /** [episodes] */
  readonly lengths: Uint32Array;
  /** The episodes' own columns, [episodes, ...shape]. */
  readonly values: ColumnSet;
}

export interface PackedEpisodes {
  readonly episodes: number;
  /** [all steps, ...shape], one episode after another without padding. */
  readonly steps: ColumnSet;
  /** [episodes + 1]: episode i is steps [offsets[i], offsets[i + 1]); what variable-length attention takes. */
  readonly offsets: Int32Array;
  readonly values: ColumnSet;
}

/** Episodes side by side, filled up with zeros. Throws ROW_OUT_OF_RANGE, COLUMN_INVALID. */
export function paddedEpisodes(
  store: EpisodeStore,
  indices: RowIndices,
  options: EpisodeBatchOptions = {},
): PaddedEpisodes {
  const { from, count } = extentOf(store, indices, options);
  const length = count.reduce((most, steps) => Math.max(most, steps), 0);
  const steps = allocate(stepsOf(store, options), indices.length * length);
  const at = count.map((_, i) => i * length);
  store.gatherSteps(indices, { from, count, at }, steps);
  const { mask } = windowMasks(count, count, length, 0);
  return { episodes: indices.length, length, steps, mask, lengths: count, values: store.values(indices) };
}

/** Episodes one after another, without padding. Throws ROW_OUT_OF_RANGE, COLUMN_INVALID. */
export function packedEpisodes(
  store: EpisodeStore,
  indices: RowIndices,
  options: EpisodeBatchOptions = {},
): PackedEpisodes {
  const { from, count } = extentOf(store, indices, options);
  const offsets = new Int32Array(indices.length + 1);
  for (let i = 0; i < count.length; i++) offsets[i + 1] = offsets[i] + count[i];
  const steps = allocate(stepsOf(store, options), offsets[indices.length]);
  store.gatherSteps(indices, { from, count, at: offsets }, steps);
  return { episodes: indices.length, steps, offsets, values: store.values(indices) };
}

export interface EpisodeWindowOptions {
  readonly length: number;
  /** Steps between possible starts of a window; `length` unless given. */
  readonly stride?: number;
  /** Steps that only warm a memory up, unless the window begins with its episode; 0 unless given. */
  readonly burnIn?: number;
  readonly names?: readonly string[];
}

export interface EpisodeWindows {
  /** [windows, length, ...shape] */
  readonly steps: ColumnSet;
  /** [windows, length] */
  readonly mask: Uint8Array;
  /** [windows, length] */
  readonly learned: Uint8Array;
  /** [windows]: step of its episode that the window begins with. */
  readonly from: Uint32Array;
}

/** One window of each episode drawn, its start drawn among the aligned ones. Throws ROW_OUT_OF_RANGE, COLUMN_INVALID. */
export function episodeWindows(
  store: EpisodeStore,
  indices: RowIndices,
  rng: Rng,
  { length, stride = length, burnIn = 0, names }: EpisodeWindowOptions,
): EpisodeWindows {
  const lengths = store.lengths(indices);
  // A start past the one that reaches the end would show nothing new.
  const from = lengths.map((steps) => stride * rng.int(1 + Math.ceil(Math.max(0, steps - length) / stride)));
  const count = lengths.map((steps, i) => Math.min(length, steps - from[i]));
  const steps = allocate(stepsOf(store, { names }), indices.length * length);
  store.gatherSteps(indices, { from, count, at: count.map((_, i) => i * length) }, steps);
  const isFirst = from.map((step) => (step === 0 ? 1 : 0));
  return { steps, from, ...windowMasks(count, isFirst, length, burnIn) };
}

/**
 * `groups` groups of `size` episodes with the same value of column `by`, [groups * size] indices one group after another: what
 * GRPO compares. Groups are drawn without replacement, and so are their episodes; groups with fewer held are left out.
 * Throws REPLAY_OPTION_INVALID where there are not so many groups.
 */
export function drawGroups(store: EpisodeStore, groups: number, size: number, rng: Rng, by = 'group'): Uint32Array {
  const held = store.held();
  const values = held.length === 0 ? [] : (store.values(held, [by])[by] as Float64Array);
  const members = new Map<number, number[]>();
  for (let i = 0; i < held.length; i++) {
    const group = members.get(values[i]);
    if (group) group.push(held[i]);
    else members.set(values[i], [held[i]]);
  }
  const whole = [...members.values()].filter((group) => group.length >= size);
  if (whole.length < groups) {
    const want = `at most ${whole.length}: so many groups have ${size} episodes`;
    throw reverieError('REPLAY_OPTION_INVALID', { option: 'groups', value: groups, want });
  }
  const chosen = rng.permutation(whole.length).subarray(0, groups);
  const indices = new Uint32Array(groups * size);
  for (const [g, group] of chosen.entries()) {
    const order = rng.permutation(whole[group].length);
    for (let i = 0; i < size; i++) indices[g * size + i] = whole[group][order[i]];
  }
  return indices;
}

/** All of `indices` once, in random order, `size` at a time; the last piece may be shorter: the minibatches of one pass. */
export function* shuffledBatches(indices: RowIndices, size: number, rng: Rng): Generator<Uint32Array> {
  const order = rng.permutation(indices.length);
  for (let at = 0; at < order.length; at += size) yield order.slice(at, at + size).map((place) => indices[place]);
}

function stepsOf({ stepSchema }: EpisodeStore, { names }: EpisodeBatchOptions): Schema {
  return names ? pickColumns(stepSchema, names) : stepSchema;
}

function extentOf(
  store: EpisodeStore,
  indices: RowIndices,
  { longest = Number.POSITIVE_INFINITY, keep = 'first' }: EpisodeBatchOptions,
): { readonly from: Uint32Array; readonly count: Uint32Array } {
  const lengths = store.lengths(indices);
  const count = lengths.map((steps) => Math.min(steps, longest));
  return { from: lengths.map((steps, i) => (keep === 'first' ? 0 : steps - count[i])), count };
}
