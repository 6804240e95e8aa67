import { describe, expect, it } from 'vitest';
import { Rng } from '../../src/core/rng.js';
import { ReplayBuffer } from '../../src/replay/buffer.js';
import { MixtureSampler } from '../../src/replay/mixture.js';
import { PrioritizedSelector, UniformSelector } from '../../src/replay/selectors.js';
import { makeBuffer, makeProvenance, makeRows } from './rows.js';

/** Real rows have ids from 0, synthetic ones from 1000, so the reward tells the source. */
function sides(realRows: number, syntheticRows: number) {
  const real = makeBuffer(100, 'real');
  const synthetic = makeBuffer(100, 'synthetic');
  if (realRows > 0) real.append(makeRows(0, realRows), makeProvenance('real', 0, realRows));
  if (syntheticRows > 0) {
    synthetic.append(makeRows(1000, syntheticRows), makeProvenance('synthetic', 0, syntheticRows));
  }
  return {
    real: { buffer: real, selector: new UniformSelector(real) },
    synthetic: { buffer: synthetic, selector: new UniformSelector(synthetic) },
  };
}

function realRowsPerBatch(rewards: Float32Array, batchSize: number): number[] {
  const counts: number[] = [];
  for (let at = 0; at < rewards.length; at += batchSize) {
    counts.push(rewards.subarray(at, at + batchSize).filter((reward) => reward < 1000).length);
  }
  return counts;
}

describe('MixtureSampler', () => {
  it.each([0, 0.05, 0.33, 1])('holds a real ratio of %f exactly in every batch', (realRatio) => {
    const sampler = new MixtureSampler({ ...sides(50, 60), realRatio });
    for (const batchSize of [1, 7, 32, 256]) {
      const batch = sampler.sampleSteps(5, batchSize, Rng.fromSeed(batchSize));
      expect(batch.rows).toBe(5 * batchSize);
      expect(realRowsPerBatch(batch.reward, batchSize)).toEqual(new Array(5).fill(Math.round(realRatio * batchSize)));
    }
  });

  it('says what it drew and hands priorities to the side they belong to', () => {
    const { real, synthetic } = sides(50, 60);
    const selector = new PrioritizedSelector(synthetic.buffer, { alpha: 1, epsilon: 0 });
    const sampler = new MixtureSampler({ real, synthetic: { ...synthetic, selector }, realRatio: 0.25 });
    const batch = sampler.sampleSteps(2, 8, Rng.fromSeed(2));
    const { realRows, indices, weights } = sampler.lastDraw();
    expect(realRows).toBe(2);
    expect(weights.length).toBe(16);
    indices.forEach((index, i) => {
      expect(batch.reward[i]).toBe(i % 8 < 2 ? index : 1000 + index);
    });
    sampler.updatePriorities(new Float32Array(16).fill(9));
    const raised = new Set(indices.filter((_, i) => i % 8 >= 2));
    const total = 60 + 8 * raised.size;
    for (let index = 0; index < 60; index++) {
      expect(selector.probability(index)).toBeCloseTo((raised.has(index) ? 9 : 1) / total, 12);
    }
    expect(() => sampler.updatePriorities(new Float32Array(3))).toThrow(
      expect.objectContaining({ code: 'DATA_MISMATCH' }),
    );
  });

  it.each([
    ['real', 0, 10],
    ['synthetic', 10, 0],
  ])('an empty %s side is an error', (source, realRows, syntheticRows) => {
    const both = sides(realRows, syntheticRows);
    const rng = Rng.fromSeed(0);
    expect(() => new MixtureSampler({ ...both, realRatio: 0.5 }).sample(8, rng)).toThrow(
      expect.objectContaining({ code: 'REPLAY_EMPTY', message: expect.stringContaining(source) }),
    );
  });

  it('does not mind an empty side that gives no rows', () => {
    expect(new MixtureSampler({ ...sides(0, 10), realRatio: 0 }).sample(4, Rng.fromSeed(0)).rows).toBe(4);
    expect(new MixtureSampler({ ...sides(10, 0), realRatio: 1 }).sample(4, Rng.fromSeed(0)).rows).toBe(4);
  });

  it('refuses swapped sides, other dimensions and ratios out of range', () => {
    const { real, synthetic } = sides(1, 1);
    const wide = new ReplayBuffer({ capacity: 1, obsDim: 9, actionDim: 1, source: 'synthetic' });
    const wrong = [
      { real: synthetic, synthetic: real, realRatio: 0.5 },
      { real, synthetic: { buffer: wide, selector: new UniformSelector(wide) }, realRatio: 0.5 },
      { real, synthetic, realRatio: 1.1 },
      { real, synthetic, realRatio: Number.NaN },
    ];
    for (const options of wrong) {
      expect(() => new MixtureSampler(options)).toThrow(expect.objectContaining({ code: 'SETTING_INVALID' }));
    }
  });
});
