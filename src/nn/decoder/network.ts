// Causal attention whose answer to a token has the same bytes however the token is computed: alone with a cache, in a row of a
// batch, or packed between other documents. That is what makes log-probabilities of a rollout equal those in training.
//
// It needs sums that do not depend on what else is in the row. The sum over a row by the runtime's own softmax does: it adds in
// lanes, by place. A product of matrices does not, as each element is one chain of multiply-adds in the order of the inner axis,
// to which masked tokens add an exact zero. So numerator and denominator of the softmax are one product, exp(scores) with the
// values and a column of ones. A token's own term is added apart, as in a step with a cache it is not in the cache yet.
// Two limits remain. The runtime cuts a chain at multiples of some length (`chainLength`), so a packed document must lie between
// two of them or begin at one. And a product with a single row takes another path, so there are always two rows or more.

import { z } from 'zod';
import { describeIssues, reverieError } from '../../core/errors.js';
import { type Dim, type Graph, type Value, withGradient } from '../graph.js';
import {
  add,
  concat,
  div,
  exp,
  expand,
  expandLike,
  gather,
  gemm,
  logSoftmax,
  matMul,
  maximum,
  mul,
  neg,
  oneHot,
  reduceMax,
  reduceSum,
  reshape,
  rmsNorm,
  sigmoid,
  slice,
  split,
  squeeze,
  stopGradient,
  sub,
  takeAlongAxis,
  transpose,
  unsqueeze,
} from '../ops.js';
import { ParamLayout, type ParamSpec } from '../parameters.js';

const size = z.int().min(1);

/** What a decoder is made of: the Llama architecture (Touvron et al. 2023). */
const configSchema = z
  .strictObject({
    /** Tokens the model knows; the tokenizer's `size`. */
    vocabSize: size,
    /** Width of the residual stream. */
    hiddenSize: size,
    /** Width of the gated layer (SwiGLU) in each block. */
    intermediateSize: size,
    layers: size,
    /** Heads of queries. */
    heads: size,
    /** Heads of keys and values, each shared by heads / kvHeads of queries (grouped-query attention, Ainslie et al. 2023). */
    kvHeads: size,
    /** Width of a head; even, as rotary positions turn pairs. */
    headDim: size.multipleOf(2),
    /** Most tokens of one document. */
    contextLength: size,
  })
  .refine(({ heads, kvHeads }) => heads % kvHeads === 0, { message: 'heads must be a multiple of kvHeads' });

export type DecoderConfig = z.infer<typeof configSchema>;

/** @throws SETTING_INVALID for sizes that make no decoder */
export function decoderConfig(given: unknown): DecoderConfig {
  const parsed = configSchema.safeParse(given);
  if (parsed.success) return parsed.data;
  throw reverieError('SETTING_INVALID', {
    problem: `Settings of the decoder: ${describeIssues(parsed.error)}.`,
    hint: 'Sizes are whole numbers, and heads a multiple of kvHeads.',
  });
}

/** Base of the rotary positions' wavelengths (Su et al. 2021). */
const ROPE_THETA = 10_000;
const NORM_EPSILON = 1e-5;

/** Columns of a block of ONNX Runtime's product, and the inner length of one, which grow as the other shrinks (MLAS, sgemm.cpp). */
const BLOCK = 128;
const FEWEST_COLUMNS = 16;

/** Tokens of a row whose attention is one chain: a document packed beside others must not cross a multiple of this. */
export function chainLength(headDim: number): number {
  let columns = BLOCK;
  let inner = BLOCK;
  while (columns > FEWEST_COLUMNS && columns / 2 >= headDim + 1) {
    columns /= 2;
    inner *= 2;
  }
  return inner;
}

/** x with pairs (i, i + n/2) of its last axis of size n turned by an angle each (Su et al. 2021); cos and sin have size n/2. */
export function rotate(x: Value, cos: Value, sin: Value): Value {
  const axis = x.shape.length - 1;
  const half = (x.shape[axis] as number) / 2;
  const [a, b] = split(x, axis, [half, half]);
  const y = concat([sub(mul(a, cos), mul(b, sin)), add(mul(b, cos), mul(a, sin))], axis);
  return withGradient(y, [x], (g) => [rotate(expandLike(g, y), cos, neg(sin))]);
}

/** Sums over the last axis of q · k, [..., 1]; an axis of size 1 in k may be longer in q. */
function rowDot(q: Value, k: Value): Value {
  const last = q.shape.length - 1;
  const size = q.shape[last] as number;
  const ones = expand(q.graph.constant(1), [size, FEWEST_COLUMNS]);
  const y = slice(matMul(mul(q, k), ones), last, 0, 1);
  const shared = [...q.shape.keys()].filter((axis) => k.shape[axis] === 1 && q.shape[axis] !== 1);
  return withGradient(y, [q, k], (g) => [mul(g, k), reduceSum(mul(expandLike(g, y), q), shared, true)]);
}

