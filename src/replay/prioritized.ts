// Rows in proportion to priority^alpha (prioritised experience replay, Schaul et al. 2016, sections 3.3 and 3.4):
// stratified draws, importance weights (n P(i))^-beta relative to the largest in the buffer, new rows at the highest
// priority seen.

import { reverieError } from '../core/errors.js';
import type { Rng } from '../core/rng.js';
import { indexBound, isHeld, type RowStore, type Selector, type SelectorState } from './selector.js';
import { SumTree } from './sum-tree.js';

export interface PrioritizedOptions {
  /** 0 = uniform, 1 = in proportion to priority. */
  readonly alpha?: number;
  /** Strength of the importance correction, 0 to 1; may be changed later through `beta`. */
  readonly beta?: number;
  /** Added to every priority, so that no row becomes unreachable. */
  readonly epsilon?: number;
}

export class PrioritizedSelector implements Selector {
  readonly kind = 'prioritized';
  readonly alpha: number;
  readonly epsilon: number;
  beta: number;
  private readonly store: RowStore;
  private readonly tree: SumTree;
  /** Highest leaf (priority + epsilon)^alpha ever set; new rows get it. */
  private maxLeaf = 1;
  private fractions = new Float64Array(256);
  private powered = new Float64Array(256);

  constructor(store: RowStore, { alpha = 0.6, beta = 0.4, epsilon = 1e-6 }: PrioritizedOptions = {}) {
    checkOption('alpha', alpha, 1);
    checkOption('beta', beta, 1);
    checkOption('epsilon', epsilon, Number.MAX_VALUE);
    this.store = store;
    this.alpha = alpha;
    this.beta = beta;
    this.epsilon = epsilon;
    this.tree = new SumTree(store.capacity);
    if (store.oldest === undefined) this.tree.fill(this.maxLeaf, 0, store.size);
    else
      for (let id = store.oldest; id < store.inserted; id++)
        this.tree.fill(this.maxLeaf, id % store.capacity, (id % store.capacity) + 1);
    store.onAppend((index, count) => this.tree.fill(this.maxLeaf, index, index + count));
    store.onLeave?.((index, count) => this.tree.fill(0, index, index + count));
  }

  sample(rows: number, rng: Rng, outIndices: Uint32Array, outWeights?: Float32Array): void {
    const { total } = this.tree;
    if (!(total > 0)) {
      const hint = 'Append rows before sampling; with epsilon 0 at least one priority must be positive.';
      throw reverieError('REPLAY_EMPTY', { source: 'sampled', hint });
    }
    this.reserve(rows);
    const fractions = rng.fillUniform(this.fractions.subarray(0, rows));
    // One draw a stratum: less variance than independent draws, same expectation.
    for (let i = 0; i < rows; i++) fractions[i] = (i + fractions[i]) / rows;
    this.tree.find(fractions, rows, outIndices);
    if (outWeights) this.weigh(rows, outIndices, outWeights);
  }

  /**
   * New priorities (for example absolute TD errors) of rows; of a repeated row the last counts, and one that left since it was
   * drawn is passed over.
   * Throws NON_FINITE_VALUE, DATA_MISMATCH or DATA_MISMATCH and changes nothing.
   */
  update(indices: Uint32Array | Int32Array, priorities: Float32Array): void {
    const rows = indices.length;
    if (priorities.length !== rows) {
      throw reverieError('DATA_MISMATCH', {
        problem: `Batch column "priorities" has ${priorities.length} values where ${rows} are needed.`,
        hint: `Columns are row-major [rows, dim]; check rows (${rows}) and the dimensions of the buffer.`,
      });
    }
    this.reserve(rows);
    const powered = this.powered.subarray(0, rows);
    const { alpha, epsilon } = this;
    const { store } = this;
    const bound = indexBound(store);
    const mayLeave = store.oldest !== undefined;
    let highest = this.maxLeaf;
    for (let i = 0; i < rows; i++) {
      const priority = priorities[i];
      if (!(priority >= 0 && priority < Number.POSITIVE_INFINITY)) throw badPriority(priority, indices[i]);
      if (indices[i] >>> 0 >= bound)
        throw reverieError('DATA_MISMATCH', {
          problem: `Row ${indices[i]} does not exist: the buffer holds ${bound} rows.`,
          hint: 'Rows are numbered 0 to size - 1; a selector of the same buffer never answers others.',
        });
      powered[i] = mayLeave && !isHeld(store, indices[i]) ? 0 : power(priority + epsilon, alpha);
      if (powered[i] > highest) highest = powered[i];
    }
    this.maxLeaf = highest;
    this.tree.set(indices, powered);
  }

