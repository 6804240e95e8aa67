// Transitions and spaces made up for tests of learners.

import type { VectorSpace } from '../../src/core/environment.js';
import type { Rng } from '../../src/core/rng.js';
import type { TransitionBatch } from '../../src/replay/transition.js';

export function box(dim: number, low: number | null, high: number | null): VectorSpace {
  return { type: 'box', shape: [dim], low: Array(dim).fill(low), high: Array(dim).fill(high) };
}

export function spacesOf(obsDim: number, actionSpace: VectorSpace) {
  return { observationSpace: box(obsDim, null, null), actionSpace };
}

/** Random rows with actions in [-1, 1]; every fourth terminated, every fourth but one truncated. */
export function randomBatch(rows: number, obsDim: number, actionDim: number, rng: Rng): TransitionBatch {
  return {
    rows,
    obs: rng.fillNormal(new Float32Array(rows * obsDim)),
    action: rng.fillUniform(new Float32Array(rows * actionDim), -1, 1),
    reward: rng.fillNormal(new Float32Array(rows)),
    terminated: Uint8Array.from({ length: rows }, (_, i) => (i % 4 === 0 ? 1 : 0)),
    truncated: Uint8Array.from({ length: rows }, (_, i) => (i % 4 === 1 ? 1 : 0)),
    nextObs: rng.fillNormal(new Float32Array(rows * obsDim)),
  };
}
