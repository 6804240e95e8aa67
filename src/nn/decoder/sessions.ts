// The decoder's graphs for use, as sessions that are made once for a configuration: weights are fed and never stored, so one
// session serves every version of them, and products take the path that they take in training.

import { Graph, type Value } from '../graph.js';
import { less, where } from '../ops-elementwise.js';
import { gather } from '../ops-index.js';
import { concat } from '../ops-shape.js';
import type { ParamLayout } from '../parameters.js';
import { InferenceSession } from '../runtime.js';
import { float32, type Tensor } from '../tensor.js';
import type { DecoderConfig } from './config.js';
import { hiddenOfRows, hiddenOfStep, logProbOf, nextToken, type Parameters } from './network.js';
import { decoderLayout } from './parameters.js';

/** Rows of whole prompts and sequences are padded to one of few lengths, each with a session of its own. */
const SHORTEST = 8;

/** Name of a parameter's input. */
const weightName = (name: string) => `weight.${name}`;

/**
 * What a session is for: `prefill` fills a cache and tells what follows a prompt; `score` tells how likely given tokens are; `places`
 * tells what follows each of some tokens.
 */
type RowsPurpose = 'prefill' | 'score' | 'places';

export class DecoderSessions {
  readonly layout: ParamLayout;
  private readonly made = new Map<string, Promise<InferenceSession>>();

  constructor(
    readonly config: DecoderConfig,
    /** Threads one operator may use. With more than one, log-probabilities need not be those of training to the byte. */
    private readonly threads = 1,
  ) {
    this.layout = decoderLayout(config);
  }

  /** The padded length of rows of up to `tokens` tokens. */
  paddedLength(tokens: number): number {
    let length = SHORTEST;
    while (length < tokens) length *= 2;
    return Math.min(length, Math.max(this.config.contextLength, 2));
  }

  /** The session for whole rows of a padded length. */
  rows(purpose: RowsPurpose, length: number): Promise<InferenceSession> {
    return this.session(`${purpose} ${length}`, () => rowsGraph(this.layout, this.config, purpose, length));
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
      session = InferenceSession.fromBytes(graph().toModel(), { threads: this.threads }, `decoder ${name}`);
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

function rowsGraph(layout: ParamLayout, config: DecoderConfig, purpose: RowsPurpose, length: number): Graph {
  const graph = new Graph(`${purpose}${length}`);
  const params = weightInputs(graph, layout);
  const tokens = graph.input('tokens', 'int32', ['batch', length]);
  const sharpness = graph.input('sharpness', 'float32', []);
  const positions = graph.literal(
    'int32',
    Array.from({ length }, (_, i) => i),
    [1, length],
  );
  const { hidden, newRows } = hiddenOfRows(params, config, { tokens, positions, bias: earlierTokens(graph, length) });
  if (purpose === 'score') {
    const targets = graph.input('targets', 'int32', ['rows']);
    graph.output('logProbs', logProbOf(nextToken(params, config, hidden, sharpness), targets));
    return graph;
  }
  if (purpose === 'places') {
    const places = graph.input('places', 'int32', ['places']);
    graph.output('logProbs', nextToken(params, config, gather(hidden, places), sharpness).logProbs);
    return graph;
  }
  const last = graph.input('last', 'int32', ['batch']);
  graph.output('logProbs', nextToken(params, config, gather(hidden, last), sharpness).logProbs);
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
  const sharpness = graph.input('sharpness', 'float32', []);
  const { hidden, newRows } = hiddenOfStep(params, config, {
    tokens,
    positions,
    bias,
    past: (layer) => ({
      pastKeys: graph.input(`keys${layer}`, 'float32', ['batch', kvHeads, headDim, 'past']),
      pastValues: graph.input(`values${layer}`, 'float32', ['batch', kvHeads, 'past', headDim + 1]),
    }),
  });
  graph.output('logProbs', nextToken(params, config, hidden, sharpness).logProbs);
  graph.output('newRows', concat(newRows, 1));
  return graph;
}
