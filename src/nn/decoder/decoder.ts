// A decoder: a configuration's sessions and one version of its weights. It generates what follows given tokens. The log-probability
// it computes for a token is the same to the byte in any batch: see network.ts for why.

import type { Rng } from '../../core/rng.js';
import { float32, Graph, int32, type Tensor, type Value } from '../graph.js';
import { concat, gather, less, where } from '../ops.js';
import type { ParamLayout } from '../parameters.js';
import { InferenceSession } from '../runtime.js';
import { type DecoderConfig, type DecoderConfigInput, decoderConfig } from './config.js';
import {
  type Answer,
  type Generated,
  type GenerateOptions,
  type GeneratingModel,
  generate,
  type TokenSequence,
} from './generation.js';
import { decoderLayout, hiddenOfRows, hiddenOfStep, nextToken, type Parameters } from './network.js';

/** A run's largest array of attention has about this many elements; longer lists are cut into several runs. */
const MAX_SCORES = 1 << 23;

export class Decoder implements GeneratingModel {
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
  static create(config: DecoderConfigInput, rng: Rng): Decoder {
    const sessions = new DecoderSessions(decoderConfig(config));
    return new Decoder(sessions, sessions.layout.init(rng));
  }

  /** See `generate`. */
  generate(prompts: readonly TokenSequence[], options: GenerateOptions): Promise<Generated[]> {
    return generate(this, prompts, options);
  }

  /** See `GeneratingModel`. */
  async prefill(prompts: readonly TokenSequence[]): Promise<Answer[]> {
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
      const { logProbs, newRows } = await session.run({
        ...this.weights,
        tokens: int32(tokens, [rows, length]),
        last: int32(last),
      });
      const tokenSize = newRows.dims[1];
      members.forEach((member, row) => {
        const start = row * length * tokenSize;
        answers[member] = {
          logProbs: rowOf(logProbs, row),
          newRows: (newRows.data as Float32Array).subarray(start, start + lengths[member] * tokenSize),
        };
      });
    }
    return answers;
  }

  /** See `GeneratingModel`. */
  async step(feeds: Record<string, Tensor>, tokens: Int32Array, positions: Int32Array): Promise<Answer> {
    const session = await this.sessions.step();
    const { logProbs, newRows } = await session.run({
      ...this.weights,
      ...feeds,
      tokens: int32(tokens),
      positions: int32(positions),
    });
    return { logProbs: logProbs.data as Float32Array, newRows: newRows.data as Float32Array };
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

/** A row of a matrix; a view. */
function rowOf({ data, dims: [, width] }: Tensor, row: number): Float32Array {
  return (data as Float32Array).subarray(row * width, (row + 1) * width);
}

/** Rows of whole prompts and sequences are padded to one of few lengths, each with a session of its own. */
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
function earlierTokens(graph: Graph, length: number): Value {
  const places = Array.from({ length }, (_, i) => i);
  const columns = graph.literal('int32', places, [1, 1, 1, 1, length]);
  return where(less(columns, graph.literal('int32', places, [1, 1, 1, length, 1])), 0, Number.NEGATIVE_INFINITY);
}

function rowsGraph(layout: ParamLayout, config: DecoderConfig, length: number): Graph {
  const graph = new Graph(`prefill${length}`);
  const params = weightInputs(graph, layout);
  const tokens = graph.input('tokens', 'int32', ['batch', length]);
  const positions = graph.literal(
    'int32',
    Array.from({ length }, (_, i) => i),
    [1, length],
  );
  const { hidden, newRows } = hiddenOfRows(params, config, { tokens, positions, bias: earlierTokens(graph, length) });
  const last = graph.input('last', 'int32', ['batch']);
  graph.output('logProbs', nextToken(params, config, gather(hidden, last)).logProbs);
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
  graph.output('logProbs', nextToken(params, config, hidden).logProbs);
  graph.output('newRows', concat(newRows, 1));
  return graph;
}
