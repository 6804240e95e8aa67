// What is measured of every model, and with what: plain numbers, the truth, and what instruments share.

import { Rng } from '../../core/rng.js';
import { type EnvSnapshot, type Policy, rowSize, type VectorEnvironment, type VectorSpace } from '../../env/index.js';
import type { TransitionBatch } from '../../replay/index.js';
import type { Propagation, VectorWorldModel } from '../../worldmodel/index.js';
import type { SectionId } from '../report/fidelity-report.js';
import { crossFitted, type LinearBaseline } from './linear-baseline.js';

export interface VectorPlan {
  readonly seed: number;
  /** Steps of an open-loop dream. */
  readonly horizon: number;
  /** In standard deviations: up to here a dreamt state counts as right. */
  readonly tolerance: number;
  /** How the model answers where it is lived in. */
  readonly propagation: Propagation;
}

/** Acts in the dream; what it did is then done for real. */
export interface Replay {
  readonly name: string;
  readonly policy: Policy;
  /** A real environment of one's own; closed by whoever asked for it. */
  environment(): Promise<VectorEnvironment>;
}

/** The truth with what follows from it, made once for all models. */
export interface Ground {
  readonly truth: VectorTruth;
  readonly plan: VectorPlan;
  readonly scales: Scales;
  readonly units: Units;
  readonly linear: LinearBaseline;
  readonly replay?: Replay;
}

export function groundOf(truth: VectorTruth, plan: VectorPlan, replay?: Replay): Ground {
  return { truth, plan, scales: scalesOf(truth), units: unitsOf(truth), linear: crossFitted(truth), replay };
}

/** A ground and the model that is held against it. */
export interface Judged {
  readonly ground: Ground;
  readonly subject: VectorSubjectModel;
}

/** Rows of a chunk of transitions, and starts of a chunk of dreams. */
export const CHUNK_ROWS = 500;
export const CHUNK_STARTS = 32;

/** What a section draws before any chunk. */
export function sectionRng({ seed }: VectorPlan, section: SectionId): Rng {
  return Rng.fromSeed(seed).split('fidelity', section);
}

/** The stream of one chunk of one section: the same for every model, so that noise pairs. */
export function chunkRng({ seed }: VectorPlan, section: SectionId, chunk: number): Rng {
  return Rng.fromSeed(seed).split('fidelity', section, 'chunk', chunk);
}

/** The stream that a metric's interval is drawn from. */
export function intervalRng({ seed }: VectorPlan, section: SectionId, key: string): Rng {
  return Rng.fromSeed(seed).split('fidelity', section, 'interval', key);
}

/** First and last (exclusive) of a chunk. */
export function chunkRange(chunk: number, size: number, of: number): readonly [number, number] {
  return [chunk * size, Math.min((chunk + 1) * size, of)];
}

// What really happened: recorded transitions as whole episodes, the places where open-loop dreams begin, and the units
// that intervals are made over.

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

interface Scales {
  /** Standard deviation of each element's change in one step. */
  readonly change: readonly number[];
  /** Standard deviation of each element. */
  readonly state: readonly number[];
  /** Standard deviation of the reward; 1 where it never varies. */
  readonly reward: number;
  readonly isDiscrete: boolean;
}

/** Elements that never change are told in standard deviations of the element, and constant ones as they are. */
function scalesOf(truth: VectorTruth): Scales {
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

// A model under judgement, as the instruments for vectors see it: something that says what follows, how sure it is, and
// an environment to live in. A served environment has only the last.

export interface VectorSubjectModel {
  readonly name: string;
  /** `ensemble`, `onnx`, `exact`, `served`. */
  readonly kind: string;
  readonly version: string;
  /** Absent where one can only live in it from its own reset on. */
  readonly model?: VectorWorldModel;
  /** How sure the model is of what it says; absent where it says one thing only. */
  readonly forecast?: Forecaster;
  /** What a reader should know of how this model was judged. */
  readonly notes?: readonly string[];
  /**
   * An environment whose episode of `reset({ seed })` starts where the real environment's episode of that seed starts. The
   * caller closes it.
   */
  dream(seed: number): Promise<VectorEnvironment>;
}

/** What is foreseen of each row as an equal mixture of Gaussians, element by element; raw units. */
export interface Forecast {
  /** Gaussians of the mixture. */
  readonly components: number;
  /** [components, rows, obsDim] of the next observation. */
  readonly mean: Float32Array;
  /** [components, rows, obsDim] */
  readonly std: Float32Array;
}

/** obs [rows, obsDim] and action [rows, actionDim] to what is foreseen. Says the same when asked twice. */
export type Forecaster = (obs: Float32Array, action: Float32Array, rows: number) => Promise<Forecast>;