/** The values with a column of ones, whose product with weights is the weights' sum. */
function withOnes(values: Value): Value {
  const axis = values.shape.length - 1;
  return concat([values, expandLike(values.graph.constant(1), slice(values, axis, 0, 1))], axis);
}

/**
 * From scores [..., tokens] of the past, -Infinity where a token must not be seen, the attention's answer.
 * @param product multiplies weights of the past with its values and a column of ones
 * @param own score of the token itself, [..., 1]
 * @param ownValue its value with a one behind
 */
function weigh(scores: Value, product: (weights: Value) => Value, own: Value, ownValue: Value): Value {
  const last = scores.shape.length - 1;
  // Any number may be taken off all scores of a row, so none of the gradient goes through it.
  const peak = stopGradient(maximum(reduceMax(scores, [last], true), own));
  const sums = add(product(exp(sub(scores, peak))), mul(exp(sub(own, peak)), ownValue));
  const headDim = (sums.shape[last] as number) - 1;
  const [numerator, denominator] = split(sums, last, [headDim, 1]);
  return div(numerator, denominator);
}

interface AttentionInput {
  /** [batch, tokens, heads, headDim], turned and scaled by 1 / sqrt(headDim). */
  readonly queries: Value;
  /** [batch, tokens, kvHeads, headDim], turned. */
  readonly keys: Value;
  /** [batch, tokens, kvHeads, headDim]. */
  readonly values: Value;
  /** Broadcasts to [batch, kvHeads, group, tokens, tokens]: 0 where the row's token sees the column's, else -Infinity; itself counts as unseen. */
  readonly bias: Value;
}

/** Attention within rows of tokens: [batch, tokens, heads · headDim]. */
export function attendWithin({ queries, keys, values, bias }: AttentionInput, config: DecoderConfig): Value {
  const [batch, tokens] = queries.shape as readonly [Dim, number];
  const { heads, kvHeads, headDim } = config;
  const group = heads / kvHeads;
  // Heads that share keys are rows of one product.
  const q = transpose(reshape(queries, [batch, tokens, kvHeads, group, headDim]), [0, 2, 3, 1, 4]);
  const asRows = (x: Value, width: Dim) => reshape(x, [batch, kvHeads, group * tokens, width]);
  const asGroups = (x: Value, width: Dim) => reshape(x, [batch, kvHeads, group, tokens, width]);
  const products = matMul(asRows(q, headDim), transpose(keys, [0, 2, 3, 1]));
  const v = withOnes(transpose(values, [0, 2, 1, 3]));
  const own = rowDot(q, unsqueeze(transpose(keys, [0, 2, 1, 3]), [2]));
  const answer = weigh(
    add(asGroups(products, tokens), bias),
    (weights) => asGroups(matMul(asRows(weights, tokens), v), headDim + 1),
    own,
    unsqueeze(v, [2]),
  );
  return reshape(transpose(answer, [0, 3, 1, 2, 4]), [batch, tokens, heads * headDim]);
}

interface StepInput {
  /** [batch, heads, headDim], turned and scaled; the batch has two rows or more. */
  readonly queries: Value;
  /** [batch, kvHeads, headDim], turned. */
  readonly keys: Value;
  /** [batch, kvHeads, headDim]. */
  readonly values: Value;
  /** [batch, kvHeads, headDim, past]. */
  readonly pastKeys: Value;
  /** [batch, kvHeads, past, headDim + 1], the last column ones. */
  readonly pastValues: Value;
  /** [batch, 1, 1, past]: 0 where the row has a token, else -Infinity. */
  readonly bias: Value;
}

/** Attention of one further token of each row over those before it: [batch, heads · headDim]. */
function attendToPast(input: StepInput, config: DecoderConfig): Value {
  const { heads, kvHeads, headDim } = config;
  const group = heads / kvHeads;
  const [batch] = input.queries.shape;
  const q = reshape(input.queries, [batch, kvHeads, group, headDim]);
  const own = rowDot(q, unsqueeze(input.keys, [2]));
  // A single row would be multiplied by another path, whose last bits differ.
  const isSingle = group === 1;
  const atLeastTwo = (x: Value) => (isSingle ? concat([x, x], 2) : x);
  const firstOnly = (x: Value) => (isSingle ? slice(x, 2, 0, 1) : x);
  const scores = add(firstOnly(matMul(atLeastTwo(q), input.pastKeys)), input.bias);
  const answer = weigh(
    scores,
    (weights) => firstOnly(matMul(atLeastTwo(weights), input.pastValues)),
    own,
    unsqueeze(withOnes(input.values), [2]),
  );
  return reshape(answer, [batch, heads * headDim]);
}

export type Parameters = Readonly<Record<string, Value>>;

/** Cosines and sines of the positions' angles: [..., 1, headDim / 2] each. */
type Rotation = readonly [cos: Value, sin: Value];

