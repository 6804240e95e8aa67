// What chooses rows, apart from what stores them: every row alike, or in proportion to priorities.

import { reverieError } from '../core/errors.js';
import type { Rng } from '../core/rng.js';
import { columnMismatch } from './batch.js';
import { noSuchRow } from './columns.js';
import { SumTree } from './sum-tree.js';

/** What a selector needs to know of a buffer: a ring in which row id r lies at index r % capacity. */
export interface RowStore {
  readonly capacity: number;
  /** Rows held now; indices 0 .. size - 1 are valid. */
  readonly size: number;
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
  /** Throws STATE_MISMATCH, and changes nothing, if the state is of another kind or another buffer. */
  restore(state: SelectorState): void;
}

export class UniformSelector implements Selector {
  readonly kind = 'uniform';

  constructor(private readonly store: RowStore) {}

  sample(rows: number, rng: Rng, outIndices: Uint32Array, outWeights?: Float32Array): void {
    const { size } = this.store;
    if (size === 0) throw reverieError('REPLAY_EMPTY', { source: 'sampled', hint: 'Append rows before sampling.' });
    const out = outIndices.length === rows ? outIndices : outIndices.subarray(0, rows);
    rng.fillUint32(out);
    // Multiply-shift: unbiased to within size / 2^32.
    const scale = size / 4294967296;
    for (let i = 0; i < rows; i++) out[i] = out[i] * scale;
    outWeights?.fill(1, 0, rows);
  }

  state(): SelectorState {
    return { kind: this.kind, scalars: {}, arrays: {} };
  }

  restore(state: SelectorState): void {
    if (state.kind !== this.kind) throw stateMismatch(`it is of kind "${state.kind}", not "${this.kind}"`);
  }
}

interface PrioritizedOptions {
  /** 0 = uniform, 1 = in proportion to priority. */
  readonly alpha?: number;
  /** Strength of the importance correction, 0 to 1; may be changed later through `beta`. */
  readonly beta?: number;
  /** Added to every priority, so that no row becomes unreachable. */
  readonly epsilon?: number;
}

/**
 * Rows in proportion to priority^alpha (prioritised experience replay, Schaul et al. 2016, sections 3.3 and 3.4): stratified draws,
 * importance weights (n P(i))^-beta relative to the largest in the buffer, new rows at the highest priority seen.
 */
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
    this.tree.fill(this.maxLeaf, 0, store.size);
    store.onAppend((index, count) => this.tree.fill(this.maxLeaf, index, index + count));
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
   * New priorities (for example absolute TD errors) of rows; of a repeated row the last counts.
   * Throws NON_FINITE_VALUE or DATA_MISMATCH and changes nothing.
   */
  update(indices: Uint32Array | Int32Array, priorities: Float32Array): void {
    const rows = indices.length;
    if (priorities.length !== rows) {
      throw columnMismatch('priorities', priorities.length, rows, rows);
    }
    this.reserve(rows);
    const powered = this.powered.subarray(0, rows);
    const { alpha, epsilon } = this;
    const { size } = this.store;
    let highest = this.maxLeaf;
    for (let i = 0; i < rows; i++) {
      const priority = priorities[i];
      if (!(priority >= 0 && priority < Number.POSITIVE_INFINITY)) throw badPriority(priority, indices[i]);
      if (indices[i] >>> 0 >= size) throw noSuchRow(indices[i], size);
      powered[i] = power(priority + epsilon, alpha);
      if (powered[i] > highest) highest = powered[i];
    }
    this.maxLeaf = highest;
    this.tree.set(indices, powered);
  }

  /** Probability of drawing the row at an index. */
  probability(index: number): number {
    return this.tree.leaf(index) / this.tree.total;
  }

  state(): SelectorState {
    const { alpha, beta, epsilon, maxLeaf } = this;
    const leaves = this.tree.leaves(this.store.size);
    return { kind: this.kind, scalars: { alpha, beta, epsilon, maxLeaf }, arrays: { leaves } };
  }

  restore(state: SelectorState): void {
    const problem = this.problemOf(state);
    if (problem) throw stateMismatch(problem);
    this.beta = state.scalars.beta;
    this.maxLeaf = state.scalars.maxLeaf;
    this.tree.load(state.arrays.leaves);
  }

  private problemOf({ kind, scalars, arrays }: SelectorState): string | undefined {
    const { leaves } = arrays;
    const { size } = this.store;
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
  throw optionInvalid(option, value, most === 1 ? 'from 0 to 1' : '0 or more');
}

function badPriority(value: number, row: number): Error {
  const hint = 'Priorities are finite and not negative, such as absolute TD errors.';
  return reverieError('NON_FINITE_VALUE', { what: 'Priority', value, where: `row ${row}`, hint });
}

/** The error SETTING_INVALID for an option of a buffer, a selector or a mixture. */
export function optionInvalid(option: string, value: unknown, want: string): Error {
  return reverieError('SETTING_INVALID', {
    problem: `Replay option ${option} = ${value} is not acceptable.`,
    hint: `It must be ${want}.`,
  });
}

function stateMismatch(problem: string): Error {
  return reverieError('STATE_MISMATCH', {
    problem: `Selector state does not fit: ${problem}`,
    hint: 'Restore a state only into the same kind of selector over the buffer it was saved with.',
  });
}
