// One elite per row, drawn at random (TS1), and the rows of each elite brought together so that it runs them as one batch.

import type { Rng } from '../../core/rng.js';

/** Rows in the order of their elite: those of elite e are order[starts[e] .. starts[e + 1]), ascending. */
export interface Groups {
  readonly order: Uint32Array;
  readonly starts: Uint32Array;
}

/** An elite 0..elites-1 for each of `rows` rows; takes exactly one word of the stream a row. */
export function drawElites(rows: number, elites: number, rng: Rng): Uint32Array {
  const drawn = rng.fillUint32(new Uint32Array(rows));
  for (let i = 0; i < rows; i++) drawn[i] = Math.floor((drawn[i] / 4294967296) * elites);
  return drawn;
}

/** Counting sort of the rows by elite. */
export function groupByElite(elite: Uint32Array, elites: number): Groups {
  const starts = new Uint32Array(elites + 1);
  for (let i = 0; i < elite.length; i++) starts[elite[i] + 1]++;
  for (let e = 0; e < elites; e++) starts[e + 1] += starts[e];
  const next = starts.slice(0, elites);
  const order = new Uint32Array(elite.length);
  for (let i = 0; i < elite.length; i++) order[next[elite[i]]++] = i;
  return { order, starts };
}
