// The random numbers of one step, taken in one order whatever is asked (elites, then noise, then ends), each for all rows in
// row order: from one stream for the whole batch, or from a stream for each row as if the row were alone.

import { Rng } from '../../core/rng.js';

export interface NoiseNeeds {
  readonly rows: number;
  /** Elites to draw from; 0 where none is drawn. */
  readonly elites: number;
  /** Normals a row; 0 where none are drawn. */
  readonly normals: number;
  /** Whether an end is drawn for each row. */
  readonly ends: boolean;
}

export interface StepNoise {
  readonly elite?: Uint32Array;
  readonly chance?: Float32Array;
  /** Fills `into` [rows, normals] for the next `rows` rows; leaves it alone where no normals are drawn. */
  fill(into: Float32Array, rows: number): void;
}

/** Moves `rng` on by everything the step needs. Normals are drawn only when they are filled. */
export function batchNoise(rng: Rng, { rows, elites, normals, ends }: NoiseNeeds): StepNoise {
  const elite = elites > 0 ? drawElites(rows, elites, rng) : undefined;
  const source = Rng.fromState(rng.state());
  rng.skip(rows * normals);
  const chance = ends ? rng.fillUniform(new Float32Array(rows)) : undefined;
  return { elite, chance, fill: (into, count) => void source.fillNormal(into.subarray(0, count * normals)) };
}

/** As `batchNoise` of each row alone. */
export function rowNoise(rngs: readonly Rng[], { elites, normals, ends }: NoiseNeeds): StepNoise {
  const rows = rngs.map((rng) => batchNoise(rng, { rows: 1, elites, normals, ends }));
  let next = 0;
  return {
    elite: elites > 0 ? Uint32Array.from(rows, ({ elite }) => elite![0]) : undefined,
    chance: ends ? Float32Array.from(rows, ({ chance }) => chance![0]) : undefined,
    fill: (into, count) => {
      for (let r = 0; r < count; r++) rows[next++].fill(into.subarray(r * normals, (r + 1) * normals), 1);
    },
  };
}

// One elite per row, drawn at random (TS1), and the rows of each elite brought together so that it runs them as one batch.

/** Rows in the order of their elite: those of elite e are order[starts[e] .. starts[e + 1]), ascending. */
interface Groups {
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
