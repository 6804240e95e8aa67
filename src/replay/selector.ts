// What chooses rows: declared apart from what stores them, so that any selector works over any buffer.

import type { Rng } from '../core/rng.js';

/** What a selector needs to know of a buffer: a ring in which row id r lies at index r % capacity. */
export interface RowStore {
  readonly capacity: number;
  /** Rows held now; indices 0 .. size - 1 are valid. */
  readonly size: number;
  /** Rows ever inserted. */
  readonly inserted: number;
  /** Calls back after rows index .. index + count - 1 were written (new or overwritten); never wraps. */
  onAppend(listener: (index: number, count: number) => void): void;
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
  /** Throws SELECTOR_STATE_MISMATCH, and changes nothing, if the state is of another kind or another buffer. */
  restore(state: SelectorState): void;
}
