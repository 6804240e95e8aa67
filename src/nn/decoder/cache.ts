// Keys and values of the tokens so far, a row a sequence. They lie here and are fed to the runtime in place, without a copy;
// each step gives the rows of its new tokens back, and only these are written.

import { float32, type Tensor } from '../tensor.js';
import type { DecoderConfig } from './config.js';

/** Least growth, in tokens. */
const GROWTH = 64;

export class KeyValueCache {
  /** Tokens of each row. */
  readonly lengths: Int32Array;
  /** A layer each: [rows, kvHeads, headDim, capacity]. */
  private keys: Float32Array[];
  /** A layer each: [rows, kvHeads, capacity, headDim + 1]; the last column is ones. */
  private values: Float32Array[];
  /** [rows, capacity]: 0 where there is a token, else -Infinity. */
  private bias: Float32Array;

  constructor(
    private readonly config: DecoderConfig,
    readonly rows: number,
    private capacity: number,
  ) {
    this.lengths = new Int32Array(rows);
    ({ keys: this.keys, values: this.values, bias: this.bias } = emptyArrays(config, rows, capacity));
  }

  /** Values of one token in a row of `newRows`: keys and values of all layers. */
  get tokenSize(): number {
    const { layers, kvHeads, headDim } = this.config;
    return layers * 2 * kvHeads * headDim;
  }

  /** Adds a token to a row. @param newRow its keys and values, layer by layer, `tokenSize` in all */
  append(row: number, newRow: Float32Array): void {
    const { layers, kvHeads, headDim } = this.config;
    const at = this.lengths[row];
    if (at === this.capacity) this.grow(this.capacity + Math.max(GROWTH, this.capacity >> 1));
    const { capacity } = this;
    let next = 0;
    for (let layer = 0; layer < layers; layer++) {
      const keys = this.keys[layer];
      const values = this.values[layer];
      const firstKey = row * kvHeads * headDim * capacity + at;
      for (let i = 0; i < kvHeads * headDim; i++) keys[firstKey + i * capacity] = newRow[next++];
      for (let head = 0; head < kvHeads; head++) {
        const start = ((row * kvHeads + head) * capacity + at) * (headDim + 1);
        for (let i = 0; i < headDim; i++) values[start + i] = newRow[next++];
      }
    }
    this.bias[row * capacity + at] = 0;
    this.lengths[row] = at + 1;
  }

  /** The inputs of a step; views, which hold until the next `append`. */
  feeds(): Record<string, Tensor> {
    const { kvHeads, headDim } = this.config;
    const { rows, capacity } = this;
    const feeds: Record<string, Tensor> = { bias: float32(this.bias, [rows, 1, 1, capacity]) };
    this.keys.forEach((keys, layer) => {
      feeds[`keys${layer}`] = float32(keys, [rows, kvHeads, headDim, capacity]);
      feeds[`values${layer}`] = float32(this.values[layer], [rows, kvHeads, capacity, headDim + 1]);
    });
    return feeds;
  }

  /** A cache with the given rows of this one, in that order; one may be taken more than once. */
  pick(rows: readonly number[]): KeyValueCache {
    const picked = new KeyValueCache(this.config, rows.length, this.capacity);
    const copyRows = (from: Float32Array, to: Float32Array) => {
      const size = from.length / this.rows;
      rows.forEach((row, i) => {
        to.set(from.subarray(row * size, (row + 1) * size), i * size);
      });
    };
    this.keys.forEach((keys, layer) => {
      copyRows(keys, picked.keys[layer]);
      copyRows(this.values[layer], picked.values[layer]);
    });
    copyRows(this.bias, picked.bias);
    rows.forEach((row, i) => {
      picked.lengths[i] = this.lengths[row];
    });
    return picked;
  }

  private grow(capacity: number): void {
    const grown = emptyArrays(this.config, this.rows, capacity);
    this.keys.forEach((keys, layer) => {
      copyLines(keys, this.capacity, grown.keys[layer], capacity);
      const width = this.config.headDim + 1;
      copyLines(this.values[layer], this.capacity * width, grown.values[layer], capacity * width);
    });
    copyLines(this.bias, this.capacity, grown.bias, capacity);
    ({ keys: this.keys, values: this.values, bias: this.bias } = grown);
    this.capacity = capacity;
  }
}

function emptyArrays({ layers, kvHeads, headDim }: DecoderConfig, rows: number, capacity: number) {
  const width = headDim + 1;
  const valuesOfLayer = () => {
    const values = new Float32Array(rows * kvHeads * capacity * width);
    for (let i = headDim; i < values.length; i += width) values[i] = 1;
    return values;
  };
  return {
    keys: Array.from({ length: layers }, () => new Float32Array(rows * kvHeads * headDim * capacity)),
    values: Array.from({ length: layers }, valuesOfLayer),
    bias: new Float32Array(rows * capacity).fill(Number.NEGATIVE_INFINITY),
  };
}

/** Copies lines of `from` to the starts of longer lines of `to`. */
function copyLines(from: Float32Array, length: number, to: Float32Array, longer: number): void {
  for (let line = 0; line * length < from.length; line++) {
    to.set(from.subarray(line * length, (line + 1) * length), line * longer);
  }
}
