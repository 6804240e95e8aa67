// The decoder as a graph: embedding, blocks of attention and gated layers around a residual stream, norm, output layer.
// Training, scoring and decoding build their graphs from these functions, so a token's numbers are the same in all of them.

import { type Graph, type Value, withGradient } from '../graph.js';
import { add, exp, mul, sigmoid, sub } from '../ops-elementwise.js';
import { gather, oneHot, takeAlongAxis } from '../ops-index.js';
import { gemm, matMul } from '../ops-matmul.js';
import { logSoftmax, rmsNorm } from '../ops-reduce.js';
import { concat, expandLike, reshape, split, squeeze, transpose, unsqueeze } from '../ops-shape.js';
import type { Dim } from '../tensor.js';
import { attendToPast, attendWithin, rotate } from './attention.js';
import type { DecoderConfig } from './config.js';

export type Parameters = Readonly<Record<string, Value>>;

/** Cosines and sines of the positions' angles: [..., 1, headDim / 2] each. */
type Rotation = readonly [cos: Value, sin: Value];

/** The angles' tables in float32, as PyTorch computes them: [contextLength, headDim / 2]. */
function rotationTables({ contextLength, headDim, ropeTheta }: DecoderConfig): { cos: number[]; sin: number[] } {
  const half = headDim / 2;
  const frequencies = Array.from({ length: half }, (_, i) => Math.fround(1 / ropeTheta ** ((2 * i) / headDim)));
  const angles = Array.from({ length: contextLength }, (_, at) => frequencies.map((f) => Math.fround(at * f))).flat();
  return { cos: angles.map((x) => Math.fround(Math.cos(x))), sin: angles.map((x) => Math.fround(Math.sin(x))) };
}

/** @param positions int32 [...]; the axis of size 1 is that of the heads */
function rotationAt(graph: Graph, config: DecoderConfig, positions: Value): Rotation {
  const { cos, sin } = rotationTables(config);
  const shape = [config.contextLength, config.headDim / 2];
  const at = (table: readonly number[]) => {
    const rows = gather(graph.literal('float32', table, shape), positions);
    return unsqueeze(rows, [rows.shape.length - 1]);
  };
  return [at(cos), at(sin)];
}

/**
 * Queries (turned, and scaled for their products with keys), keys (turned) and values.
 * @param qkv [..., heads + 2 · kvHeads, headDim]
 */
function turned(qkv: Value, config: DecoderConfig, rotation: Rotation): { queries: Value; keys: Value; values: Value } {
  const { heads, kvHeads, headDim } = config;
  const axis = qkv.shape.length - 2;
  const [toTurn, values] = split(qkv, axis, [heads + kvHeads, kvHeads]);
  const [q, keys] = split(rotate(toTurn, ...rotation), axis, [heads, kvHeads]);
  // A number for each element: a single one would be fused into the products in some graphs.
  const scale = qkv.graph.constant(new Array<number>(headDim).fill(1 / Math.sqrt(headDim)));
  return { queries: mul(q, scale), keys, values };
}

/** The residual stream after a block, given what its attention answers to the normed stream. x: [rows, hiddenSize] */
function block(params: Parameters, name: string, config: DecoderConfig, x: Value, attend: (h: Value) => Value): Value {
  const { intermediateSize, normEpsilon } = config;
  const attended = attend(rmsNorm(x, params[`${name}.attentionNorm`], normEpsilon));
  const middle = plusProduct(x, attended, params[`${name}.attentionOut`]);
  const both = matMul(rmsNorm(middle, params[`${name}.mlpNorm`], normEpsilon), params[`${name}.gateUp`]);
  const [gate, up] = split(both, 1, [intermediateSize, intermediateSize]);
  return plusProduct(middle, gated(gate, up), params[`${name}.down`]);
}

/** x + a · b as one node: the runtime makes one of two in some graphs and not in others, and they round differently. */
function plusProduct(x: Value, a: Value, b: Value): Value {
  return gemm(a, b, { c: x });
}

/** gate · sigmoid(gate) · up (Shazeer 2020). In this order, as another would be fused in some graphs and not in others. */
function gated(gate: Value, up: Value): Value {
  const s = sigmoid(gate);
  const product = mul(gate, up);
  const y = mul(s, product);
  return withGradient(y, [gate, up], (g) => {
    const gs = mul(g, s);
    const outer = sub(1, s);
    return [mul(gs, add(up, mul(product, outer))), mul(gs, gate)];
  });
}

/** Each layer's new keys and values, one row a token: [rows, 2 · kvHeads · headDim], keys before values. */
export type NewRows = Value[];

