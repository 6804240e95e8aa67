// From stored episodes to what members train on: windows of encoded and normalised steps, padded to one length.

import type { Rng } from '../../core/rng.js';
import { type TransitionBatch, windowsOf } from '../../replay/index.js';
import { momentsOf, type Normaliser, normalise } from '../ensemble/normaliser.js';
import { checkTrainingData } from '../input-check.js';
import { rowEncoder, rowShape, type Spaces } from '../model-spaces.js';
import type { LatentConfig } from './config.js';

/** Transitions in the order they were lived, and which episode each belongs to. */
export interface EpisodeRows {
  readonly batch: TransitionBatch;
  /** Per row, episode number. */
  readonly episode: ArrayLike<number>;
  /** Per row, step within the episode. */
  readonly step: ArrayLike<number>;
}

/** `windows` stretches of `steps` steps; the first `holdout` of them are never trained on. */
export interface WindowData {
  readonly windows: number;
  readonly holdout: number;
  readonly steps: number;
  readonly inputDim: number;
  readonly outputDim: number;
  /** [windows, steps, inputDim], normalised */
  readonly inputs: Float32Array;
  /** [windows, steps, outputDim], normalised: change of the observation, then the reward */
  readonly targets: Float32Array;
  /** [windows, steps]: 1 where the task ended */
  readonly terminated: Float32Array;
  /** [windows, steps]: 1 where a step is learned from, 0 where it only warms the memory up or fills the window. */
  readonly weight: Float32Array;
}

export interface PreparedWindows {
  readonly data: WindowData;
  readonly normaliser: Normaliser;
}

/**
 * Cuts episodes into windows that overlap by half, shuffles them by `rng.split('holdout')` and normalises with the moments of
 * all rows. The steps of `context` at the head of a window are learned from only where an episode begins, as there an empty
 * memory is the truth. @throws MODEL_DATA_INVALID, NON_FINITE_VALUE
 */
export function prepareWindows(rows: EpisodeRows, spaces: Spaces, config: LatentConfig, rng: Rng): PreparedWindows {
  const { batch } = rows;
  checkTrainingData('latent', batch, spaces);
  const { inputDim, obsDim } = rowShape(spaces);
  const outputDim = obsDim + 1;
  const encoded = new Float32Array(batch.rows * inputDim);
  rowEncoder(spaces)(batch.obs, batch.action, undefined, 0, batch.rows, encoded);
  const targets = changes(batch, obsDim, outputDim);
  const numbers = spaces.actionSpace.type === 'discrete' ? obsDim : inputDim;
  const normaliser: Normaliser = {
    input: momentsOf(encoded, inputDim, 0, batch.rows, numbers),
    target: momentsOf(targets, outputDim, 0, batch.rows),
  };
  normalise(encoded, inputDim, normaliser.input);
  normalise(targets, outputDim, normaliser.target);
  const { window: steps, context, holdout } = config;
  const cut = windowsOf(rows, batch.rows, steps, { stride: Math.ceil(steps / 2), shortest: Math.min(2, steps) });
  const windows = cut.start.length;
  const order = rng.split('holdout').permutation(windows);
  const data: WindowData = {
    windows,
    holdout: Math.min(Math.max(1, Math.floor(windows * holdout)), windows - 1),
    ...{ steps, inputDim, outputDim },
    inputs: new Float32Array(windows * steps * inputDim),
    targets: new Float32Array(windows * steps * outputDim),
    terminated: new Float32Array(windows * steps),
    weight: new Float32Array(windows * steps),
  };
  for (let w = 0; w < windows; w++) {
    const start = cut.start[order[w]];
    const length = cut.length[order[w]];
    const isBeginning = rows.step[start] === 0;
    data.inputs.set(encoded.subarray(start * inputDim, (start + length) * inputDim), w * steps * inputDim);
    data.targets.set(targets.subarray(start * outputDim, (start + length) * outputDim), w * steps * outputDim);
    for (let t = 0; t < length; t++) {
      data.terminated[w * steps + t] = batch.terminated[start + t];
      data.weight[w * steps + t] = isBeginning || t >= context ? 1 : 0;
    }
  }
  return { data, normaliser };
}

function changes({ rows, obs, nextObs, reward }: TransitionBatch, obsDim: number, outputDim: number): Float32Array {
  const targets = new Float32Array(rows * outputDim);
  for (let r = 0; r < rows; r++) {
    for (let j = 0; j < obsDim; j++) targets[r * outputDim + j] = nextObs[r * obsDim + j] - obs[r * obsDim + j];
    targets[r * outputDim + obsDim] = reward[r];
  }
  return targets;
}

/** One column [windows, steps, width] of windows `order`, time-major: [steps, order.length, width]. */
export function timeMajor(
  column: Float32Array,
  order: ArrayLike<number>,
  steps: number,
  width: number,
  into = new Float32Array(steps * order.length * width),
  at = 0,
): Float32Array {
  for (let t = 0; t < steps; t++) {
    for (let b = 0; b < order.length; b++) {
      const from = (order[b] * steps + t) * width;
      into.set(column.subarray(from, from + width), at + (t * order.length + b) * width);
    }
  }
  return into;
}
