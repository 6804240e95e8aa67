// Branches that leave the range of what was really seen.

import { describe, expect, it } from 'vitest';
import { allocateBatch } from '../../src/replay/columns.js';
import { cutAtRange } from '../../src/synth/rollout/chunk.js';
import { observedRange } from '../../src/worldmodel/seen-range.js';

const HORIZON = 3;

/** Real observations from 0 to 10. */
const REAL = { obs: Float32Array.of(0, 4), nextObs: Float32Array.of(4, 10) };
const range = observedRange(REAL, 1, 0.5);

/** Branches of three, two, one and two rows: the first at the horizon, the second at its end, the others cut by doubt. */
function simulated(nextObs: readonly number[]) {
  const batch = allocateBatch(8, 1, 1);
  batch.nextObs.set(nextObs);
  batch.truncated.set([0, 0, 1, 0, 0, 1, 0, 1]);
  batch.terminated.set([0, 0, 0, 0, 1, 0, 0, 0]);
  return {
    ...{ ...batch, index: 2 },
    episode: Float64Array.of(7, 7, 7, 8, 8, 9, 10, 10),
    step: Uint32Array.of(0, 1, 2, 0, 1, 0, 0, 1),
    parent: new Float64Array(8),
    counts: { episodes: 4, rows: 8, terminated: 1, outOfHorizon: 1, doubted: 2 },
  };
}

describe('the range of what was seen', () => {
  it('holds what a model makes of an element that never changed, but for what rounds, and nothing else', () => {
    const still = observedRange({ obs: new Float32Array(1), nextObs: new Float32Array(1) }, 1, 0.5);
    const rounded = simulated([1e-15, -1e-15, 0, 1e-15, 0, 0, 0, 0]);
    expect(cutAtRange(rounded, { horizon: HORIZON, range: still })).toBe(rounded);
    const cut = cutAtRange(simulated([0.01, 0, 0, 0, -0.01, 0, 0, 0]), { horizon: HORIZON, range: still });
    expect(cut.rows).toBe(4);
  });

  it('ends branches before they leave it, and takes nothing of them after that', () => {
    const { nextObs, truncated, episode, counts, rows, index } = cutAtRange(simulated([1, 99, 2, -6, 3, 4, 5, -99]), {
      ...{ horizon: HORIZON, range },
    });
    expect(Array.from(nextObs)).toEqual([1, 4, 5]);
    expect(Array.from(truncated)).toEqual([1, 1, 1]);
    expect(Array.from(episode)).toEqual([7, 9, 10]);
    // Two that doubt had cut already stay counted once.
    expect(counts).toEqual({ episodes: 4, rows: 3, terminated: 0, outOfHorizon: 0, doubted: 4 });
    expect([rows, index]).toEqual([3, 2]);
  });

  it('knows no number that is none, and no range where none is asked for', () => {
    const nowhere = simulated([1, 2, Number.NaN, 1, 2, 3, 4, 5]);
    expect(cutAtRange(nowhere, { horizon: HORIZON, range }).rows).toBe(7);
    expect(cutAtRange(nowhere, { horizon: HORIZON, range: observedRange(REAL, 1, null) })).toBe(nowhere);
  });
});
