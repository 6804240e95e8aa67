// What really happened: recorded transitions as whole episodes, the places where open-loop dreams begin, and the units
// that intervals are made over.

import type { EnvSnapshot, VectorSpace } from '../../core/environment.js';
import { rowSize } from '../../env/space-values.js';
import type { TransitionBatch } from '../../replay/transition.js';

/** An unbroken run of rows: each row's next observation is the next row's observation. */
export interface TruthEpisode {
  readonly first: number;
  readonly rows: number;
  /** Seed that the real environment was reset with, where it can be lived again. */
  readonly seed?: number;
}

/** A row that an open-loop dream begins from. */
export interface DriftStart {
  readonly row: number;
  /** The real environment right before that row; absent where only transitions were recorded. */
  readonly snapshot?: EnvSnapshot;
}

export interface VectorTruth {
  /** Hash of the rows and of where dreams start. */
  readonly version: string;
  readonly observationSpace: VectorSpace;
  readonly actionSpace: VectorSpace;
  /** Names of the observation's elements, as people read them. */
  readonly elements: readonly string[];
  readonly rows: TransitionBatch;
  /** In the order of their rows; together they are all rows. */
  readonly episodes: readonly TruthEpisode[];
  readonly starts: readonly DriftStart[];
}

/** Rows of a unit at most: neighbours resemble one another, so intervals draw stretches (block bootstrap, Künsch 1989). */
const UNIT_ROWS = 100;

export interface Units {
  readonly count: number;
  /** Unit of each row. */
  readonly of: Uint32Array;
}

/** Stretches of at most 100 rows of one episode, about equally long. */
export function unitsOf({ rows, episodes }: Pick<VectorTruth, 'rows' | 'episodes'>): Units {
  const of = new Uint32Array(rows.rows);
  let count = 0;
  for (const episode of episodes) {
    const parts = Math.ceil(episode.rows / UNIT_ROWS);
    for (let i = 0; i < episode.rows; i++) of[episode.first + i] = count + Math.floor((i * parts) / episode.rows);
    count += parts;
  }
  return { count, of };
}

/** Rows from `start` on to the end of its episode, at most `horizon`. */
export function stepsFrom(truth: VectorTruth, start: number, horizon: number): number {
  const { first, rows } = episodeAt(truth, start);
  return Math.min(horizon, first + rows - start);
}

/** The episode that holds a row. */
export function episodeAt({ episodes }: VectorTruth, row: number): TruthEpisode {
  let low = 0;
  let high = episodes.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (episodes[middle].first <= row) low = middle;
    else high = middle - 1;
  }
  return episodes[low];
}

/** Elements of an observation and of an action. */
export function widths({ observationSpace, actionSpace }: Pick<VectorTruth, 'observationSpace' | 'actionSpace'>): {
  readonly obsDim: number;
  readonly actionDim: number;
} {
  return { obsDim: rowSize(observationSpace), actionDim: rowSize(actionSpace) };
}

// Units that errors are told in: how much each element varies, and how much it changes in a step. A discrete state has no
// distances: it is right or wrong.
export interface Scales {
  /** Standard deviation of each element's change in one step. */
  readonly change: readonly number[];
  /** Standard deviation of each element. */
  readonly state: readonly number[];
  /** Standard deviation of the reward; 1 where it never varies. */
  readonly reward: number;
  readonly isDiscrete: boolean;
}

/** Elements that never change are told in standard deviations of the element, and constant ones as they are. */
export function scalesOf(truth: VectorTruth): Scales {
  const { obsDim } = widths(truth);
  const { obs, nextObs, reward, rows } = truth.rows;
  const isDiscrete = truth.observationSpace.type === 'discrete';
  if (isDiscrete) return { change: [1], state: [1], reward: spread(rows, (r) => reward[r]) || 1, isDiscrete };
  const at = (r: number, j: number) => r * obsDim + j;
  const elements = Array.from({ length: obsDim }, (_, j) => j);
  const state = elements.map((j) => spread(rows, (r) => obs[at(r, j)]) || 1);
  const change = elements.map((j) => spread(rows, (r) => nextObs[at(r, j)] - obs[at(r, j)]) || state[j]);
  return { change, state, reward: spread(rows, (r) => reward[r]) || 1, isDiscrete };
}

/** Difference of two values of an element in units of `scale`; of discrete states 0 or 1. */
export function difference(dreamt: number, real: number, scale: number, isDiscrete: boolean): number {
  if (isDiscrete) return dreamt === real ? 0 : 1;
  return (dreamt - real) / scale;
}

/** Standard deviation; 0 where it is no more than rounding of float32. */
function spread(rows: number, value: (row: number) => number): number {
  let mean = 0;
  let squares = 0;
  let largest = 0;
  for (let r = 0; r < rows; r++) {
    const x = value(r);
    const step = x - mean;
    mean += step / (r + 1);
    squares += step * (x - mean);
    largest = Math.max(largest, Math.abs(x));
  }
  const deviation = Math.sqrt(squares / rows);
  return deviation > 1e-6 * largest ? deviation : 0;
}
