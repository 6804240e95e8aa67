// What chooses rows, apart from what stores them: every row alike, or in proportion to priorities.

import { reverieError } from '../core/errors.js';
import type { Rng } from '../core/rng.js';
import { columnMismatch, noSuchRow } from './columns.js';

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

/** The state of a selector of a ring, for one of a buffer that holds its newest `rows` alone, oldest first. */
export function stateOfNewest(
  state: SelectorState,
  { size, capacity, inserted }: Pick<RowStore, 'size' | 'capacity'> & { readonly inserted: number },
  rows: number,
): SelectorState {
  const first = (size < capacity ? 0 : inserted % capacity) + size - rows;
  const newest = (values: Float64Array) => Float64Array.from({ length: rows }, (_, i) => values[(first + i) % size]);
  return { ...state, arrays: Object.fromEntries(Object.entries(state.arrays).map(([key, of]) => [key, newest(of)])) };
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
    const { alpha, epsilon, beta, maxLeaf } = scalars;
    if (alpha !== this.alpha || epsilon !== this.epsilon) return 'its alpha or epsilon is another.';
    const isSound = beta >= 0 && beta <= 1 && maxLeaf > 0 && leaves.every((leaf) => leaf >= 0 && Number.isFinite(leaf));
    return isSound ? undefined : 'beta or a priority is out of range.';
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

// Draws leaves in proportion to their values. A tree of fan-out 4 in level order: a step down is a few comparisons and
// no branch, so the draws of a batch, taken level by level together, overlap their cache misses instead of waiting for
// one another. A parent is always the sum of its children in order, never a running difference: no drift, and
// rebuilding from the leaves gives the same bytes.

const BITS = 2;
const FAN_OUT = 1 << BITS;
const MIN_BITS = 4;
/** Of the tree of minima; leaves are padded to a multiple of it. */
const MIN_FAN_OUT = 1 << MIN_BITS;

class SumTree {
  /** First node of each level in `sums`; level 0 is the leaves, the last has one node. */
  private readonly offsets: number[] = [];
  /** All levels, one after another. */
  private readonly sums: Float64Array;
  private readonly least: MinTree;
  private readonly leafRows: number;
  private touched = new Uint32Array(256);
  private targets = new Float64Array(256);

  /** @param capacity leaves 0 .. capacity - 1, all 0 */
  constructor(capacity: number) {
    let length = 0;
    let nodes = Math.ceil(capacity / MIN_FAN_OUT) * MIN_FAN_OUT;
    for (; nodes > 1; nodes = Math.ceil(nodes / FAN_OUT)) {
      this.offsets.push(length);
      // Padded to whole parents, so that every node can be read as 4 children.
      length += Math.ceil(nodes / FAN_OUT) * FAN_OUT;
    }
    this.offsets.push(length++);
    this.leafRows = this.offsets[1];
    this.sums = new Float64Array(length);
    this.least = new MinTree(this.sums.subarray(0, this.leafRows));
  }

  get total(): number {
    return this.sums[this.sums.length - 1];
  }

  /** Least positive leaf; Infinity if all are 0. */
  get minimum(): number {
    return this.least.minimum;
  }

  leaf(index: number): number {
    return this.sums[index];
  }

  /** A copy of the first `count` leaves. */
  leaves(count: number): Float64Array {
    return this.sums.slice(0, count);
  }

  /** Sets leaf indices[i] to values[i]; of a repeated index the last value counts. */
  set(indices: Uint32Array | Int32Array, values: Float64Array): void {
    const count = indices.length;
    if (this.touched.length < count) this.touched = new Uint32Array(count);
    const { sums, touched, least, offsets } = this;
    for (let i = 0; i < count; i++) {
      const leaf = indices[i];
      const before = sums[leaf];
      sums[leaf] = values[i];
      touched[i] = leaf;
      least.changed(leaf, before);
    }
    let nodes = count;
    for (let level = 1; level < offsets.length; level++) {
      nodes = refreshParents(sums, offsets[level - 1], offsets[level], touched, nodes);
    }
  }

  /** Sets leaves start .. end - 1 to one value. */
  fill(value: number, start: number, end: number): void {
    if (start >= end) return;
    this.sums.fill(value, start, end);
    this.refreshRange(start, end - 1);
  }

  /** Replaces the first leaves by `values` and the others by 0. */
  load(values: Float64Array): void {
    this.sums.fill(0, 0, this.leafRows);
    this.sums.set(values);
    this.refreshRange(0, this.leafRows - 1);
  }

  /**
   * For each fraction in [0, 1) the leaf at that fraction of the total, into `out`. The total must be positive; a leaf
   * of value 0 is never answered.
   */
  find(fractions: Float64Array, rows: number, out: Uint32Array): void {
    if (this.targets.length < rows) this.targets = new Float64Array(rows);
    const { sums, targets, total, offsets } = this;
    for (let i = 0; i < rows; i++) {
      targets[i] = fractions[i] * total;
      out[i] = 0;
    }
    for (let level = offsets.length - 2; level >= 0; level--) descend(sums, offsets[level], targets, rows, out);
    for (let i = 0; i < rows; i++) {
      // Rounding may carry a target past the last positive child of a node; seldom, so it is put right afterwards.
      if (!(sums[out[i]] > 0)) out[i] = this.findOne(fractions[i] * total);
    }
  }

  /** As `find`, one target with every step checked. */
  private findOne(target: number): number {
    const { sums, offsets } = this;
    let rest = target;
    let node = 0;
    for (let level = offsets.length - 2; level >= 0; level--) {
      const start = offsets[level] + (node << BITS);
      let child = start;
      while (child < start + FAN_OUT && rest >= sums[child]) rest -= sums[child++];
      if (child === start + FAN_OUT) {
        do child--;
        while (sums[child] === 0);
        rest = sums[child];
      }
      node = child - offsets[level];
    }
    return node;
  }

  private refreshRange(firstLeaf: number, lastLeaf: number): void {
    let first = firstLeaf;
    let last = lastLeaf;
    for (let level = 1; level < this.offsets.length; level++) {
      first >>>= BITS;
      last >>>= BITS;
      for (let node = first; node <= last; node++) {
        refreshNode(this.sums, this.offsets[level - 1], this.offsets[level], node);
      }
    }
    this.least.changedRange(firstLeaf, lastLeaf);
  }
}

/**
 * Replaces the `count` nodes in `nodes` by their parents, refreshed; answers how many those are. Neighbours of one
 * parent count once: draws come in order, so that is nearly all of them.
 */
function refreshParents(sums: Float64Array, below: number, here: number, nodes: Uint32Array, count: number): number {
  let parents = 0;
  let last = -1;
  for (let i = 0; i < count; i++) {
    const parent = nodes[i] >>> BITS;
    if (parent === last) continue;
    last = parent;
    nodes[parents++] = parent;
    refreshNode(sums, below, here, parent);
  }
  return parents;
}

/** Sums the four children, at `below`, of a node of the level at `here`. */
function refreshNode(sums: Float64Array, below: number, here: number, node: number): void {
  const start = below + (node << BITS);
  sums[here + node] = sums[start] + sums[start + 1] + sums[start + 2] + sums[start + 3];
}

/** Moves every draw from its node to the child its target falls in; targets become relative to that child. */
function descend(sums: Float64Array, offset: number, targets: Float64Array, rows: number, nodes: Uint32Array): void {
  for (let i = 0; i < rows; i++) {
    const first = nodes[i] << BITS;
    const start = offset + first;
    const rest = targets[i];
    const value0 = sums[start];
    const value1 = sums[start + 1];
    const value2 = sums[start + 2];
    // Comparisons as 0 or 1: a conditional would compile to a branch, mispredicted half the time.
    const past0 = Number(rest >= value0);
    const past1 = Number(rest >= value0 + value1);
    const past2 = Number(rest >= value0 + value1 + value2);
    targets[i] = rest - (past0 * value0 + past1 * value1 + past2 * value2);
    nodes[i] = first + past0 + past1 + past2;
  }
}

/**
 * The least positive of many values that change a few at a time. A tree of fan-out 16 in level order over values owned by someone
 * else; a change climbs only as far as it changes a minimum, which is seldom more than one level.
 */
class MinTree {
  /** Inner levels from the lowest to the root, each padded to whole parents with Infinity. */
  private readonly levels: Float64Array[] = [];

  /** @param values watched values, a multiple of 16 of them, all 0 at first; 0 counts as absent */
  constructor(private readonly values: Float64Array) {
    let nodes = values.length / MIN_FAN_OUT;
    while (nodes > 1) {
      const padded = Math.ceil(nodes / MIN_FAN_OUT) * MIN_FAN_OUT;
      this.levels.push(new Float64Array(padded).fill(Number.POSITIVE_INFINITY));
      nodes = padded / MIN_FAN_OUT;
    }
    this.levels.push(new Float64Array(1).fill(Number.POSITIVE_INFINITY));
  }

  /** Infinity if all values are 0. */
  get minimum(): number {
    return this.levels[this.levels.length - 1][0];
  }

  /** To be called after the value at an index changed from `before`. */
  changed(index: number, before: number): void {
    let old = before > 0 ? before : Number.POSITIVE_INFINITY;
    const value = this.values[index];
    let now = value > 0 ? value : Number.POSITIVE_INFINITY;
    let node = index;
    for (let level = 0; level < this.levels.length; level++) {
      node >>>= MIN_BITS;
      const minima = this.levels[level];
      const minimum = minima[node];
      if (now >= minimum && old > minimum) return;
      const next = now < minimum ? now : this.leastChild(level, node);
      if (next === minimum) return;
      minima[node] = next;
      old = minimum;
      now = next;
    }
  }

  /** To be called after the values first .. last changed. */
  changedRange(first: number, last: number): void {
    for (let level = 0; level < this.levels.length; level++) {
      first >>>= MIN_BITS;
      last >>>= MIN_BITS;
      for (let node = first; node <= last; node++) this.levels[level][node] = this.leastChild(level, node);
    }
  }

  private leastChild(level: number, node: number): number {
    const children = level === 0 ? this.values : this.levels[level - 1];
    let least = Number.POSITIVE_INFINITY;
    for (let k = node << MIN_BITS; k < (node + 1) << MIN_BITS; k++) {
      if (children[k] < least && children[k] > 0) least = children[k];
    }
    return least;
  }
}
