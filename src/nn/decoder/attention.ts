// Causal attention whose answer to a token has the same bytes however the token is computed: alone with a cache, in a row of a
// batch, or packed between other documents. That is what makes log-probabilities of a rollout equal those in training.
//
// It needs sums that do not depend on what else is in the row. The sum over a row by the runtime's own softmax does: it adds in
// lanes, by place. A product of matrices does not, as each element is one chain of multiply-adds in the order of the inner axis,
// to which masked tokens add an exact zero. So numerator and denominator of the softmax are one product, exp(scores) with the
// values and a column of ones. A token's own term is added apart, as in a step with a cache it is not in the cache yet.
// Two limits remain. The runtime cuts a chain at multiples of some length (`chainLength`), so a packed document must lie between
// two of them or begin at one. And a product with a single row takes another path, so there are always two rows or more.

import { type Value, withGradient } from '../graph.js';
import { add, div, exp, maximum, mul, neg, stopGradient, sub } from '../ops-elementwise.js';
import { matMul } from '../ops-matmul.js';
import { reduceMax, reduceSum } from '../ops-reduce.js';
import { concat, expand, expandLike, reshape, slice, split, transpose, unsqueeze } from '../ops-shape.js';
import type { Dim } from '../tensor.js';
import type { DecoderConfig } from './config.js';

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

export interface AttentionInput {
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

export interface StepInput {
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
export function attendToPast(input: StepInput, config: DecoderConfig): Value {
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