  /** Probability of drawing the row at an index. */
  probability(index: number): number {
    return isHeld(this.store, index) ? this.tree.leaf(index) / this.tree.total : 0;
  }

  state(): SelectorState {
    const { alpha, beta, epsilon, maxLeaf } = this;
    const leaves = this.tree.leaves(indexBound(this.store));
    return { kind: this.kind, scalars: { alpha, beta, epsilon, maxLeaf }, arrays: { leaves } };
  }

  restore(state: SelectorState): void {
    const problem = this.problemOf(state);
    if (problem)
      throw reverieError('STATE_MISMATCH', {
        problem: `Selector state does not fit: ${problem}`,
        hint: 'Restore a state only into the same kind of selector over the buffer it was saved with.',
      });
    this.beta = state.scalars.beta;
    this.maxLeaf = state.scalars.maxLeaf;
    this.tree.load(state.arrays.leaves);
  }

  private problemOf({ kind, scalars, arrays }: SelectorState): string | undefined {
    const { leaves } = arrays;
    const size = indexBound(this.store);
    if (kind !== this.kind) return `it is of kind "${kind}", not "${this.kind}".`;
    if (leaves?.length !== size) return `it has ${leaves?.length ?? 'no'} priorities, the buffer ${size} rows.`;
    if (leaves.some((leaf) => !(leaf >= 0 && Number.isFinite(leaf)))) return 'a priority is negative or not finite.';
    for (const name of ['alpha', 'epsilon'] as const) {
      if (scalars[name] !== this[name]) return `its ${name} is ${scalars[name]}, not ${this[name]}.`;
    }
    const { beta, maxLeaf } = scalars;
    return beta >= 0 && beta <= 1 && maxLeaf > 0 ? undefined : 'beta or the highest priority is out of range.';
  }

  private weigh(rows: number, indices: Uint32Array, weights: Float32Array): void {
    const { beta, tree } = this;
    const { minimum } = tree;
    // (n P(i))^-beta / max_j (n P(j))^-beta = (min_j p_j / p_i)^beta: n and the total cancel.
    for (let i = 0; i < rows; i++) weights[i] = power(minimum / tree.leaf(indices[i]), beta);
  }

  private reserve(rows: number): void {
    if (this.fractions.length >= rows) return;
    this.fractions = new Float64Array(rows);
    this.powered = new Float64Array(rows);
  }
}

/** base ** exponent for base >= 0; twice as fast as `**`. */
function power(base: number, exponent: number): number {
  if (base > 0) return Math.exp(exponent * Math.log(base));
  return exponent === 0 ? 1 : 0;
}

function checkOption(option: string, value: number, most: number): void {
  if (value >= 0 && value <= most) return;
  throw reverieError('SETTING_INVALID', {
    problem: `Replay option ${option} = ${value} is not acceptable.`,
    hint: `It must be ${most === 1 ? 'from 0 to 1' : '0 or more'}.`,
  });
}

function badPriority(value: number, row: number): Error {
  const hint = 'Priorities are finite and not negative, such as absolute TD errors.';
  return reverieError('NON_FINITE_VALUE', { what: 'Priority', value, where: `row ${row}`, hint });
}
