import { describe, expect, it } from 'vitest';
import { Rng } from '../../src/core/rng.js';
import type { ReplayBuffer } from '../../src/replay/buffer.js';
import { PrioritizedSelector, type SelectorState, stateOfNewest, UniformSelector } from '../../src/replay/selectors.js';
import { fill, makeBuffer } from './rows.js';
import { disturb, draw, drawCounts, expectDistribution, selectorContract } from './selector-contract.js';

/** Age in rows of each index: 0 is the newest. */
function ages(buffer: ReplayBuffer): number[] {
  return Array.from({ length: buffer.size }, (_, index) => buffer.inserted - 1 - buffer.rowId(index));
}

function normalised(weights: number[]): number[] {
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return weights.map((weight) => weight / total);
}

selectorContract({
  name: 'uniform',
  make: (buffer) => new UniformSelector(buffer),
  expected: (buffer) => ages(buffer).map(() => 1 / buffer.size),
});

selectorContract({
  name: 'prioritized',
  make: (buffer) => new PrioritizedSelector(buffer, { alpha: 0.7, beta: 0.5 }),
  expected: (buffer, selector) => ages(buffer).map((_, i) => (selector as PrioritizedSelector).probability(i)),
});

describe('PrioritizedSelector', () => {
  it('draws in proportion to (priority + epsilon)^alpha', () => {
    const buffer = makeBuffer(40);
    const selector = new PrioritizedSelector(buffer, { alpha: 0.5, epsilon: 0.25 });
    fill(buffer, 40);
    const priorities = Float32Array.from({ length: 40 }, (_, i) => (i % 8) ** 2);
    selector.update(
      Uint32Array.from(priorities, (_, i) => i),
      priorities,
    );
    const expected = normalised([...priorities].map((priority) => Math.sqrt(priority + 0.25)));
    expectDistribution(drawCounts(selector, 40), expected);
    expected.forEach((p, i) => {
      expect(selector.probability(i)).toBeCloseTo(p, 12);
    });
  });

  it('weighs rows by (n P(i))^-beta relative to the largest weight in the buffer', () => {
    const buffer = makeBuffer(40);
    const selector = new PrioritizedSelector(buffer, { alpha: 1, beta: 0.7, epsilon: 0 });
    fill(buffer, 30);
    disturb(selector, buffer);
    const raw = (index: number): number => (30 * selector.probability(index)) ** -0.7;
    const largest = Math.max(...Array.from({ length: 30 }, (_, i) => raw(i)));
    const { indices, weights } = draw(selector, 64, Rng.fromSeed(5));
    weights.forEach((weight, i) => {
      expect(weight).toBeCloseTo(raw(indices[i]) / largest, 6);
    });
  });

  it('gives new and overwriting rows the highest priority seen', () => {
    const buffer = makeBuffer(8);
    const selector = new PrioritizedSelector(buffer, { alpha: 1, epsilon: 0 });
    fill(buffer, 8);
    selector.update(Uint32Array.of(0, 1, 2, 3, 4, 5, 6, 7), Float32Array.of(1, 2, 3, 4, 5, 6, 7, 20));
    fill(buffer, 3);
    const total = 20 * 3 + 4 + 5 + 6 + 7 + 20;
    expect(selector.probability(0)).toBeCloseTo(20 / total, 12);
    expect(selector.probability(2)).toBeCloseTo(20 / total, 12);
    expect(selector.probability(3)).toBeCloseTo(4 / total, 12);
  });

  it('keeps the priorities of the newest rows of a ring for a buffer of them alone', () => {
    const buffer = makeBuffer(8);
    const selector = new PrioritizedSelector(buffer, { alpha: 1, epsilon: 0 });
    fill(buffer, 11);
    selector.update(Uint32Array.of(0, 1, 2, 3, 4, 5, 6, 7), Float32Array.of(1, 2, 3, 4, 5, 6, 7, 8));
    // Rows 3 to 10 lie at indices 3 to 7, then 0 to 2.
    const newest = new PrioritizedSelector(buffer.newest(5), { alpha: 1, epsilon: 0 });
    newest.restore(stateOfNewest(selector.state(), buffer, 5));
    const expected = normalised([7, 8, 1, 2, 3]);
    expect(expected.map((_, i) => newest.probability(i))).toEqual(expected.map((p) => expect.closeTo(p, 12)));
  });

  it('never draws a row of priority 0 when epsilon is 0, however large the others', () => {
    const buffer = makeBuffer(300);
    const selector = new PrioritizedSelector(buffer, { alpha: 1, epsilon: 0 });
    fill(buffer, 300);
    const priorities = Float32Array.from({ length: 300 }, (_, i) => (i % 17 === 16 ? 10 ** ((i % 60) - 30) : 0));
    selector.update(
      Uint32Array.from(priorities, (_, i) => i),
      priorities,
    );
    for (let seed = 0; seed < 40; seed++) {
      for (const index of draw(selector, 64, Rng.fromSeed(seed)).indices) expect(priorities[index]).toBeGreaterThan(0);
    }
  });

  it.each([
    ['NaN', [0], [Number.NaN], 'NON_FINITE_VALUE'],
    ['a negative priority', [0], [-1], 'NON_FINITE_VALUE'],
    ['a row that does not exist', [0, 4], [1, 1], 'DATA_MISMATCH'],
  ])('refuses %s and changes nothing', (_, indices, priorities, code) => {
    const buffer = makeBuffer(10);
    const selector = new PrioritizedSelector(buffer);
    fill(buffer, 4);
    const before = selector.state();
    expect(() => selector.update(Uint32Array.from(indices), Float32Array.from(priorities))).toThrow(
      expect.objectContaining({ code }),
    );
    expect(selector.state()).toEqual(before);
  });

  it('refuses states of another buffer or with other options', () => {
    const buffer = makeBuffer(10);
    const selector = new PrioritizedSelector(buffer);
    fill(buffer, 4);
    const state = selector.state();
    const damaged = state.arrays.leaves.slice().fill(Number.NaN);
    const others: SelectorState[] = [
      { ...state, arrays: { leaves: state.arrays.leaves.slice(1) } },
      { ...state, arrays: {} },
      { ...state, arrays: { leaves: damaged } },
      { ...state, scalars: { ...state.scalars, alpha: 0.1 } },
      { ...state, scalars: { ...state.scalars, beta: 7 } },
    ];
    for (const other of others) {
      expect(() => selector.restore(other)).toThrow(expect.objectContaining({ code: 'STATE_MISMATCH' }));
    }
    expect(selector.state()).toEqual(state);
  });

  it.each([{ alpha: 1.5 }, { beta: Number.NaN }])('refuses option %o', (options) => {
    expect(() => new PrioritizedSelector(makeBuffer(4), options)).toThrow(
      expect.objectContaining({ code: 'SETTING_INVALID' }),
    );
  });
});
