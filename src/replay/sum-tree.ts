// Draws leaves in proportion to their values. A tree of fan-out 4 in level order: a step down is a few comparisons and
// no branch, so the draws of a batch, taken level by level together, overlap their cache misses instead of waiting for
// one another. A parent is always the sum of its children in order, never a running difference: no drift, and
// rebuilding from the leaves gives the same bytes.

const BITS = 2;
const FAN_OUT = 1 << BITS;
const MIN_BITS = 4;
/** Of the tree of minima; leaves are padded to a multiple of it. */
const MIN_FAN_OUT = 1 << MIN_BITS;

export class SumTree {
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
  private readonly values: Float64Array;
  /** Inner levels from the lowest to the root, each padded to whole parents with Infinity. */
  private readonly levels: Float64Array[] = [];

  /** @param values watched values, a multiple of 16 of them, all 0 at first; 0 counts as absent */
  constructor(values: Float64Array) {
    this.values = values;
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
