// The least positive of many values that change a few at a time. A tree of fan-out 16 in level order over values owned
// by someone else; a change climbs only as far as it changes a minimum, which is seldom more than one level.

const BITS = 4;
const FAN_OUT = 1 << BITS;

export class MinTree {
  private readonly values: Float64Array;
  /** Inner levels from the lowest to the root, each padded to whole parents with Infinity. */
  private readonly levels: Float64Array[] = [];

  /** @param values watched values, a multiple of 16 of them, all 0 at first; 0 counts as absent */
  constructor(values: Float64Array) {
    this.values = values;
    let nodes = values.length / FAN_OUT;
    while (nodes > 1) {
      const padded = Math.ceil(nodes / FAN_OUT) * FAN_OUT;
      this.levels.push(new Float64Array(padded).fill(Number.POSITIVE_INFINITY));
      nodes = padded / FAN_OUT;
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
      node >>>= BITS;
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
      first >>>= BITS;
      last >>>= BITS;
      for (let node = first; node <= last; node++) this.levels[level][node] = this.leastChild(level, node);
    }
  }

  private leastChild(level: number, node: number): number {
    const children = level === 0 ? this.values : this.levels[level - 1];
    let least = Number.POSITIVE_INFINITY;
    for (let k = node << BITS; k < (node + 1) << BITS; k++) {
      if (children[k] < least && children[k] > 0) least = children[k];
    }
    return least;
  }
}
