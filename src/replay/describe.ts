// What a saved buffer holds, in figures small enough to print: for `reverie inspect`.

import { resolve } from 'node:path';
import { ReplayBuffer } from './buffer.js';
import type { Origin } from './origins.js';
import type { Source } from './transition.js';

export interface BufferDescription {
  readonly path: string;
  readonly source: Source;
  readonly rows: number;
  readonly capacity: number;
  /** Rows ever inserted; more than `rows` once the ring has overwritten some. */
  readonly inserted: number;
  readonly obsDim: number;
  readonly actionDim: number;
  /** Rows by each part of their provenance. */
  readonly rowsBy: {
    readonly backend: Readonly<Record<string, number>>;
    readonly modelVersion: Readonly<Record<string, number>>;
    readonly policyVersion: Readonly<Record<string, number>>;
    readonly scenario: Readonly<Record<string, number>>;
  };
  /** Per row; NaN without rows. */
  readonly reward: { readonly mean: number; readonly std: number; readonly min: number; readonly max: number };
  /** Distinct episode numbers. */
  readonly episodes: number;
  readonly terminated: number;
  readonly truncated: number;
  /** SHA-256 of the content. */
  readonly hash: string;
}

/** Describes the buffer saved in a folder. Throws as `ReplayBuffer.load` does. */
export async function describeBuffer(folder: string): Promise<BufferDescription> {
  const buffer = await ReplayBuffer.openSaved(folder);
  try {
    return descriptionOf(buffer, resolve(folder));
  } finally {
    buffer.close();
  }
}

function descriptionOf(buffer: ReplayBuffer, path: string): BufferDescription {
  const origins = buffer.originList();
  const rowsOf = new Float64Array(origins.length);
  const episodes = new Set<number>();
  let [terminated, truncated] = [0, 0];
  for (const piece of buffer.pieces(['origin', 'episode', 'terminated', 'truncated'])) {
    for (const id of piece.origin) rowsOf[id]++;
    for (const episode of piece.episode) episodes.add(episode);
    for (const flag of piece.terminated) terminated += flag;
    for (const flag of piece.truncated) truncated += flag;
  }
  const { source, size, capacity, inserted, obsDim, actionDim } = buffer;
  return {
    path,
    source,
    rows: size,
    capacity,
    inserted,
    obsDim,
    actionDim,
    rowsBy: {
      backend: countBy(origins, rowsOf, 'backend'),
      modelVersion: countBy(origins, rowsOf, 'modelVersion'),
      policyVersion: countBy(origins, rowsOf, 'policyVersion'),
      scenario: countBy(origins, rowsOf, 'scenario'),
    },
    reward: rewardsOf(buffer),
    episodes: episodes.size,
    terminated,
    truncated,
    hash: buffer.hash(),
  };
}

function countBy(
  origins: readonly Origin[],
  rowsOf: Float64Array,
  part: 'backend' | 'modelVersion' | 'policyVersion' | 'scenario',
): Record<string, number> {
  const counts = new Map<string, number>();
  origins.forEach((origin, id) => {
    if (rowsOf[id] > 0) counts.set(origin[part], (counts.get(origin[part]) ?? 0) + rowsOf[id]);
  });
  return Object.fromEntries(counts);
}

function rewardsOf(buffer: ReplayBuffer): BufferDescription['reward'] {
  let min = Number.NaN;
  let max = Number.NaN;
  let sum = 0;
  for (const { reward } of buffer.pieces(['reward'])) {
    for (const value of reward) {
      sum += value;
      if (!(value >= min)) min = value;
      if (!(value <= max)) max = value;
    }
  }
  const mean = sum / buffer.size;
  let squares = 0;
  for (const { reward } of buffer.pieces(['reward'])) for (const value of reward) squares += (value - mean) ** 2;
  return { mean, std: Math.sqrt(squares / buffer.size), min, max };
}
