// Which states were visited at all: pairs of elements, each cut where equally many real states lie.

import type { Ground } from '../plan.js';
import { widths } from '../truth.js';

/** Cuts of each element of a pair, and of an element that is alone. */
const CUTS = 8;
const CUTS_ALONE = 64;

export interface Cells {
  /** The cells of one state, one a pair of elements. */
  of(state: ArrayLike<number>): readonly string[];
}

export function cellsOf({ truth, scales }: Ground): Cells {
  const { obsDim } = widths(truth);
  if (scales.isDiscrete) return { of: (state) => [`${state[0]}`] };
  const { nextObs, rows } = truth.rows;
  const cuts = obsDim === 1 ? CUTS_ALONE : CUTS;
  const borders = Array.from({ length: obsDim }, (_, j) => {
    const sorted = Float64Array.from({ length: rows }, (_, r) => nextObs[r * obsDim + j]).sort();
    return Array.from({ length: cuts - 1 }, (_, k) => sorted[Math.floor(((k + 1) * rows) / cuts)]);
  });
  const bin = (state: ArrayLike<number>, j: number) => borders[j].filter((border) => state[j] >= border).length;
  const pairs = pairsOf(obsDim);
  return { of: (state) => pairs.map(([i, j]) => `${i}:${bin(state, i)},${j}:${bin(state, j)}`) };
}

/** Each element with the next one and the one after: a few pairs of every element, not all. */
function pairsOf(elements: number): (readonly [number, number])[] {
  if (elements === 1) return [[0, 0]];
  const pairs = new Map<string, readonly [number, number]>();
  for (let i = 0; i < elements; i++) {
    for (const apart of [1, 2]) {
      const [a, b] = [i, (i + apart) % elements].sort((x, y) => x - y);
      if (a !== b) pairs.set(`${a},${b}`, [a, b]);
    }
  }
  return [...pairs.values()];
}

/** Of all cells that some of `states` are in, those that any of `others` is in too. */
export function sharedCells(
  cells: Cells,
  states: readonly ArrayLike<number>[],
  others: readonly ArrayLike<number>[],
): { readonly shared: number; readonly of: number } {
  const visited = new Set(states.flatMap((state) => cells.of(state)));
  const also = new Set(others.flatMap((state) => cells.of(state)));
  return { shared: [...visited].filter((cell) => also.has(cell)).length, of: visited.size };
}
