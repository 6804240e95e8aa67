// Transitions as networks train on them, in memory or on disk: encoded inputs and targets, normalised by their own moments. What
// lies on disk is read some rows at a time, three times over; the numbers are those of the same rows in memory.

import {
  DiskRows,
  type ReplayBuffer,
  type RowStorage,
  type Schema,
  scalar,
  type TransitionBatch,
  tensor,
} from '../replay/index.js';
import { constantColumns, MomentPasses, type Normaliser, normalise } from './ensemble/normaliser.js';
import { checkTrainingData } from './input-check.js';
import { rowEncoder, rowShape, type Spaces } from './model-spaces.js';

/** Columns that a transition consists of for a model. */
export const LEARNED_COLUMNS = ['obs', 'action', 'reward', 'terminated', 'truncated', 'nextObs'] as const;

/** Rows that are in memory at once where all of them lie on disk. */
const PIECE_ROWS = 1 << 14;

export interface EncodedRows {
  readonly rows: number;
  /** [rows, inputDim] */
  readonly inputs: Float32Array;
  /** [rows, outputDim]: change of the observation, then the reward where it is learned. */
  readonly targets: Float32Array;
  /** [rows]: 1 where the task ended. */
  readonly terminated: Float32Array;
}

/** Columns of encoded rows in a storage. */
export function encodedSchema(inputDim: number, outputDim: number): Schema {
  return { inputs: tensor('float32', inputDim), targets: tensor('float32', outputDim), terminated: scalar('float32') };
}

/** Not normalised. The reward is learned where `outputDim` has room for it, without the `endReward` that an end adds to it. */
export function encodeRows(batch: TransitionBatch, spaces: Spaces, outputDim: number, endReward = 0): EncodedRows {
  const { inputDim, obsDim } = rowShape(spaces);
  const { rows, obs, action, reward, nextObs, terminated } = batch;
  const inputs = new Float32Array(rows * inputDim);
  rowEncoder(spaces)(obs, action, undefined, 0, rows, inputs);
  const targets = new Float32Array(rows * outputDim);
  for (let r = 0; r < rows; r++) {
    const from = r * obsDim;
    for (let j = 0; j < obsDim; j++) targets[r * outputDim + j] = nextObs[from + j] - obs[from + j];
    if (outputDim > obsDim) targets[r * outputDim + obsDim] = reward[r] - terminated[r] * endReward;
  }
  return { rows, inputs, targets, terminated: Float32Array.from(terminated) };
}

/** Encoded rows in a storage, normalised. */
export interface StoredRows {
  readonly storage: RowStorage;
  readonly normaliser: Normaliser;
  /** Whether any row ended by the task. */
  readonly terminates: boolean;
  /** Targets that have one value in all rows, rounding apart. */
  readonly constant: readonly number[];
}

interface EncodingOptions {
  readonly folder: string;
  readonly order?: Uint32Array;
  /** Rows from there on make the moments. */
  readonly first?: number;
  readonly endReward?: number;
}

/**
 * Encodes and normalises the rows of a buffer into a storage on disk: row i of it is row `order[i]` of the buffer, or row i
 * without an order. Moments are those of rows [first, …). Memory holds a piece of the rows alone.
 * Throws MODEL_DATA_INVALID, NON_FINITE_VALUE, STORAGE_FULL, STORAGE_FAILED, CHECKPOINT_CORRUPT.
 */
export function encodeOnDisk(
  backend: string,
  data: ReplayBuffer,
  spaces: Spaces,
  outputDim: number,
  { folder, order, first = 0, endReward }: EncodingOptions,
): StoredRows {
  const { inputDim, obsDim } = rowShape(spaces);
  const isOneHot = spaces.actionSpace.type === 'discrete';
  const input = new MomentPasses(inputDim, isOneHot ? obsDim : inputDim);
  const target = new MomentPasses(outputDim);
  const pieces = () => encodedPieces(data, spaces, outputDim, order, endReward);
  if (data.size < 2) checkTrainingData(backend, data.rows(), spaces);
  let terminates = false;
  for (const { batch, at, inputs, targets } of pieces()) {
    checkTrainingData(backend, batch, spaces, at);
    terminates ||= batch.terminated.includes(1);
    const from = Math.min(batch.rows, Math.max(0, first - at));
    input.add(inputs.subarray(from * inputDim));
    target.add(targets.subarray(from * outputDim));
  }
  let constant = Array.from({ length: outputDim }, (_, j) => j);
  const centre = { mean: target.mean() };
  for (const { batch, at, inputs, targets } of pieces()) {
    const from = Math.min(batch.rows, Math.max(0, first - at));
    const here = new Set(constantColumns(targets, outputDim, centre));
    constant = constant.filter((column) => here.has(column));
    input.addSquares(inputs.subarray(from * inputDim));
    target.addSquares(targets.subarray(from * outputDim));
  }
  const normaliser: Normaliser = { input: input.moments(), target: target.moments() };
  const storage = DiskRows.create({ folder, schema: encodedSchema(inputDim, outputDim), capacity: data.size });
  for (const { rows, inputs, targets, terminated } of pieces()) {
    normalise(inputs, inputDim, normaliser.input);
    normalise(targets, outputDim, normaliser.target);
    storage.append({ inputs, targets, terminated }, rows);
  }
  storage.flush();
  return { storage, normaliser, terminates, constant };
}

function* encodedPieces(
  data: ReplayBuffer,
  spaces: Spaces,
  outputDim: number,
  order: Uint32Array | undefined,
  endReward: number | undefined,
): Generator<EncodedRows & { readonly batch: TransitionBatch; readonly at: number }> {
  for (let at = 0; at < data.size; at += PIECE_ROWS) {
    const rows = Math.min(PIECE_ROWS, data.size - at);
    const indices = order?.subarray(at, at + rows) ?? Uint32Array.from({ length: rows }, (_, i) => at + i);
    const batch = { rows, ...data.take(indices, LEARNED_COLUMNS) };
    yield { ...encodeRows(batch, spaces, outputDim, endReward), batch, at };
  }
}
