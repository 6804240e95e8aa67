// Draws leaves in proportion to their values. A tree of fan-out 16 in level order, so that a draw among 2^20 leaves
// touches five nodes, each two cache lines, where a binary tree touches twenty. A parent is always the sum of its
// children in order, never a running difference: no drift, and rebuilding from the leaves gives the same bytes.

import { MinTree } from './min-tree.js';

const BITS = 4;
const FAN_OUT = 1 << BITS;
const QUARTER = FAN_OUT >> 2;

export class SumTree {
  /** First node of each level in `sums`; level 0 is the leaves, the last has one node. */
  private readonly offsets: number[] = [];
  /** All levels, one after another. */
  private readonly sums: Float64Array;
  private readonly least: MinTree;
  /** Last pass that refreshed each inner node, placed as in `sums` less the leaves. */
  private readonly stamps: Uint32Array;
  private readonly leafRows: number;
  private pass = 0;
  private touched = new Uint32Array(256);
  private targets = new Float64Array(257);

  /** @param capacity leaves 0 .. capacity - 1, all 0 */
  constructor(capacity: number) {
    let length = 0;
    for (let nodes = capacity; ; nodes = Math.ceil(nodes / FAN_OUT)) {
      this.offsets.push(length);
      // Padded to whole parents, so that every node can be read as 16 children.
      length += nodes === 1 && this.offsets.length > 1 ? 1 : Math.ceil(nodes / FAN_OUT) * FAN_OUT;
      if (nodes === 1 && this.offsets.length > 1) break;
    }
    this.leafRows = this.offsets[1];
    this.sums = new Float64Array(length);
    this.least = new MinTree(this.sums.subarray(0, this.leafRows));
    this.stamps = new Uint32Array(length - this.leafRows);
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
    if (this.touched.length < indices.length) this.touched = new Uint32Array(indices.length);
    const { sums, stamps, touched, least } = this;
    const pass = this.nextPass();
    let count = 0;
    for (let i = 0; i < indices.length; i++) {
      const leaf = indices[i];
      const before = sums[leaf];
      sums[leaf] = values[i];
      least.changed(leaf, before);
      const node = leaf >>> BITS;
      if (stamps[node] === pass) continue;
      stamps[node] = pass;
      touched[count++] = node;
    }
    for (let i = 0; i < count; i++) this.refreshParent(1, touched[i]);
    for (let level = 2; level < this.offsets.length; level++) count = this.refreshAbove(level, count, pass);
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
    if (this.targets.length <= rows) this.targets = new Float64Array(rows + 1);
    const { targets, total, offsets } = this;
    for (let i = 0; i < rows; i++) {
      targets[i] = fractions[i] * total;
      out[i] = 0;
    }
    // Level by level for the whole batch: the draws are independent, so their cache misses can overlap. The branches of
    // one draw would keep the next waiting, hence the pass that only touches; its result is kept in a spare place, or
    // the compiler would see that the reads are of no use.
    for (let level = offsets.length - 2; level >= 0; level--) {
      targets[rows] = touch(this.sums, offsets[level], out, rows);
      descend(this.sums, offsets[level], targets, rows, out);
    }
  }

  /** Refreshes the parents, on `level`, of the `count` nodes in `touched`, each once; answers how many they are. */
  private refreshAbove(level: number, count: number, pass: number): number {
    const { stamps, touched } = this;
    const offset = this.offsets[level] - this.leafRows;
    let above = 0;
    for (let i = 0; i < count; i++) {
      const node = touched[i] >>> BITS;
      if (stamps[offset + node] === pass) continue;
      stamps[offset + node] = pass;
      touched[above++] = node;
      this.refreshParent(level, node);
    }
    return above;
  }

  private refreshRange(firstLeaf: number, lastLeaf: number): void {
    let first = firstLeaf;
    let last = lastLeaf;
    for (let level = 1; level < this.offsets.length; level++) {
      first >>>= BITS;
      last >>>= BITS;
      for (let node = first; node <= last; node++) this.refreshParent(level, node);
    }
    this.least.changedRange(firstLeaf, lastLeaf);
  }

  private refreshParent(level: number, node: number): void {
    const { sums, offsets } = this;
    const start = offsets[level - 1] + (node << BITS);
    let sum = 0;
    for (let k = start; k < start + FAN_OUT; k += 4) sum += sums[k] + sums[k + 1] + (sums[k + 2] + sums[k + 3]);
    sums[offsets[level] + node] = sum;
  }

  private nextPass(): number {
    this.pass = (this.pass + 1) >>> 0;
    if (this.pass === 0) {
      this.stamps.fill(0);
      this.pass = 1;
    }
    return this.pass;
  }
}

/** Reads both cache lines of the children of every node. */
function touch(sums: Float64Array, offset: number, nodes: Uint32Array, rows: number): number {
  let sum = 0;
  for (let i = 0; i < rows; i++) {
    const start = offset + (nodes[i] << BITS);
    sum += sums[start] + sums[start + FAN_OUT - 1];
  }
  return sum;
}

/** Moves every draw from its node to the child its target falls in; targets become relative to that child. */
function descend(sums: Float64Array, offset: number, targets: Float64Array, rows: number, nodes: Uint32Array): void {
  for (let i = 0; i < rows; i++) {
    let rest = targets[i];
    const start = offset + (nodes[i] << BITS);
    const end = start + FAN_OUT;
    let child = start;
    for (let k = start; k < end - QUARTER; k += QUARTER) {
      const quarter = sums[k] + sums[k + 1] + sums[k + 2] + sums[k + 3];
      if (rest < quarter) break;
      rest -= quarter;
      child += QUARTER;
    }
    // A child of value 0 is never chosen: the rest is never below 0.
    while (child < end && rest >= sums[child]) rest -= sums[child++];
    if (child === end) {
      // Rounding carried the target past the last child: the last positive one takes it.
      do child--;
      while (sums[child] === 0);
      rest = sums[child];
    }
    nodes[i] = child - offset;
    targets[i] = rest;
  }
}
