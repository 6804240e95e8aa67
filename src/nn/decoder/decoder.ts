// A decoder: a configuration's sessions and one version of its weights. It answers with the likeliest tokens, in batches: prompts are read
// at once, then every step adds one token to each row that is not done. The log-probability it computes for a token is the same to the
// byte in any batch: see network.ts for why.

import type { Rng } from '../../core/rng.js';
import { float32, Graph, int32, type Tensor, type Value } from '../graph.js';
import { concat, gather, less, where } from '../ops.js';
import type { ParamLayout } from '../parameters.js';
import { InferenceSession } from '../runtime.js';
import {
  type DecoderConfig,
  decoderConfig,
  decoderLayout,
  hiddenOfRows,
  hiddenOfStep,
  nextToken,
  type Parameters,
} from './network.js';

/** A run's largest array of attention has about this many elements; longer lists are cut into several runs. */
const MAX_SCORES = 1 << 23;

type TokenSequence = ArrayLike<number>;

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

/** What may follow a token, and its keys and values as `KeyValueCache.append` takes them; a row each. */
interface Answer {
  readonly logProbs: Float32Array;
  readonly newRows: Float32Array;
}

export class Decoder {
  readonly config: DecoderConfig;
  private readonly weights: Record<string, Tensor>;

  /** @param theta weights in the order of `sessions.layout`; not copied, so not to be written to */
  constructor(
    readonly sessions: DecoderSessions,
    readonly theta: Float32Array,
  ) {
    this.config = sessions.config;
    this.weights = sessions.weights(theta);
  }

  /** A decoder with random weights. @throws SETTING_INVALID */
  static create(config: DecoderConfig, rng: Rng): Decoder {
    const sessions = new DecoderSessions(decoderConfig(config));
    return new Decoder(sessions, sessions.layout.init(rng));
  }

  /**
   * What follows each prompt, which is of one token up to a context's. What a row says depends on its prompt and the options alone, not
   * on the other rows.
   */
  async generate(prompts: readonly TokenSequence[], options: GenerateOptions): Promise<Generated[]> {
    const rows = prompts.map((prompt): Row => ({ prompt, tokens: [], logProbs: [], isDone: false }));
    let { batch, cache } = await this.readPrompts(rows, options);
    while (batch.some((row) => !row.isDone)) {
      // Rows that are done leave the batch once they are half of it.
      const open = batch.flatMap((row, slot) => (row.isDone ? [] : [slot]));
      if (open.length * 2 <= batch.length && batch.length > 2) {
        const slots = atLeastTwo(open);
        cache = cache.pick(slots);
        batch = slots.map((slot) => batch[slot]);
      }
      const { logProbs, newRows } = await this.step(batch, cache);
      const width = logProbs.length / batch.length;
      const seen = new Set<Row>();
      batch.forEach((row, slot) => {
        // A row that fills the place of a second one is only computed.
        if (row.isDone || seen.has(row)) return;
        seen.add(row);
        cache.append(slot, newRows.subarray(slot * cache.tokenSize, (slot + 1) * cache.tokenSize));
        this.extend(row, logProbs.subarray(slot * width, (slot + 1) * width), options);
      });
    }
    return rows.map(({ tokens, logProbs }) => ({ tokens, logProbs }));
  }

  /** Reads each different prompt once, and chooses the first tokens. */
  private async readPrompts(rows: readonly Row[], options: GenerateOptions) {
    const keys = rows.map(({ prompt }) => Array.from(prompt).join());
    const distinct = new Map(rows.map(({ prompt }, i) => [keys[i], prompt]));
    const answers = await this.prefill([...distinct.values()]);
    const byKey = new Map([...distinct.keys()].map((key, i) => [key, answers[i]]));
    rows.forEach((row, i) => {
      this.extend(row, byKey.get(keys[i])!.logProbs, options);
    });
    const open = rows.flatMap((row, i) => (row.isDone ? [] : [i]));
    const batch = atLeastTwo(open);
    const longest = Math.max(1, ...open.map((i) => rows[i].prompt.length));
    const cache = new KeyValueCache(this.config, batch.length, longest + Math.min(options.maxTokens, 32));
    batch.forEach((i, slot) => {
      const { newRows } = byKey.get(keys[i])!;
      for (let at = 0; at < newRows.length; at += cache.tokenSize) {
        cache.append(slot, newRows.subarray(at, at + cache.tokenSize));
      }
    });
    return { batch: batch.map((i) => rows[i]), cache };
  }

