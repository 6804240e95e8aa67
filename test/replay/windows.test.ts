// Windows over stored rows: within episodes, in order, nothing twice without need.

import { describe, expect, it } from 'vitest';
import { windowsOf } from '../../src/replay/index.js';

/** Episodes of these lengths, one after the other. */
function columnsOf(...lengths: number[]) {
  return {
    episode: lengths.flatMap((length, episode) => new Array<number>(length).fill(episode)),
    step: lengths.flatMap((length) => Array.from({ length }, (_, step) => step)),
  };
}

function pairs({ start, length }: ReturnType<typeof windowsOf>): number[][] {
  return Array.from(start, (at, w) => [at, length[w]]);
}

describe('windows', () => {
  it('stay within an episode, the last of each as long as what is left', () => {
    expect(pairs(windowsOf(columnsOf(5, 2), 7, 3))).toEqual([
      [0, 3],
      [3, 2],
      [5, 2],
    ]);
  });

  it('overlap by the stride, and none shows only what the one before it has shown', () => {
    expect(pairs(windowsOf(columnsOf(6), 6, 4, { stride: 2 }))).toEqual([
      [0, 4],
      [2, 4],
    ]);
    expect(pairs(windowsOf(columnsOf(7), 7, 4, { stride: 2 }))).toEqual([
      [0, 4],
      [2, 4],
      [4, 3],
    ]);
  });

  it('leave out what is too short', () => {
    expect(pairs(windowsOf(columnsOf(1, 4), 5, 4, { shortest: 2 }))).toEqual([[1, 4]]);
  });

  it('end where a row of the episode is missing', () => {
    const columns = { episode: [3, 3, 3, 3], step: [0, 1, 5, 6] };
    expect(pairs(windowsOf(columns, 4, 10))).toEqual([
      [0, 2],
      [2, 2],
    ]);
  });

  it('of no rows are none', () => {
    expect(pairs(windowsOf(columnsOf(), 0, 4))).toEqual([]);
  });
});
