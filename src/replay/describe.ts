// What a saved buffer holds, in figures small enough to print: for `reverie inspect`.

import { resolve } from 'node:path';
import { ReplayBuffer } from './buffer.js';

/** Rows by each part of their provenance, the mean reward (NaN without rows), distinct episodes, ends. Throws as `ReplayBuffer.load` does. */
export async function describeBuffer(folder: string) {
  const buffer = await ReplayBuffer.load(folder);
  const { source, size, capacity, inserted, obsDim, actionDim } = buffer;
  const { origin, episode, terminated, truncated, reward } = buffer.columns();
  const origins = buffer.originList();
  const rowsBy = (part: 'backend' | 'modelVersion' | 'policyVersion') => {
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