/** The angles' tables in float32, as PyTorch computes them: [contextLength, headDim / 2]. */
function rotationTables({ contextLength, headDim }: DecoderConfig): { cos: number[]; sin: number[] } {
  const half = headDim / 2;
  const frequencies = Array.from({ length: half }, (_, i) => Math.fround(1 / ROPE_THETA ** ((2 * i) / headDim)));
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
  const { intermediateSize } = config;
  const attended = attend(rmsNorm(x, params[`${name}.attentionNorm`], NORM_EPSILON));
  const middle = plusProduct(x, attended, params[`${name}.attentionOut`]);
  const both = matMul(rmsNorm(middle, params[`${name}.mlpNorm`], NORM_EPSILON), params[`${name}.gateUp`]);
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

/** The normed stream [rows, hiddenSize], and each layer's new keys and values, one row a token: [rows, 2 · kvHeads · headDim], keys before values. */
interface Hidden {
  readonly hidden: Value;
  readonly newRows: readonly Value[];
}

interface RowsInput {
  /** int32 [batch, tokens]; `tokens` is a number, `batch` may be a name. */
  readonly tokens: Value;
  /** int32, broadcasts to [batch, tokens]. */
  readonly positions: Value;
  /** As in `AttentionInput`. */
  readonly bias: Value;
}

/** Of whole rows of tokens, row after row. */
export function hiddenOfRows(params: Parameters, config: DecoderConfig, input: RowsInput): Hidden {
  const { heads, kvHeads, headDim, hiddenSize } = config;
  const [batch, tokens] = input.tokens.shape as readonly [Dim, number];
  const rows: Dim = typeof batch === 'number' ? batch * tokens : 'rows';
  const rotation = rotationAt(input.tokens.graph, config, input.positions);
  const newRows: Value[] = [];
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
  return { hidden: rmsNorm(x, params['norm'], NORM_EPSILON), newRows };
}

interface OneTokenInput {
  /** int32 [batch]; two rows or more. */
  readonly tokens: Value;
  /** int32 [batch]. */
  readonly positions: Value;
  /** [batch, 1, 1, past]. */
  readonly bias: Value;
  /** A layer's past, as in `StepInput`. */
  readonly past: (layer: number) => { readonly pastKeys: Value; readonly pastValues: Value };
}

/** Of one further token a row. */
export function hiddenOfStep(params: Parameters, config: DecoderConfig, input: OneTokenInput): Hidden {
  const { heads, kvHeads, headDim } = config;
  const [batch] = input.tokens.shape;
  const rotation = rotationAt(input.tokens.graph, config, input.positions);
  const newRows: Value[] = [];
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
  return { hidden: rmsNorm(x, params['norm'], NORM_EPSILON), newRows };
}

function cacheRows(keysAndValues: readonly Value[], rows: Dim, { kvHeads, headDim }: DecoderConfig): Value {
  return concat(
    keysAndValues.map((x) => reshape(x, [rows, kvHeads * headDim])),
    1,
  );
}

/** What comes next, by row: [rows, vocabSize]. The output layer is the embedding's transpose. */
interface NextToken {
  readonly logits: Value;
  readonly logProbs: Value;
}

export function nextToken(params: Parameters, hidden: Value): NextToken {
  const logits = matMul(hidden, transpose(params['embedding']));
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

/** Of the embedding; small, so that a tied output layer starts with nearly equal logits. */
const EMBEDDING_DEVIATION = 0.1;

/**
 * All parameters in one vector. Matrices are kept [in, out], as x · w takes them; those that meet the same input lie side by
 * side in one: `qkv` has the columns of queries, keys and values, `gateUp` those of the gate and of what it lets through.
 * They start normal with deviation 1 / sqrt(in).
 */
export function decoderLayout(config: DecoderConfig): ParamLayout {
  const { hiddenSize: d, intermediateSize: f, vocabSize, heads, kvHeads, headDim } = config;
  const matrix = (name: string, rows: number, columns: number): ParamSpec => ({
    name,
    shape: [rows, columns],
    init: { kind: 'normal', deviation: 1 / Math.sqrt(rows) },
  });
  const norm = (name: string): ParamSpec => ({ name, shape: [d], init: { kind: 'constant', value: 1 } });
  const blocks = Array.from({ length: config.layers }, (_, i) => [
    norm(`layer${i}.attentionNorm`),
    matrix(`layer${i}.qkv`, d, (heads + 2 * kvHeads) * headDim),
    matrix(`layer${i}.attentionOut`, heads * headDim, d),
    norm(`layer${i}.mlpNorm`),
    matrix(`layer${i}.gateUp`, d, 2 * f),
    matrix(`layer${i}.down`, f, d),
  ]);
  const embedding: ParamSpec = {
    name: 'embedding',
    shape: [vocabSize, d],
    init: { kind: 'normal', deviation: EMBEDDING_DEVIATION },
  };
  return new ParamLayout([embedding, ...blocks.flat(), norm('norm')]);
}

/** One for each element of theta that weight decay shrinks (matrices), zero for the others (norms). */
export function decayMask(layout: ParamLayout): Float32Array {
  const mask = new Float32Array(layout.size);
  for (const { name, shape } of layout.specs) if (shape.length > 1) layout.view(mask, name).fill(1);
  return mask;
}
