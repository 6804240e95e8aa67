// From transitions to what members train on: encoded and normalised rows, the hold-out first, in memory threads can share.

import { Rng } from '../../core/rng.js';
import { median, sampleDeviation } from '../../core/statistics.js';
import type { Provenance, TransitionBatch } from '../../replay/transition.js';
import type { Spaces } from '../dynamics.js';
import { checkTrainingData, rowEncoder, rowShape } from '../model-folder.js';
import type { EnsembleConfig } from './config.js';

/** Normalised rows; [0, holdoutRows) are never trained on. Columns lie in SharedArrayBuffers. */
export interface MemberData {
  readonly rows: number;
  readonly holdoutRows: number;
  readonly inputDim: number;
  readonly outputDim: number;
  /** [rows, inputDim] */
  readonly inputs: Float32Array;
  /** [rows, outputDim]: change of the observation, then the reward where learned, without what an end adds to it. */
  readonly targets: Float32Array;
  /** [outputDim]: what each target counts; 0 for one that never changes, else such that they sum to their number. */
  readonly weights: Float32Array;
  /** [rows, 1]: 1 where the task ended. */
  readonly terminated: Float32Array;
  /** Rows where it did. */
  readonly ends: number;
}

export interface PreparedData {
  readonly data: MemberData;
  readonly normaliser: Normaliser;
  /** What an end by the task adds to a learned reward; 0 where that is not known to jump. */
  readonly endReward: number;
}

/** Where a row comes from. */
type Origins = Pick<Provenance, 'episode' | 'step'>;

/**
 * Holds rows out, encodes and normalises with the moments of the training rows; rows without origins are told apart by their index.
 * Throws DATA_MISMATCH or NON_FINITE_VALUE for data nothing can be learned from.
 */
export function prepareData(
  batch: TransitionBatch,
  spaces: Spaces,
  config: EnsembleConfig,
  origins?: Origins,
): PreparedData {
  const shape = rowShape(spaces);
  checkTrainingData('ensemble', batch, spaces);
  const outputDim = shape.obsDim + (config.learnReward ? 1 : 0);
  const { order, holdoutRows } = holdOut(batch.rows, config, origins);
  const rows = order.length;
  const inputs = shared(rows * shape.inputDim);
  rowEncoder(spaces)(batch.obs, batch.action, order, 0, rows, inputs);
  const endReward = config.learnReward ? endJump(batch, order.subarray(holdoutRows)) : 0;
  const targets = targetsOf(batch, order, shape.obsDim, outputDim, endReward);
  const terminated = shared(rows);
  for (let r = 0; r < rows; r++) terminated[r] = batch.terminated[order[r]];
  const isOneHot = spaces.actionSpace.type === 'discrete';
  const target = momentsOf(targets, outputDim, holdoutRows, rows);
  const constant = constantColumns(targets, outputDim, target);
  const normaliser: Normaliser = {
    input: momentsOf(inputs, shape.inputDim, holdoutRows, rows, isOneHot ? shape.obsDim : shape.inputDim),
    target,
    ...(constant.length > 0 && { constant }),
  };
  normalise(inputs, shape.inputDim, normaliser.input);
  normalise(targets, outputDim, normaliser.target);
  const weights = shared(outputDim).fill(outputDim / Math.max(1, outputDim - constant.length));
  for (const column of constant) weights[column] = 0;
  const ends = terminated.reduce((count, flag) => count + flag, 0);
  const columns = { inputs, targets, weights, terminated, ends };
  const data = { rows, holdoutRows, inputDim: shape.inputDim, outputDim, ...columns };
  return { data, normaliser, endReward };
}

/** Of the places of rows, which have no other seed: a model that is brought from another run was not shown the rows it is judged by. */
const PLACES = Rng.fromSeed(0).split('holdout');

/**
 * Rows held out, then rows to train on. Each has a place in (0, 1) by a hash of its episode and step, and those below `holdout` are held
 * out: the same rows at every fit, whatever else there is, so that nothing judges a refit that an earlier fit has learned from. At least
 * one is on either side. Beyond `holdoutMaxRows`, the lowest places judge, and the others wait unused.
 */
function holdOut(rows: number, { holdout, holdoutMaxRows }: EnsembleConfig, origins?: Origins) {
  const place = Float64Array.from({ length: rows }, (_, row) =>
    PLACES.split(origins?.episode[row] ?? 0, origins?.step[row] ?? row).uniform(),
  );
  const ranked = Uint32Array.from(place.keys()).sort((a, b) => place[a] - place[b] || a - b);
  const below = place.reduce((count, value) => count + (value < holdout ? 1 : 0), 0);
  const held = Math.min(Math.max(below, 1), rows - 1);
  const holdoutRows = Math.min(held, holdoutMaxRows);
  const order = ranked.filter((_, rank) => rank < holdoutRows || rank >= held);
  return { order, holdoutRows };
}

/** The same data in this thread's own memory: ONNX Runtime refuses shared memory. */
export function localCopy(data: MemberData): MemberData {
  const { inputs, targets, weights, terminated } = data;
  return {
    ...data,
    inputs: inputs.slice(),
    targets: targets.slice(),
    weights: weights.slice(),
    terminated: terminated.slice(),
  };
}

