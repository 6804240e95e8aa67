// Actions the environment checker tries: some inside a space, some outside.

import type { Space } from '../core/environment.js';
import type { Rng } from '../core/rng.js';
import { rowSize } from './space-values.js';
import { sampleToolsAction } from './tools/sample-action.js';

const WORDS = ['look', 'go', 'north', 'take', 'open', 'the', 'door', 'lamp', 'wait', 'inventory'];

/** A random action. */
export function sampleAction(space: Space, rng: Rng): unknown {
  if (space.type === 'discrete') return Float32Array.of(space.start + rng.int(space.n));
  if (space.type === 'tools') return sampleToolsAction(space, rng);
  if (space.type === 'text') {
    return Array.from({ length: 1 + rng.int(3) }, () => WORDS[rng.int(WORDS.length)]).join(' ');
  }
  return Float32Array.from({ length: rowSize(space) }, (_, i) => {
    const low = Math.max(space.low[i] ?? -1, -1e6);
    const high = Math.min(space.high[i] ?? 1, 1e6);
    return Math.min(Math.max(low + (high - low) * rng.uniform(), low), high);
  });
}

/** Actions outside the space: too long, not a number, out of bounds; no text; neither said nor called. */
export function strayAction(space: Space): unknown[] {
  if (space.type === 'text') return [7, null, 'x'.repeat(space.maxLength + 1)];
  if (space.type === 'tools') {
    const calls = [{ id: 'a', name: 7, arguments: {} }];
    return [7, null, {}, { content: 7 }, { content: null, toolCalls: [] }, { content: null, toolCalls: calls }];
  }
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