  private async prefill(prompts: readonly TokenSequence[]): Promise<Answer[]> {
    const answers: Answer[] = new Array(prompts.length);
    const lengths = prompts.map((prompt) => prompt.length);
    for (const { length, members } of this.groups(lengths)) {
      // A product with one row takes another path, and the last layer has one row a prompt.
      const rows = Math.max(2, members.length);
      const tokens = new Int32Array(rows * length);
      const last = new Int32Array(rows);
      members.forEach((member, row) => {
        tokens.set(Int32Array.from(prompts[member]), row * length);
        last[row] = row * length + lengths[member] - 1;
      });
      const session = await this.sessions.rows(length);
      const feeds = { ...this.weights, tokens: int32(tokens, [rows, length]), last: int32(last) };
      const { logProbs, newRows } = await session.run(feeds);
      const [width, tokenSize] = [logProbs.dims[1], newRows.dims[1]];
      members.forEach((member, row) => {
        const start = row * length * tokenSize;
        answers[member] = {
          logProbs: (logProbs.data as Float32Array).subarray(row * width, (row + 1) * width),
          newRows: (newRows.data as Float32Array).subarray(start, start + lengths[member] * tokenSize),
        };
      });
    }
    return answers;
  }

  /** One further token of each row. */
  private async step(batch: readonly Row[], cache: KeyValueCache): Promise<Answer> {
    const session = await this.sessions.step();
    // A row that is done may be full, and is only computed until it leaves.
    const positions = cache.lengths.map((length) => Math.min(length, this.config.contextLength - 1));
    const { logProbs, newRows } = await session.run({
      ...this.weights,
      ...cache.feeds(),
      tokens: int32(Int32Array.from(batch, (row) => row.tokens[row.tokens.length - 1])),
      positions: int32(positions),
    });
    return { logProbs: logProbs.data as Float32Array, newRows: newRows.data as Float32Array };
  }

  /** Chooses a row's next token (of equal ones that with the smaller id), and sees whether the row is done. */
  private extend(row: Row, logProbs: Float32Array, { maxTokens, stop }: GenerateOptions): void {
    let best = 0;
    for (let token = 1; token < logProbs.length; token++) if (logProbs[token] > logProbs[best]) best = token;
    row.tokens.push(best);
    row.logProbs.push(logProbs[best]);
    const isFull = row.prompt.length + row.tokens.length > this.config.contextLength;
    row.isDone = isFull || row.tokens.length >= maxTokens || stop?.includes(best) === true;
  }

  /** Indices of rows of similar length, in batches that a run can hold. */
  private groups(lengths: readonly number[]): { length: number; members: number[] }[] {
    const byLength = new Map<number, number[]>();
    lengths.forEach((tokens, i) => {
      const length = this.sessions.paddedLength(tokens);
      byLength.set(length, [...(byLength.get(length) ?? []), i]);
    });
    return [...byLength].flatMap(([length, members]) => {
      const most = Math.max(1, Math.floor(MAX_SCORES / (length * length * this.config.heads)));
      const batches = Math.ceil(members.length / most);
      return Array.from({ length: batches }, (_, i) => ({ length, members: members.slice(i * most, (i + 1) * most) }));
    });
  }
}

/** A product with a single row takes another path in the runtime, so a lone row is computed twice. */
function atLeastTwo<T>(items: readonly T[]): T[] {
  return items.length === 1 ? [items[0], items[0]] : [...items];
}

/** Least growth, in tokens. */
const GROWTH = 64;

