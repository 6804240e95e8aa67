// From stored episodes to what members train on: encoded and normalised rows, and the windows over them that replay draws.

import type { Rng } from '../../core/rng.js';
import {
  gatherWindows,
  MemoryRows,
  ReplayBuffer,
  type RowStorage,
  type TransitionBatch,
  type Windows,
  windowMasks,
  windowsOf,
} from '../../replay/index.js';
import { encodedSchema, encodeOnDisk, encodeRows, type StoredRows } from '../encoded-rows.js';
import { momentsOf, type Normaliser, normalise } from '../ensemble/normaliser.js';
import { checkTrainingData } from '../input-check.js';
import { rowShape, type Spaces } from '../model-spaces.js';
import type { LatentConfig } from './config.js';

/** Transitions in the order they were lived, and which episode each belongs to. */
export interface EpisodeRows {
  readonly batch: TransitionBatch;
  /** Per row, episode number. */
  readonly episode: ArrayLike<number>;
  /** Per row, step within the episode. */
  readonly step: ArrayLike<number>;
}

/** `windows` stretches of at most `steps` steps; the first `holdout` of them are never trained on. */
export interface WindowData {
  readonly rows: number;
  readonly windows: number;
  readonly holdout: number;
  readonly steps: number;
  readonly inputDim: number;
  readonly outputDim: number;
  /** Encoded and normalised. */
  readonly storage: RowStorage;
  /** In the order in which they are numbered. */
  readonly cut: Windows;
  /** Per window: 1 where it begins with its episode. */
  readonly isFirst: Uint8Array;
  readonly context: number;
}

export interface PreparedWindows {
  readonly data: WindowData;
  readonly normaliser: Normaliser;
  /** Whether any row ended by the task. */
  readonly terminates: boolean;
}

/**
 * Cuts episodes into windows that overlap by half, shuffles them by `rng.split('holdout')` and normalises with the moments of
 * all rows. The steps of `context` at the head of a window are learned from only where an episode begins, as there an empty
 * memory is the truth. With `folder`, the rows of a buffer are laid out there, and memory takes 12 bytes a row.
 * @throws MODEL_DATA_INVALID, NON_FINITE_VALUE; with `folder` also STORAGE_FULL, STORAGE_FAILED, CHECKPOINT_CORRUPT
 */
export function prepareWindows(
  rows: EpisodeRows | ReplayBuffer,
  spaces: Spaces,
  config: LatentConfig,
  rng: Rng,
  folder?: string,
): PreparedWindows {
  const { inputDim, obsDim } = rowShape(spaces);
  const outputDim = obsDim + 1;
  const isBuffer = rows instanceof ReplayBuffer;
  const stored =
    isBuffer && folder !== undefined
      ? encodeOnDisk('latent', rows, spaces, outputDim, { folder })
      : encodeInMemory(isBuffer ? rows.rows() : rows.batch, spaces, outputDim);
  const { episode, step } = isBuffer ? rows.columns(['episode', 'step']) : rows;
  const { window: steps, context, holdout } = config;
  const { size } = stored.storage;
  const all = windowsOf({ episode, step }, size, steps, {
    stride: Math.ceil(steps / 2),
    shortest: Math.min(2, steps),
  });
  const order = rng.split('holdout').permutation(all.start.length);
  const cut = { start: order.map((w) => all.start[w]), length: order.map((w) => all.length[w]) };
  const windows = order.length;
  const data: WindowData = {
    ...{ rows: size, windows, steps, inputDim, outputDim, cut, context, storage: stored.storage },
    holdout: Math.min(Math.max(1, Math.floor(windows * holdout)), windows - 1),
    isFirst: Uint8Array.from(cut.start, (row) => (step[row] === 0 ? 1 : 0)),
  };
  return { data, normaliser: stored.normaliser, terminates: stored.terminates };
}

function encodeInMemory(batch: TransitionBatch, spaces: Spaces, outputDim: number): Omit<StoredRows, 'constant'> {
  checkTrainingData('latent', batch, spaces);
  const { inputDim, obsDim } = rowShape(spaces);
  const { rows, inputs, targets, terminated } = encodeRows(batch, spaces, outputDim);
  const numbers = spaces.actionSpace.type === 'discrete' ? obsDim : inputDim;
  const normaliser: Normaliser = {
    input: momentsOf(inputs, inputDim, 0, rows, numbers),
    target: momentsOf(targets, outputDim, 0, rows),
  };
  normalise(inputs, inputDim, normaliser.input);
  normalise(targets, outputDim, normaliser.target);
  const schema = encodedSchema(inputDim, outputDim);
  const storage = MemoryRows.of(schema, rows, rows, { inputs, targets, terminated });
  return { storage, normaliser, terminates: batch.terminated.includes(1) };
}

/** Columns of windows as networks take them, [steps, windows, width]. */
export interface WindowFeeds {
  readonly inputs: Float32Array;
  readonly targets: Float32Array;
  /** 1 where the task ended */
  readonly terminated: Float32Array;
  /** 1 where a step is learned from, 0 where it only warms the memory up or fills the window */
  readonly weight: Float32Array;
}

/** Writes windows `order` into columns, from row `at` on. */
export function feedWindows(data: WindowData, order: ArrayLike<number>, into: WindowFeeds, at = 0): void {
  const { storage, cut, steps, isFirst, context } = data;
  const { inputs, targets, terminated, weight } = into;
  gatherWindows(storage, cut, order, steps, { inputs, targets, terminated }, { layout: 'time-major', at });
  const lengths = Uint32Array.from(order, (w) => cut.length[w]);
  const firsts = Uint8Array.from(order, (w) => isFirst[w]);
  const { learned } = windowMasks(lengths, firsts, steps, context);
  for (let t = 0; t < steps; t++)
    for (let b = 0; b < order.length; b++) weight[at + t * order.length + b] = learned[b * steps + t];
}
