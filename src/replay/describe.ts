// What a saved buffer holds, in figures small enough to print: for `reverie inspect`.

import { ReplayBuffer } from './buffer.js';

/** Rows, the mean reward (NaN without rows), distinct episodes, ends. Throws as `ReplayBuffer.load` does. */
export async function describeBuffer(folder: string) {
  const buffer = await ReplayBuffer.load(folder);
  const { source, size, capacity, inserted, obsDim, actionDim } = buffer;
  const { episode, terminated, truncated, reward } = buffer.columns();
  const sum = (values: Iterable<number>) => {
    let total = 0;
    for (const value of values) total += value;
    return total;
  };
  return {
    ...{ source, rows: size, capacity, inserted, obsDim, actionDim },
    reward: sum(reward) / size,
    episodes: new Set(episode).size,
    terminated: sum(terminated),
    truncated: sum(truncated),
    hash: buffer.hash(),
  };
}
