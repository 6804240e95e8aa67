// Every row alike.

import { reverieError } from '../core/errors.js';
import type { Rng } from '../core/rng.js';
import type { RowStore, Selector, SelectorState } from './selector.js';

export class UniformSelector implements Selector {
  readonly kind = 'uniform';
  private readonly store: RowStore;

  constructor(store: RowStore) {
    this.store = store;
  }

  sample(rows: number, rng: Rng, outIndices: Uint32Array, outWeights?: Float32Array): void {
    const { size, oldest, capacity } = this.store;
    if (size === 0) throw reverieError('REPLAY_EMPTY', { source: 'sampled', hint: 'Append rows before sampling.' });
    const out = outIndices.length === rows ? outIndices : outIndices.subarray(0, rows);
    rng.fillUint32(out);
    // Multiply-shift: unbiased to within size / 2^32.
    const scale = size / 4294967296;
    for (let i = 0; i < rows; i++) out[i] = out[i] * scale;
    if (oldest !== undefined) for (let i = 0; i < rows; i++) out[i] = (oldest + out[i]) % capacity;
    outWeights?.fill(1, 0, rows);
  }

  state(): SelectorState {
    return { kind: this.kind, scalars: {}, arrays: {} };
  }

  restore(state: SelectorState): void {
    if (state.kind !== this.kind) {
      throw reverieError('STATE_MISMATCH', {
        problem: `Selector state does not fit: ${`it is of kind "${state.kind}", not "${this.kind}"`}`,
        hint: 'Restore a state only into the same kind of selector over the buffer it was saved with.',
      });
    }
  }
}
