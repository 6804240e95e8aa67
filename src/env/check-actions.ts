// Actions the environment checker tries: some inside a space, some outside.

import type { Rng } from '../rng.js';
import { rowSize } from './space-values.js';
import type { Space } from './spaces.js';

/** A random action; for spaces that cannot be sampled, none. */
export function sampleAction(space: Space, rng: Rng): unknown {
  if (space.type === 'discrete') return Float32Array.of(space.start + rng.int(space.n));
  if (space.type !== 'box') return undefined;
  return Float32Array.from({ length: rowSize(space) }, (_, i) => {
    const low = Math.max(space.low[i] ?? -1, -1e6);
    const high = Math.min(space.high[i] ?? 1, 1e6);
    return Math.min(Math.max(low + (high - low) * rng.uniform(), low), high);
  });
}

/** Actions outside a vector space: too long, not a number, out of bounds. Other spaces: none. */
export function strayAction(space: Space): unknown[] {
  if (space.type !== 'box' && space.type !== 'discrete') return [];
  const size = rowSize(space);
  const stray = [new Float32Array(size + 1), new Float32Array(size).fill(Number.NaN)];
  if (space.type === 'discrete')
    return [...stray, Float32Array.of(space.start + space.n), Float32Array.of(space.start + 0.5)];
  const bounded = space.high.findIndex((high) => high !== null);
  if (bounded < 0) return stray;
  const beyond = new Float32Array(size);
  beyond[bounded] = space.high[bounded]! + 1;
  return [...stray, beyond];
}
