// What chooses rows: declared apart from what stores them, so that any selector works over any buffer.

import type { Rng } from '../core/rng.js';

/** What a selector needs to know of a buffer: a ring in which row id r lies at index r % capacity. */
export interface RowStore {
  readonly capacity: number;
  /** Rows held now; without `oldest`, indices 0 .. size - 1 are valid. */
  readonly size: number;
  /** Rows ever inserted. */
  readonly inserted: number;
  /** Id of the oldest row held, where rows may leave before the ring comes around to them; rows from there on are held. */
  readonly oldest?: number;
  /** Calls back after rows index .. index + count - 1 were written (new or overwritten); never wraps. */
  onAppend(listener: (index: number, count: number) => void): void;
  /** Calls back after rows index .. index + count - 1 left early. */
  onLeave?(listener: (index: number, count: number) => void): void;
}

/** Indices that rows may have: below this. */
export function indexBound({ oldest, capacity, size }: RowStore): number {
  return oldest === undefined ? size : capacity;
}

/** Whether there is a row at an index. */
export function isHeld({ oldest, capacity, size, inserted }: RowStore, index: number): boolean {
  if (oldest === undefined) return index >>> 0 < size;
  const newest = inserted - 1;
  return index >>> 0 < capacity && newest - ((((newest - index) % capacity) + capacity) % capacity) >= oldest;
}

/** Everything a selector needs to go on exactly from here; plain numbers and typed arrays. */
export interface SelectorState {
  readonly kind: string;
  readonly scalars: Readonly<Record<string, number>>;
  readonly arrays: Readonly<Record<string, Float64Array>>;
}

export interface Selector {
  readonly kind: string;
  /**
   * Draws `rows` indices, with replacement, into the first `rows` places of `outIndices`.
   * @param outWeights importance weights in (0, 1]; all 1 for selectors that are not prioritised
   * Throws REPLAY_EMPTY if there is nothing to draw from.
   */
  sample(rows: number, rng: Rng, outIndices: Uint32Array, outWeights?: Float32Array): void;
  /** New priorities of sampled rows; only prioritised selectors have it. */
  update?(indices: Uint32Array | Int32Array, priorities: Float32Array): void;
  state(): SelectorState;
  /** Throws STATE_MISMATCH, and changes nothing, if the state is of another kind or another buffer. */
  restore(state: SelectorState): void;
}