export interface RowsInput {
  /** int32 [batch, tokens]; `tokens` is a number, `batch` may be a name. */
  readonly tokens: Value;
  /** int32, broadcasts to [batch, tokens]. */
  readonly positions: Value;
  /** As in `AttentionInput`. */
  readonly bias: Value;
}

/** The normed stream [rows, hiddenSize] of whole rows of tokens, row after row, and keys and values for a cache. */
export function hiddenOfRows(
  params: Parameters,
  config: DecoderConfig,
  input: RowsInput,
): { hidden: Value; newRows: NewRows } {
  const { heads, kvHeads, headDim, hiddenSize } = config;
  const [batch, tokens] = input.tokens.shape as readonly [Dim, number];
  const rows: Dim = typeof batch === 'number' ? batch * tokens : 'rows';
  const rotation = rotationAt(input.tokens.graph, config, input.positions);
  const newRows: NewRows = [];
  let x = reshape(gather(params['embedding'], input.tokens), [rows, hiddenSize]);
  for (let i = 0; i < config.layers; i++) {
    const name = `layer${i}`;
    x = block(params, name, config, x, (h) => {
      const qkv = reshape(matMul(h, params[`${name}.qkv`]), [batch, tokens, heads + 2 * kvHeads, headDim]);
      const { queries, keys, values } = turned(qkv, config, rotation);
      newRows.push(cacheRows([keys, values], rows, config));
      const answer = attendWithin({ queries, keys, values, bias: input.bias }, config);
      return reshape(answer, [rows, heads * headDim]);
    });
  }
  return { hidden: rmsNorm(x, params['norm'], config.normEpsilon), newRows };
}

export interface OneTokenInput {
  /** int32 [batch]; two rows or more. */
  readonly tokens: Value;
  /** int32 [batch]. */
  readonly positions: Value;
  /** [batch, 1, 1, past]. */
  readonly bias: Value;
  /** A layer's past, as in `StepInput`. */
  readonly past: (layer: number) => { readonly pastKeys: Value; readonly pastValues: Value };
}

/** The normed stream [batch, hiddenSize] of one further token a row. */
export function hiddenOfStep(
  params: Parameters,
  config: DecoderConfig,
  input: OneTokenInput,
): { hidden: Value; newRows: NewRows } {
  const { heads, kvHeads, headDim } = config;
  const [batch] = input.tokens.shape;
  const rotation = rotationAt(input.tokens.graph, config, input.positions);
  const newRows: NewRows = [];
  let x = gather(params['embedding'], input.tokens);
  for (let i = 0; i < config.layers; i++) {
    const name = `layer${i}`;
    x = block(params, name, config, x, (h) => {
      const qkv = reshape(matMul(h, params[`${name}.qkv`]), [batch, heads + 2 * kvHeads, headDim]);
      const { queries, keys, values } = turned(qkv, config, rotation);
      newRows.push(cacheRows([keys, values], batch, config));
      return attendToPast({ queries, keys, values, bias: input.bias, ...input.past(i) }, config);
    });
  }
  return { hidden: rmsNorm(x, params['norm'], config.normEpsilon), newRows };
}

function cacheRows(keysAndValues: readonly Value[], rows: Dim, { kvHeads, headDim }: DecoderConfig): Value {
  return concat(
    keysAndValues.map((x) => reshape(x, [rows, kvHeads * headDim])),
    1,
  );
}

/** What comes next, by row: [rows, vocabSize]. */
export interface NextToken {
  /** Divided by the temperature. */
  readonly logits: Value;
  readonly logProbs: Value;
}

/** @param sharpness 1 / temperature: a fed scalar, as a constant would be fused into the product before it in some graphs */
export function nextToken(params: Parameters, config: DecoderConfig, hidden: Value, sharpness: Value): NextToken {
  const head = params[config.tieEmbeddings ? 'embedding' : 'head'];
  const logits = mul(matMul(hidden, transpose(head)), sharpness);
  return { logits, logProbs: logSoftmax(logits) };
}

/** The log-probability [rows] of one token a row (int32 [rows]). */
export function logProbOf({ logits, logProbs }: NextToken, tokens: Value): Value {
  const y = squeeze(takeAlongAxis(logProbs, unsqueeze(tokens, [1]), 1), [1]);
  const size = logits.shape[1] as number;
  return withGradient(y, [logits], (g) => [
    mul(unsqueeze(expandLike(g, y), [1]), sub(oneHot(tokens, size), exp(logProbs))),
  ]);
}