class KeyValueCache {
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
    private readonly rows: number,
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

/** Rows of whole prompts are padded to one of few lengths, each with a session of its own. */
const SHORTEST = 8;

/** Name of a parameter's input. */
const weightName = (name: string) => `weight.${name}`;

export class DecoderSessions {
  readonly layout: ParamLayout;
  private readonly made = new Map<string, Promise<InferenceSession>>();

  constructor(readonly config: DecoderConfig) {
    this.layout = decoderLayout(config);
  }

  /** The padded length of rows of up to `tokens` tokens. */
  paddedLength(tokens: number): number {
    let length = SHORTEST;
    while (length < tokens) length *= 2;
    return Math.min(length, Math.max(this.config.contextLength, 2));
  }

  /** The session that reads whole rows of a padded length: it fills a cache, and tells what follows. */
  rows(length: number): Promise<InferenceSession> {
    return this.session(`prefill ${length}`, () => rowsGraph(this.layout, this.config, length));
  }

  /** The session for one further token of each row. */
  step(): Promise<InferenceSession> {
    return this.session('step', () => stepGraph(this.layout, this.config));
  }

  /** The parameters as feeds; views of theta. */
  weights(theta: Float32Array): Record<string, Tensor> {
    const feeds = this.layout.specs.map(({ name, shape }): [string, Tensor] => [
      weightName(name),
      float32(this.layout.view(theta, name), shape),
    ]);
    return Object.fromEntries(feeds);
  }

  /** Frees all sessions; decoders over them can no longer be used. */
  async release(): Promise<void> {
    const sessions = [...this.made.values()];
    this.made.clear();
    for (const session of sessions) await (await session).release();
  }

  private session(name: string, graph: () => Graph): Promise<InferenceSession> {
    let session = this.made.get(name);
    if (session === undefined) {
      session = InferenceSession.fromBytes(graph().toModel(), {}, `decoder ${name}`);
      this.made.set(name, session);
    }
    return session;
  }
}

function weightInputs(graph: Graph, layout: ParamLayout): Parameters {
  return Object.fromEntries(
    layout.specs.map(({ name, shape }) => [name, graph.input(weightName(name), 'float32', shape)]),
  );
}

/** The bias [1, 1, 1, length, length] by which each token sees those before it. */
function earlierTokens(graph: Graph, places: readonly number[]): Value {
  const { length } = places;
  const columns = graph.literal('int32', places, [1, 1, 1, 1, length]);
  return where(less(columns, graph.literal('int32', places, [1, 1, 1, length, 1])), 0, Number.NEGATIVE_INFINITY);
}

function rowsGraph(layout: ParamLayout, config: DecoderConfig, length: number): Graph {
  const graph = new Graph(`prefill${length}`);
  const params = weightInputs(graph, layout);
  const tokens = graph.input('tokens', 'int32', ['batch', length]);
  const places = Array.from({ length }, (_, i) => i);
  const positions = graph.literal('int32', places, [1, length]);
  const { hidden, newRows } = hiddenOfRows(params, config, { tokens, positions, bias: earlierTokens(graph, places) });
  const last = graph.input('last', 'int32', ['batch']);
  graph.output('logProbs', nextToken(params, gather(hidden, last)).logProbs);
  graph.output('newRows', concat(newRows, 1));
  return graph;
}

function stepGraph(layout: ParamLayout, config: DecoderConfig): Graph {
  const { kvHeads, headDim } = config;
  const graph = new Graph('step');
  const params = weightInputs(graph, layout);
  const tokens = graph.input('tokens', 'int32', ['batch']);
  const positions = graph.input('positions', 'int32', ['batch']);
  const bias = graph.input('bias', 'float32', ['batch', 1, 1, 'past']);
  const { hidden, newRows } = hiddenOfStep(params, config, {
    tokens,
    positions,
    bias,
    past: (layer) => ({
      pastKeys: graph.input(`keys${layer}`, 'float32', ['batch', kvHeads, headDim, 'past']),
      pastValues: graph.input(`values${layer}`, 'float32', ['batch', kvHeads, 'past', headDim + 1]),
    }),
  });
  graph.output('logProbs', nextToken(params, hidden).logProbs);
  graph.output('newRows', concat(newRows, 1));
  return graph;
}
