// Generation in batches, of the likeliest tokens: prompts are read at once, then every step adds one token to each row that is not
// done. Rows that are done leave the batch once they are half of it.

import { float32, type Tensor } from '../graph.js';
import { type DecoderConfig, inputInvalid } from './config.js';

export type TokenSequence = ArrayLike<number>;

/** What a token's keys and values are, and what may follow it. */
export interface Answer {
  /** Of all tokens; a row each in a step. */
  readonly logProbs: Float32Array;
  /** One row a token, as `KeyValueCache.append` takes them. */
  readonly newRows: Float32Array;
}

/** What generation asks of a decoder. */
export interface GeneratingModel {
  readonly config: DecoderConfig;
  /** Reads prompts: what may follow each, and keys and values of all its tokens. */
  prefill(prompts: readonly TokenSequence[]): Promise<Answer[]>;
  /** One further token of each row of a cache, which has two or more. */
  step(feeds: Record<string, Tensor>, tokens: Int32Array, positions: Int32Array): Promise<Answer>;
}

export interface GenerateOptions {
  /** Most tokens of an answer, those of `stop` included. */
  readonly maxTokens: number;
  /** Tokens that end an answer, and are its last. */
  readonly stop?: readonly number[];
}

export interface Generated {
  readonly tokens: number[];
  /** Of each token among all tokens, in nats. */
  readonly logProbs: number[];
}

/** What follows a prompt, as far as it has come. */
interface Row extends Generated {
  readonly prompt: TokenSequence;
  /** It said a token of `stop`, or `maxTokens`, or the context is full. */
  isDone: boolean;
}

/**
 * What follows each prompt. What a row says depends on its prompt and the options alone, not on the other rows.
 * @throws DATA_MISMATCH for a prompt that leaves no room, an empty one or an unknown token
 */
export async function generate(
  decoder: GeneratingModel,
  prompts: readonly TokenSequence[],
  options: GenerateOptions,
): Promise<Generated[]> {
  for (const prompt of prompts) requirePrompt(decoder.config, prompt);
  const rows = prompts.map((prompt): Row => ({ prompt, tokens: [], logProbs: [], isDone: false }));
  let { batch, cache } = await readPrompts(decoder, rows, options);
  while (batch.some((row) => !row.isDone)) {
    const open = batch.flatMap((row, slot) => (row.isDone ? [] : [slot]));
    if (open.length * 2 <= batch.length && batch.length > 2) {
      const slots = atLeastTwo(open);
      cache = cache.pick(slots);
      batch = slots.map((slot) => batch[slot]);
    }
    const tokens = Int32Array.from(batch, (row) => row.tokens[row.tokens.length - 1]);
    const { logProbs, newRows } = await decoder.step(cache.feeds(), tokens, positionsIn(cache, decoder.config));
    const width = logProbs.length / batch.length;
    const seen = new Set<Row>();
    batch.forEach((row, slot) => {
      // A row that fills the place of a second one is only computed.
      if (row.isDone || seen.has(row)) return;
      seen.add(row);
      cache.append(slot, newRows.subarray(slot * cache.tokenSize, (slot + 1) * cache.tokenSize));
      extendRow(row, logProbs.subarray(slot * width, (slot + 1) * width), decoder.config, options);
    });
  }
  return rows.map(({ tokens, logProbs }) => ({ tokens, logProbs }));
}

/** Where the next token of each row goes; a row that is done may be full, and is only computed until it leaves. */
function positionsIn({ lengths }: KeyValueCache, { contextLength }: DecoderConfig): Int32Array {
  return lengths.map((length) => Math.min(length, contextLength - 1));
}

/** A product with a single row takes another path in the runtime, so a lone row is computed twice. */
function atLeastTwo<T>(items: readonly T[]): T[] {
  return items.length === 1 ? [items[0], items[0]] : [...items];
}

/** Reads each different prompt once, and chooses the first tokens. */
async function readPrompts(decoder: GeneratingModel, rows: readonly Row[], options: GenerateOptions) {
  const keys = rows.map(({ prompt }) => Array.from(prompt).join());
  const distinct = new Map(rows.map(({ prompt }, i) => [keys[i], prompt]));
  const answers = await decoder.prefill([...distinct.values()]);
  const byKey = new Map([...distinct.keys()].map((key, i) => [key, answers[i]]));
  rows.forEach((row, i) => {
    extendRow(row, byKey.get(keys[i])!.logProbs, decoder.config, options);
  });
  const open = rows.flatMap((row, i) => (row.isDone ? [] : [i]));
  const batch = atLeastTwo(open);
  const longest = Math.max(1, ...open.map((i) => rows[i].prompt.length));
  const cache = new KeyValueCache(decoder.config, batch.length, longest + Math.min(options.maxTokens, 32));
  batch.forEach((i, slot) => {
    const { newRows } = byKey.get(keys[i])!;
    for (let at = 0; at < newRows.length; at += cache.tokenSize) {
      cache.append(slot, newRows.subarray(at, at + cache.tokenSize));
    }
  });
  return { batch: batch.map((i) => rows[i]), cache };
}

/** Chooses a row's next token, and sees whether the row is done. */
function extendRow(row: Row, logProbs: Float32Array, { contextLength }: DecoderConfig, options: GenerateOptions): void {
  const token = mostLikely(logProbs);
  row.tokens.push(token);
  row.logProbs.push(logProbs[token]);
  const isFull = row.prompt.length + row.tokens.length > contextLength;
  row.isDone = isFull || row.tokens.length >= options.maxTokens || options.stop?.includes(token) === true;
}

/** @throws DATA_MISMATCH for too many tokens, none or an unknown one */
function requirePrompt({ contextLength, vocabSize }: DecoderConfig, tokens: TokenSequence): void {
  if (tokens.length > contextLength) {
    const problem = `a prompt of ${tokens.length} tokens where ${contextLength} fit`;
    throw inputInvalid(problem, 'Shorten it, or make the decoder with a longer context.');
  }
  if (tokens.length === 0)
    throw inputInvalid('0 tokens where it needs 1', 'Begin with the token that begins every document.');
  for (let i = 0; i < tokens.length; i++) {
    if (Number.isInteger(tokens[i]) && tokens[i] >= 0 && tokens[i] < vocabSize) continue;
    const hint = 'Encode the text by the tokenizer that the decoder was trained with.';
    const problem = `token ${tokens[i]}, and it knows those from 0 to ${vocabSize - 1}`;
    throw inputInvalid(problem, hint);
  }
}

/** Of equal tokens the one with the smaller id. */
function mostLikely(logProbs: Float32Array): number {
  let best = 0;
  for (let token = 1; token < logProbs.length; token++) if (logProbs[token] > logProbs[best]) best = token;
  return best;
}

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
