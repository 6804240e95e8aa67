// Batches of real and synthetic rows in a fixed ratio (MBPO, Janner et al. 2019, section 5: `real_ratio`). The ratio
// holds exactly in every batch, not on average.

import { reverieError } from '../core/errors.js';
import type { Rng } from '../core/rng.js';
import type { ReplayBuffer } from './buffer.js';
import { allocateBatch, columnMismatch } from './columns.js';
import { optionInvalid, type Selector } from './selectors.js';
import type { TransitionBatch } from './transition.js';

/** A buffer and what chooses from it. */
interface MixtureSide {
  readonly buffer: ReplayBuffer;
  readonly selector: Selector;
}

interface MixtureOptions {
  readonly real: MixtureSide;
  readonly synthetic: MixtureSide;
  /** Share of real rows in every batch, 0 to 1; a batch of n rows holds exactly round(realRatio * n). */
  readonly realRatio: number;
}

/** Which rows the last call drew: of each batch of `batchSize` the first `realRows` are real, the others synthetic. */
interface MixtureDraw {
  readonly steps: number;
  readonly batchSize: number;
  readonly realRows: number;
  /** [steps * batchSize] indices into the buffer of the row's side. */
  readonly indices: Uint32Array;
  /** [steps * batchSize] importance weights. */
  readonly weights: Float32Array;
}

export class MixtureSampler {
  readonly realRatio: number;
  private readonly real: MixtureSide;
  private readonly synthetic: MixtureSide;
  private draw: MixtureDraw = emptyDraw();

  constructor({ real, synthetic, realRatio }: MixtureOptions) {
    if (!(realRatio >= 0 && realRatio <= 1)) {
      throw optionInvalid('realRatio', realRatio, 'from 0 to 1');
    }
    checkSides(real, synthetic);
    this.realRatio = realRatio;
    this.real = real;
    this.synthetic = synthetic;
  }

  /** One batch of `rows` rows, into the first rows of `into`. */
  sample(rows: number, rng: Rng, into?: TransitionBatch): TransitionBatch {
    return this.sampleSteps(1, rows, rng, into);
  }

  /** `steps` batches of `batchSize` rows one after another, [steps * batchSize] rows; the ratio holds in each. */
  sampleSteps(steps: number, batchSize: number, rng: Rng, into?: TransitionBatch): TransitionBatch {
    const realRows = this.realRowsOf(batchSize);
    const { obsDim, actionDim } = this.real.buffer;
    const batch = into ?? allocateBatch(steps * batchSize, obsDim, actionDim);
    this.draw = this.prepareDraw(steps, batchSize, realRows);
    for (let step = 0; step < steps; step++) {
      const start = step * batchSize;
      this.fill(this.real, rng, batch, start, realRows);
      this.fill(this.synthetic, rng, batch, start + realRows, batchSize - realRows);
    }
    return batch;
  }

  /** What the last call drew; overwritten by the next. */
  lastDraw(): MixtureDraw {
    return this.draw;
  }

  /** New priorities [steps * batchSize] for the rows of the last call, handed to the selectors that take them. */
  updatePriorities(priorities: Float32Array): void {
    const { steps, batchSize, realRows, indices } = this.draw;
    if (priorities.length !== indices.length) {
      const rows = indices.length;
      throw columnMismatch('priorities', priorities.length, rows, rows);
    }
    for (let step = 0; step < steps; step++) {
      const start = step * batchSize;
      const middle = start + realRows;
      const end = start + batchSize;
      this.real.selector.update?.(indices.subarray(start, middle), priorities.subarray(start, middle));
      this.synthetic.selector.update?.(indices.subarray(middle, end), priorities.subarray(middle, end));
    }
  }

  private realRowsOf(batchSize: number): number {
    const wanted = Math.round(this.realRatio * batchSize);
    if (wanted > 0 && this.real.buffer.size === 0) throw empty('real');
    if (wanted < batchSize && this.synthetic.buffer.size === 0) throw empty('synthetic');
    return wanted;
  }

  private prepareDraw(steps: number, batchSize: number, realRows: number): MixtureDraw {
    const rows = steps * batchSize;
    const same = this.draw.indices.length === rows;
    const indices = same ? this.draw.indices : new Uint32Array(rows);
    const weights = same ? this.draw.weights : new Float32Array(rows);
    return { steps, batchSize, realRows, indices, weights };
  }

  private fill(side: MixtureSide, rng: Rng, batch: TransitionBatch, at: number, rows: number): void {
    if (rows === 0) return;
    const indices = this.draw.indices.subarray(at, at + rows);
    side.selector.sample(rows, rng, indices, this.draw.weights.subarray(at, at + rows));
    side.buffer.gather(indices, batch, at);
  }
}

function empty(source: string): Error {
  return reverieError('REPLAY_EMPTY', { source, hint: 'Fill it before sampling.' });
}

function checkSides(real: MixtureSide, synthetic: MixtureSide): void {
  for (const [name, side] of [
    ['real', real],
    ['synthetic', synthetic],
  ] as const) {
    if (side.buffer.source === name) continue;
    const value = `a buffer of ${side.buffer.source} rows`;
    throw optionInvalid(name, value, `a buffer of ${name} rows`);
  }
  if (real.buffer.obsDim === synthetic.buffer.obsDim && real.buffer.actionDim === synthetic.buffer.actionDim) return;
  const value = `[${synthetic.buffer.obsDim}, ${synthetic.buffer.actionDim}]`;
  const want = `[${real.buffer.obsDim}, ${real.buffer.actionDim}], as of the real one`;
  throw optionInvalid('synthetic dimensions [obs, action]', value, want);
}

function emptyDraw(): MixtureDraw {
  return { steps: 0, batchSize: 0, realRows: 0, indices: new Uint32Array(0), weights: new Float32Array(0) };
}
