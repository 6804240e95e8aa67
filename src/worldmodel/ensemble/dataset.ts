// From transitions to what members train on: encoded and normalised rows, the hold-out first, in memory threads can share.

import type { Rng } from '../../core/rng.js';
import { allocate, DiskRows, type ReplayBuffer, type RowStorage, type TransitionBatch } from '../../replay/index.js';
import { encodedSchema, encodeOnDisk } from '../encoded-rows.js';
import { checkTrainingData } from '../input-check.js';
import { rowEncoder, rowShape, type Spaces } from '../model-spaces.js';
import type { EnsembleConfig } from './config.js';
import { comparedBatch, comparedOnDisk, endJump } from './end-jump.js';
import { constantColumns, momentsOf, type Normaliser, normalise } from './normaliser.js';

/** Training rows the linear model is fitted to, at most: it has few parameters. */
export const LINEAR_ROWS = 20_000;

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
  /** Where all rows lie if they are on disk; the columns then have the first ones alone: those held out, and LINEAR_ROWS more. */
  readonly folder?: string;
}

export interface PreparedData {
  readonly data: MemberData;
  readonly normaliser: Normaliser;
  /** Rows of the batch that were held out. */
  readonly heldOut: Uint32Array;
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
  const holdoutRows = holdoutOf(rows, config);
  const order = rng.split('holdout').permutation(rows);
  const inputs = shared(rows * shape.inputDim);
  rowEncoder(spaces)(batch.obs, batch.action, order, 0, rows, inputs);
  const endReward = config.learnReward ? endJump(comparedBatch(batch)) : 0;
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
  const columns = { inputs, targets, weights, terminated, ends: countOf(terminated) };
  const data = { rows, holdoutRows, inputDim: shape.inputDim, outputDim, ...columns };
  return { data, normaliser, heldOut: order.slice(0, holdoutRows), endReward };
}

/**
 * As `prepareData`, of rows that need not fit into memory: they are laid out in `folder`, and the numbers are the same. Memory
 * takes some bytes a row, for their order, rewards and ends. Throws also STORAGE_FULL, STORAGE_FAILED, CHECKPOINT_CORRUPT.
 */
export function prepareOnDisk(
  data: ReplayBuffer,
  spaces: Spaces,
  config: EnsembleConfig,
  rng: Rng,
  folder: string,
): PreparedData {
  const { inputDim, obsDim } = rowShape(spaces);
  const rows = data.size;
  const outputDim = obsDim + (config.learnReward ? 1 : 0);
  const holdoutRows = holdoutOf(rows, config);
  const order = rng.split('holdout').permutation(rows);
  const compared = comparedOnDisk(data);
  const endReward = config.learnReward ? endJump(compared) : 0;
  const { storage, normaliser, constant } = encodeOnDisk('ensemble', data, spaces, outputDim, {
    ...{ folder, order, first: holdoutRows, endReward },
  });
  const held = storage.slice(0, Math.min(rows, holdoutRows + LINEAR_ROWS));
  storage.close();
  const [inputs, targets, terminated] = [held.inputs, held.targets, held.terminated].map((column) => {
    const copy = shared(column.length);
    copy.set(column as Float32Array);
    return copy;
  });
  const columns = { inputs, targets, terminated, weights: weightsOf(outputDim, constant) };
  const ends = countOf(compared.terminated);
  return {
    data: { rows, holdoutRows, inputDim, outputDim, ...columns, ends, folder },
    normaliser: { ...normaliser, ...(constant.length > 0 && { constant }) },
    heldOut: order.slice(0, holdoutRows),
    endReward,
  };
}

function holdoutOf(rows: number, { holdout, holdoutMaxRows }: EnsembleConfig): number {
  return Math.max(1, Math.min(Math.floor(rows * holdout), holdoutMaxRows, rows - 1));
}

function countOf(flags: Float32Array | Uint8Array): number {
  let count = 0;
  for (const flag of flags) count += flag;
  return count;
}

/** Rows as gradient steps take them: columns, and which of their rows. */
export interface PickedRows {
  readonly inputs: Float32Array;
  readonly targets: Float32Array;
  readonly terminated: Float32Array;
  readonly rows: Int32Array;
}

/** Picks rows of the data: in memory all of it is at hand, from disk the rows asked for are read. */
export class RowPicker {
  private readonly storage: RowStorage | undefined;

  constructor(private readonly data: MemberData) {
    this.storage = data.folder === undefined ? undefined : DiskRows.open(data.folder);
  }

  pick(rows: Int32Array): PickedRows {
    const { data, storage } = this;
    const { inputs, targets, terminated } = data;
    if (storage === undefined) return { inputs, targets, terminated, rows };
    const picked = allocate(encodedSchema(data.inputDim, data.outputDim), rows.length);
    storage.gather(rows, picked);
    const own = Int32Array.from({ length: rows.length }, (_, i) => i);
    return { ...(picked as unknown as Omit<PickedRows, 'rows'>), rows: own };
  }

  close(): void {
    this.storage?.close();
  }
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
