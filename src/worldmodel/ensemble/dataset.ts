// From transitions to what members train on: encoded and normalised rows, the hold-out first, in memory threads can share.

import type { Rng } from '../../core/rng.js';
import type { TransitionBatch } from '../../replay/index.js';
import { checkTrainingData } from '../input-check.js';
import { rowEncoder, rowShape, type Spaces } from '../model-spaces.js';
import type { EnsembleConfig } from './config.js';
import { endJump } from './end-jump.js';
import { constantColumns, momentsOf, type Normaliser, normalise } from './normaliser.js';

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
}

export interface PreparedData {
  readonly data: MemberData;
  readonly normaliser: Normaliser;
  /** What an end by the task adds to a learned reward; 0 where that is not known to jump. */
  readonly endReward: number;
}

/**
 * Splits at random (by `rng.split('holdout')`), encodes and normalises with the moments of the training rows.
 * Throws MODEL_DATA_INVALID or NON_FINITE_VALUE for data nothing can be learned from.
 */
export function prepareData(batch: TransitionBatch, spaces: Spaces, config: EnsembleConfig, rng: Rng): PreparedData {
  const shape = rowShape(spaces);
  checkTrainingData('ensemble', batch, spaces);
  const { rows } = batch;
  const outputDim = shape.obsDim + (config.learnReward ? 1 : 0);
  const holdoutRows = Math.max(1, Math.min(Math.floor(rows * config.holdout), config.holdoutMaxRows, rows - 1));
  const order = rng.split('holdout').permutation(rows);
  const inputs = shared(rows * shape.inputDim);
  rowEncoder(spaces)(batch.obs, batch.action, order, 0, rows, inputs);
  const endReward = config.learnReward ? endJump(batch, shape.obsDim) : 0;
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
  const weights = weightsOf(outputDim, constant);
  const data = { rows, holdoutRows, inputDim: shape.inputDim, outputDim, inputs, targets, weights, terminated };
  return { data, normaliser, endReward };
}

function weightsOf(outputDim: number, constant: readonly number[]): Float32Array {
  const varied = Math.max(1, outputDim - constant.length);
  const weights = shared(outputDim).fill(outputDim / varied);
  for (const column of constant) weights[column] = 0;
  return weights;
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
  const targets = shared(batch.rows * outputDim);
  for (let r = 0; r < batch.rows; r++) {
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
