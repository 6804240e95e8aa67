// A set of numbers in little memory: its k smallest hashes (bottom-k sketch, Cohen & Kaplan, PODC 2007). Exact while the
// set has no more than k members; beyond that, estimates of its size and of its overlap with others.

import { mix32 } from './text-hash.js';

/** The `k` smallest different values, ascending. */
export function bottomK(values: Iterable<number>, k: number): Float64Array {
  return Float64Array.from(new Set(values)).sort().slice(0, k);
}

/** Share of the union of two sets that is in both (Jaccard), from their bottom-k sketches. */
export function jaccard(a: Float64Array, b: Float64Array, k: number): number {
  let both = 0;
  let seen = 0;
  for (let i = 0, j = 0; seen < k && (i < a.length || j < b.length); seen++) {
    if (j >= b.length || a[i] < b[j]) i++;
    else if (i >= a.length || b[j] < a[i]) j++;
    else {
      both++;
      i++;
      j++;
    }
  }
  return seen === 0 ? 1 : both / seen;
}

/** Counts different numbers, exactly up to `limit`, then within a per cent or so. */
export class DistinctCounter {
  private kept = new Set<number>();
  /** Hashes at or above it are no longer kept. */
  private bound = 1;

  constructor(private readonly limit = 65_536) {}

  add(hash: number): void {
    const place = mix32(hash ^ Math.floor(hash / 2 ** 32)) / 2 ** 32;
    if (place >= this.bound) return;
    this.kept.add(hash);
    if (this.kept.size > 2 * this.limit) this.halve();
  }

  get count(): number {
    return Math.round(this.kept.size / this.bound);
  }

  private halve(): void {
    this.bound /= 2;
    const bound = this.bound;
    this.kept = new Set([...this.kept].filter((hash) => mix32(hash ^ Math.floor(hash / 2 ** 32)) / 2 ** 32 < bound));
  }
}
