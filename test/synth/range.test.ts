// Branches that leave the range of what was really seen.

import { describe, expect, it } from 'vitest';
import { ReplayBuffer } from '../../src/replay/buffer.js';
import { allocateBatch } from '../../src/replay/columns.js';
import { cutAtRange, observedRange } from '../../src/synth/rollout/pool.js';

const REAL = { source: 'real', backend: 'real', modelVersion: '', scenario: 's', policyVersion: 'p', seed: 0 } as const;

/** Real observations from 0 to 10. */
function real(): ReplayBuffer {
  const buffer = new ReplayBuffer({ capacity: 10, obsDim: 1, actionDim: 1, source: 'real' });
  const batch = allocateBatch(2, 1, 1);
  batch.obs.set([0, 4]);
  batch.nextObs.set([4, 10]);
  buffer.append(batch, { ...REAL, episode: Float64Array.of(0, 0), step: Uint32Array.of(0, 1) });
  return buffer;
}

/** Branches of three, two and one rows. */
function simulated(nextObs: readonly number[]) {
  const batch = allocateBatch(6, 1, 1);
  batch.nextObs.set(nextObs);
  batch.truncated.set([0, 0, 1, 0, 0, 1]);
  batch.terminated.set([0, 0, 0, 0, 1, 0]);
  const provenance = {
    ...{ ...REAL, source: 'synthetic' as const, modelVersion: 'm' },
    episode: Float64Array.of(7, 7, 7, 8, 8, 9),
    step: Uint32Array.of(0, 1, 2, 0, 1, 0),
  };
  const counts = { episodes: 3, rows: 6, terminated: 1, outOfHorizon: 2, doubted: 0 };
  return { batch, provenance, counts };
}

describe('the range of what was seen', () => {
  it('holds what a model makes of an element that never changed, but for what rounds, and nothing else', () => {
    const buffer = new ReplayBuffer({ capacity: 1, obsDim: 1, actionDim: 1, source: 'real' });
    buffer.append(allocateBatch(1, 1, 1), { ...REAL, episode: Float64Array.of(0), step: Uint32Array.of(0) });
    const still = observedRange(buffer, 0.5);
    const rounded = simulated([1e-15, -1e-15, 0, 1e-15, 0, 0]);
    expect(cutAtRange(rounded, still)).toBe(rounded);
    expect(cutAtRange(simulated([0.01, 0, 0, 0, -0.01, 0]), still).batch.rows).toBe(2);
  });

  it('ends branches before they leave it, and takes nothing of them after that', () => {
    const { batch, provenance, counts } = cutAtRange(simulated([1, 99, 2, -6, 3, 4]), observedRange(real(), 0.5));
    expect(Array.from(batch.nextObs)).toEqual([1, 4]);
    expect(Array.from(batch.truncated)).toEqual([1, 1]);
    expect(Array.from(provenance.episode!)).toEqual([7, 9]);
    expect(counts).toEqual({ episodes: 3, rows: 2, terminated: 0, outOfHorizon: 1, doubted: 2 });
  });

  it('knows no number that is none', () => {
    const { batch } = cutAtRange(simulated([1, 2, Number.NaN, 1, 2, 3]), observedRange(real(), 0.5));
    expect(batch.rows).toBe(5);
  });
});
