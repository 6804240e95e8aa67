// What a saved buffer holds, in figures small enough to print: for `reverie inspect`.

import { resolve } from 'node:path';
import { ReplayBuffer } from './buffer.js';
import type { Source } from './transition.js';

interface BufferDescription {
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
  };
  /** Mean per row; NaN without rows. */
  readonly reward: number;
  /** Distinct episode numbers. */
  readonly episodes: number;
  readonly terminated: number;
  readonly truncated: number;
  /** SHA-256 of the content. */
  readonly hash: string;
}

/** Describes the buffer saved in a folder. Throws as `ReplayBuffer.load` does. */
export async function describeBuffer(folder: string): Promise<BufferDescription> {
  const buffer = await ReplayBuffer.load(folder);
  const { source, size, capacity, inserted, obsDim, actionDim } = buffer;
  const { origin, episode, terminated, truncated, reward } = buffer.columns();
  const origins = buffer.originList();
  const rowsBy = (part: keyof BufferDescription['rowsBy']) => {
    const counts: Record<string, number> = {};
    for (const id of origin) counts[origins[id][part]] = (counts[origins[id][part]] ?? 0) + 1;
    return counts;
  };
  const sum = (values: Iterable<number>) => {
    let total = 0;
    for (const value of values) total += value;
    return total;
  };
  return {
    path: resolve(folder),
    source,
    rows: size,
    capacity,
    inserted,
    obsDim,
    actionDim,
    rowsBy: {
      backend: rowsBy('backend'),
      modelVersion: rowsBy('modelVersion'),
      policyVersion: rowsBy('policyVersion'),
    },
    reward: sum(reward) / size,
    episodes: new Set(episode).size,
    terminated: sum(terminated),
    truncated: sum(truncated),
    hash: buffer.hash(),
  };
}
