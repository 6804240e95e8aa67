// Newer rows first: either uniformly among the newest n, or with a probability that halves every `halfLife` rows of age.

import { reverieError } from '../core/errors.js';
import type { Rng } from '../core/rng.js';
import type { RowStore, Selector, SelectorState } from './selector.js';

/** Exactly one of the two, in rows. */
export type RecencyOptions = { readonly recent: number } | { readonly halfLife: number };

export class RecencySelector implements Selector {
  readonly kind = 'recency';
  private readonly store: RowStore;
  private readonly options: RecencyOptions;
  private uniforms = new Float64Array(256);

  constructor(store: RowStore, options: RecencyOptions) {
    this.store = store;
    this.options = options;
    const [option, value] = 'recent' in options ? ['recent', options.recent] : ['halfLife', options.halfLife];
    if (!(value > 0 && Number.isFinite(value)) || (option === 'recent' && !Number.isInteger(value))) {
      throw reverieError('REPLAY_OPTION_INVALID', { option, value, want: 'a positive number of rows' });
    }
  }

  sample(rows: number, rng: Rng, outIndices: Uint32Array, outWeights?: Float32Array): void {
    const { size, capacity, inserted } = this.store;
    if (size === 0) throw reverieError('REPLAY_EMPTY', { source: 'sampled', hint: 'Append rows before sampling.' });
    if (this.uniforms.length < rows) this.uniforms = new Float64Array(rows);
    const ages = rng.fillUniform(this.uniforms.subarray(0, rows));
    if ('recent' in this.options) uniformAges(ages, Math.min(size, this.options.recent));
    else exponentialAges(ages, size, this.options.halfLife);
    const newest = (inserted - 1) % capacity;
    for (let i = 0; i < rows; i++) {
      const index = newest - ages[i];
      outIndices[i] = index < 0 ? index + capacity : index;
    }
    outWeights?.fill(1, 0, rows);
  }

  state(): SelectorState {
    return { kind: this.kind, scalars: { ...this.options }, arrays: {} };
  }

  restore({ kind, scalars }: SelectorState): void {
    const same = kind === this.kind && JSON.stringify(scalars) === JSON.stringify(this.options);
    if (same) return;
    const problem = `it is of kind "${kind}" with options ${JSON.stringify(scalars)}.`;
    throw reverieError('SELECTOR_STATE_MISMATCH', { problem });
  }
}

/** Uniforms to ages of a geometric distribution cut at `size`, by its inverse distribution function. */
function exponentialAges(values: Float64Array, size: number, halfLife: number): void {
  const logKeep = -Math.LN2 / halfLife;
  const mass = -Math.expm1(size * logKeep);
  for (let i = 0; i < values.length; i++) {
    const age = Math.floor(Math.log1p(-values[i] * mass) / logKeep);
    values[i] = age < size ? age : size - 1;
  }
}

/** Uniforms in (0, 1) to ages 0 .. limit - 1. */
function uniformAges(values: Float64Array, limit: number): void {
  for (let i = 0; i < values.length; i++) values[i] = Math.floor(values[i] * limit);
}