function targetsOf(
  batch: TransitionBatch,
  order: Uint32Array,
  obsDim: number,
  outputDim: number,
  endReward: number,
): Float32Array {
  const targets = shared(order.length * outputDim);
  for (let r = 0; r < order.length; r++) {
    const from = order[r] * obsDim;
    for (let j = 0; j < obsDim; j++) targets[r * outputDim + j] = batch.nextObs[from + j] - batch.obs[from + j];
    if (outputDim === obsDim) continue;
    targets[r * outputDim + obsDim] = batch.reward[order[r]] - batch.terminated[order[r]] * endReward;
  }
  return targets;
}

function shared(length: number): Float32Array {
  return new Float32Array(new SharedArrayBuffer(length * 4));
}

// Means and scales that bring network inputs and targets to zero mean and unit variance. Plain numbers, JSON-safe.

/** Per element: normalised = (value - mean) / scale. */
export interface Moments {
  readonly mean: readonly number[];
  readonly scale: readonly number[];
}

export interface Normaliser {
  /** Observation elements, then action elements; one-hot actions are left as they are. */
  readonly input: Moments;
  /** Change of each observation element, then the reward where it is learned. */
  readonly target: Moments;
  /** Targets that never change: they are answered as they are and take no part in what is learned. Absent where none. */
  readonly constant?: readonly number[];
}

/**
 * Moments of the first `columns` columns of `data` [rows, width] over rows [first, rows); identity for the others.
 * A column that never changes gets scale 1, so that it stays finite and predictable.
 */
function momentsOf(data: Float32Array, width: number, first: number, rows: number, columns = width): Moments {
  const sums = new Float64Array(width);
  const squares = new Float64Array(width);
  const count = rows - first;
  for (let r = first; r < rows; r++) for (let j = 0; j < columns; j++) sums[j] += data[r * width + j];
  const mean = Array.from(sums, (sum, j) => (j < columns ? sum / count : 0));
  for (let r = first; r < rows; r++)
    for (let j = 0; j < columns; j++) squares[j] += (data[r * width + j] - mean[j]) ** 2;
  const deviations = Array.from(squares, (sum) => Math.sqrt(sum / count));
  return {
    mean,
    scale: deviations.map((deviation, j) => (j < columns && isVaried(deviation, mean[j]) ? deviation : 1)),
  };
}

/** Below float32 resolution of a column there is only rounding noise, which must not be blown up to one. */
function isVaried(deviation: number, mean: number): boolean {
  return deviation > 1e-6 * Math.max(Math.abs(mean), 1e-6);
}

/** Columns of `data` [rows, width] that have one value in all rows, rounding apart. */
function constantColumns(data: Float32Array, width: number, { mean }: Pick<Moments, 'mean'>): number[] {
  return mean.flatMap((value, j) => {
    for (let at = j; at < data.length; at += width) {
      if (isVaried(Math.abs(data[at] - value), value)) return [];
    }
    return [j];
  });
}

/** Normalises `data` [rows, width] in place. */
export function normalise(data: Float32Array, width: number, { mean, scale }: Moments): void {
  for (let at = 0; at < data.length; at += width) {
    for (let j = 0; j < width; j++) data[at + j] = (data[at + j] - mean[j]) / scale[j];
  }
}

/** Ends that are compared with their neighbours, and rows among which neighbours are sought, at most. */
const ENDS = 200;
const ROWS = 4000;

/** Jumps below this share of the rewards' deviation are not told from noise, and left to the network. */
const LEAST = 0.25;

/**
 * The median, over rows of `trained` that end, of their reward less that of the most similar row that goes on (by next observation
 * and action, in units of deviations); 0 where nothing ends, everything does, or the difference is small.
 */
function endJump({ rows, reward, terminated, nextObs, action }: TransitionBatch, trained: Uint32Array): number {
  const [obsDim, actionDim] = [nextObs.length / rows, action.length / rows];
  const row = (r: number) =>
    Float64Array.from({ length: obsDim + actionDim }, (_, j) =>
      j < obsDim ? nextObs[r * obsDim + j] : action[r * actionDim + j - obsDim],
    );
  const inOrder = trained.slice().sort();
  const newest = (flag: 0 | 1, most: number) => Array.from(inOrder.filter((r) => terminated[r] === flag).slice(-most));
  const [ended, living] = [newest(1, ENDS), newest(0, ROWS)];
  if (ended.length === 0 || living.length === 0) return 0;
  const others = living.map((r) => row(r));
  // One over the variance of each element.
  const scale = others[0].map((_, j) => 1 / Math.max(sampleDeviation(others.map((values) => values[j])), 1e-9) ** 2);
  const differences = ended.map((r) => {
    const own = row(r);
    let [best, nearest] = [0, Number.POSITIVE_INFINITY];
    for (const [i, other] of others.entries()) {
      const distance = distanceBelow(nearest, own, other, scale);
      if (distance < nearest) [best, nearest] = [i, distance];
    }
    return reward[r] - reward[living[best]];
  });
  const jump = median(differences);
  return Math.abs(jump) > LEAST * sampleDeviation(reward) ? jump : 0;
}

/** Squared distance, or anything not below `limit` where it is not below that. */
function distanceBelow(limit: number, a: Float64Array, b: Float64Array, scale: Float64Array): number {
  let sum = 0;
  for (let j = 0; j < a.length && sum < limit; j++) sum += scale[j] * (a[j] - b[j]) ** 2;
  return sum;
}
