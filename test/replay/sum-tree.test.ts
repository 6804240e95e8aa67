import { describe, expect, it } from 'vitest';
import { Rng } from '../../src/core/rng.js';
import { SumTree } from '../../src/replay/sum-tree.js';

/** The slow truth: walk the leaves. */
function findSlowly(leaves: Float64Array, target: number): number {
  let rest = target;
  for (let i = 0; i < leaves.length; i++) {
    if (rest < leaves[i]) return i;
    rest -= leaves[i];
  }
  return leaves.findLastIndex((leaf) => leaf > 0);
}

function leastPositive(leaves: Float64Array): number {
  return leaves.reduce((least, leaf) => (leaf > 0 && leaf < least ? leaf : least), Number.POSITIVE_INFINITY);
}

describe('SumTree', () => {
  it.each([1, 2, 15, 16, 17, 255, 256, 257, 4096, 5000])('agrees with a walk over %i leaves', (capacity) => {
    const tree = new SumTree(capacity);
    const leaves = new Float64Array(capacity);
    const rng = Rng.fromSeed(capacity);
    for (let round = 0; round < 30; round++) {
      const count = 1 + rng.int(40);
      const indices = Uint32Array.from({ length: count }, () => rng.int(capacity));
      // Multiples of 1/8 make all sums exact; every fourth value is 0.
      const values = Float64Array.from(indices, () => Math.max(0, rng.int(64) - 16) / 8);
      tree.set(indices, values);
      indices.forEach((leaf, i) => {
        leaves[leaf] = values[i];
      });
      const total = leaves.reduce((sum, leaf) => sum + leaf, 0);
      expect(tree.total).toBe(total);
      expect(tree.minimum).toBe(leastPositive(leaves));
      if (total === 0) continue;
      const fractions = rng.fillUniform(new Float64Array(20));
      const found = new Uint32Array(20);
      tree.find(fractions, 20, found);
      expect([...found]).toEqual(Array.from(fractions, (fraction) => findSlowly(leaves, fraction * total)));
    }
  });

  it('has the same sums after any history and after loading the leaves: no drift', () => {
    const tree = new SumTree(3000);
    const rng = Rng.fromSeed(1);
    for (let round = 0; round < 2000; round++) {
      const indices = Uint32Array.from({ length: 32 }, () => rng.int(3000));
      tree.set(
        indices,
        rng.fillUniform(new Float64Array(32)).map((value) => value ** 8 * 1e6),
      );
    }
    tree.fill(0.3, 100, 1234);
    const loaded = new SumTree(3000);
    loaded.fill(7, 0, 3000);
    loaded.load(tree.leaves(3000));
    expect(loaded['sums']).toEqual(tree['sums']);
    expect(loaded['least']).toEqual(tree['least']);
  });

  it('keeps to positive leaves at the very ends', () => {
    const tree = new SumTree(100);
    tree.set(Uint32Array.of(37, 53), Float64Array.of(1e-30, 1));
    const found = new Uint32Array(3);
    tree.find(Float64Array.of(0, 1 - 2 ** -53, 1), 3, found);
    expect([...found]).toEqual([37, 53, 53]);
  });
});
