// What every selector promises, run by each of them: valid rows only, the declared distribution (chi-square), rings
// that overwrite, determinism, and a state from which it goes on exactly.

import { describe, expect, it } from 'vitest';
import { Rng } from '../../src/core/rng.js';
import type { ReplayBuffer } from '../../src/replay/buffer.js';
import type { Selector } from '../../src/replay/selectors.js';
import { fill, makeBuffer } from './rows.js';

export interface SelectorCase {
  readonly name: string;
  readonly make: (buffer: ReplayBuffer) => Selector;
  /** The declared probability of each index, given the buffer; sums to 1. */
  readonly expected: (buffer: ReplayBuffer, selector: Selector) => number[];
}

const DRAWS = 16_000;

export function selectorContract({ name, make, expected }: SelectorCase): void {
  describe(`selector contract: ${name}`, () => {
    it.each([
      ['partly filled', 20],
      ['just full', 32],
      ['overwritten', 77],
    ])('draws each row as often as declared, buffer %s', (_, rows) => {
      const buffer = makeBuffer(32);
      const selector = make(buffer);
      fill(buffer, rows, 9);
      disturb(selector, buffer);
      expectDistribution(drawCounts(selector, buffer.size), expected(buffer, selector));
    });

    it('answers the same for the same seed, and other rows for another', () => {
      const [a, b, c] = [1, 1, 2].map((seed) => {
        const buffer = makeBuffer(1000);
        const selector = make(buffer);
        fill(buffer, 900, 9);
        return draw(selector, 64, Rng.fromSeed(seed));
      });
      expect(a).toEqual(b);
      expect(a.indices).not.toEqual(c.indices);
    });

    it('goes on exactly from a saved state', () => {
      const buffer = makeBuffer(100);
      const selector = make(buffer);
      fill(buffer, 130, 9);
      disturb(selector, buffer);
      const state = structuredClone(selector.state());
      expect(JSON.parse(JSON.stringify(state.scalars))).toEqual(state.scalars);
      const twin = make(buffer);
      twin.restore(state);
      expect(twin.state()).toEqual(state);
      for (let round = 0; round < 5; round++) {
        const rng = Rng.fromSeed(round);
        expect(draw(twin, 64, Rng.fromState(rng.state()))).toEqual(draw(selector, 64, rng));
        disturb(selector, buffer, round);
        disturb(twin, buffer, round);
        fill(buffer, 17);
      }
      expect(twin.state()).toEqual(selector.state());
    });

    it('refuses the state of another kind', () => {
      const selector = make(makeBuffer(10));
      expect(() => selector.restore({ kind: 'other', scalars: {}, arrays: {} })).toThrow(
        expect.objectContaining({ code: 'STATE_MISMATCH' }),
      );
    });

    it('refuses to draw from nothing', () => {
      expect(() => draw(make(makeBuffer(10)), 4, Rng.fromSeed(0))).toThrow(
        expect.objectContaining({ code: 'REPLAY_EMPTY' }),
      );
    });

    it('writes only the places asked for, weights in (0, 1]', () => {
      const buffer = makeBuffer(10);
      const selector = make(buffer);
      fill(buffer, 5);
      disturb(selector, buffer);
      const indices = new Uint32Array(12).fill(99);
      const weights = new Float32Array(12).fill(99);
      selector.sample(8, Rng.fromSeed(3), indices, weights);
      expect(indices.subarray(8).every((index) => index === 99)).toBe(true);
      expect(weights.subarray(8).every((weight) => weight === 99)).toBe(true);
      expect(indices.subarray(0, 8).every((index) => index < 5)).toBe(true);
      expect(weights.subarray(0, 8).every((weight) => weight > 0 && weight <= 1)).toBe(true);
    });
  });
}

/** Priorities that differ from row to row, for selectors that take them. */
export function disturb(selector: Selector, buffer: ReplayBuffer, round = 0): void {
  const indices = Uint32Array.from({ length: buffer.size }, (_, i) => i);
  selector.update?.(
    indices,
    Float32Array.from(indices, (i) => ((i * 7 + round) % 5) + 0.5),
  );
}

export function draw(
  selector: Selector,
  rows: number,
  rng: Rng,
): { readonly indices: Uint32Array; readonly weights: Float32Array } {
  const indices = new Uint32Array(rows);
  const weights = new Float32Array(rows);
  selector.sample(rows, rng, indices, weights);
  return { indices, weights };
}

export function drawCounts(selector: Selector, size: number): number[] {
  const counts = new Array<number>(size).fill(0);
  const rng = Rng.fromSeed(11);
  // Batches of 64: stratified draws have less spread than independent ones, so the chi-square bound holds for both.
  for (let round = 0; round < DRAWS / 64; round++) for (const index of draw(selector, 64, rng).indices) counts[index]++;
  return counts;
}

/** Pearson's statistic against the 99.99 % point (Wilson and Hilferty's approximation). */
export function expectDistribution(counts: number[], expected: number[]): void {
  const draws = counts.reduce((sum, count) => sum + count, 0);
  let statistic = 0;
  let cells = 0;
  counts.forEach((count, index) => {
    const want = expected[index] * draws;
    if (want === 0) expect(count).toBe(0);
    if (want < 5) return;
    statistic += (count - want) ** 2 / want;
    cells++;
  });
  const freedom = Math.max(1, cells - 1);
  const bound = freedom * (1 - 2 / (9 * freedom) + 3.72 * Math.sqrt(2 / (9 * freedom))) ** 3;
  expect(statistic).toBeLessThan(bound);
}
