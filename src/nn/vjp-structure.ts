// Gradient rules of operators that rearrange, pick, fold or multiply matrices.

import type { Node, Value } from './graph.js';
import { cast, div, equal, mul } from './ops-elementwise.js';
import { alongAxis, scatterAdd } from './ops-index.js';
import { gemm, matMul } from './ops-matmul.js';
import { reducedAxes, reduceSum } from './ops-reduce.js';
import { concat, expand, expandLike, reshape, split, squeeze, swapLast, transpose, unsqueeze } from './ops-shape.js';
import { countOf } from './shape.js';
import { full, type MultiRule, type Rule, unbroadcast } from './vjp.js';

const isScalar = (value: Value) => value.shape.length === 0;

/** A rule that needs every element of the cotangent, unless the cotangent is one number for all. */
function onElements(rule: (g: Value, x: Value, node: Node, inputs: readonly Value[]) => Value): Rule {
  return (g, y, inputs, node) => [isScalar(g) ? g : rule(full(g, y), inputs[0], node, inputs)];
}

/** The cotangent of a reduction with its folded axes put back as axes of size one. */
function unfolded(g: Value, y: Value, x: Value, node: Node): Value {
  if (isScalar(g) || node.attributes.keepdims === 1) return g;
  const missing = y.shape.length - g.shape.length;
  return unsqueeze(unsqueeze(g, [...Array(missing).keys()]), reducedAxes(x, node));
}

const reduceMeanRule: Rule = (g, y, [x], node) => {
  const count = countOf(reducedAxes(x, node).map((axis) => x.shape[axis]));
  if (count === undefined) throw x.graph.mismatch('ReduceMean', 'only axes of known size can be differentiated', [x]);
  return [mul(unfolded(g, y, x, node), 1 / count)];
};

const reduceMaxRule: Rule = (g, y, [x], node) => {
  const axes = reducedAxes(x, node);
  const peak = node.attributes.keepdims === 1 ? y : unsqueeze(y, axes);
  const mask = cast(equal(x, peak), 'float32');
  return [mul(unfolded(g, y, x, node), div(mask, reduceSum(mask, axes, true)))];
};

const sliceGradient = (g: Value, x: Value, node: Node): Value => {
  const [start, end, axis] = node.inputs.slice(1).map((bound) => Number(bound!.literal!.data[0]));
  const before = x.shape.map((_, i) => (i === axis ? start : 0));
  const after = x.shape.map((size, i) => (i === axis ? (size as number) - end : 0));
  return g.graph.add('Pad', [g, g.graph.literal('int64', [...before, ...after])], {}, [x])[0];
};

const gatherRule: Rule = (g, y, [x, indices], node) => {
  const axis = node.attributes.axis as number;
  const count = countOf(indices.shape);
  const sizes = [...x.shape.slice(0, axis), count ?? -1, ...x.shape.slice(axis + 1)];
  const updates = reshape(full(g, y), sizes);
  const places = alongAxis(reshape(indices, [count ?? -1]), axis, x.shape.length);
  const zeros = expandLike(g.graph.constant(0), x);
  return [scatterAdd(zeros, expandLike(places, updates), updates, axis), undefined];
};

const concatRule: Rule = (g, y, inputs, node) => {
  const axis = node.attributes.axis as number;
  const own = axis - y.shape.length + g.shape.length;
  if (own < 0 || g.shape[own] === 1) return inputs.map(() => g);
  const sizes = inputs.map((input) => input.shape[axis]);
  if (sizes.some((size) => typeof size !== 'number')) {
    throw y.graph.mismatch('Concat', 'only axes of known size can be differentiated', inputs);
  }
  return split(full(g, y), axis, sizes as number[]);
};

const matMulRule: Rule = (grad, y, [a, b]) => {
  const g = full(grad, y);
  const da = matMul(g, swapLast(b));
  const db = matMul(swapLast(a), g);
  return [unbroadcast(da, da, a), unbroadcast(db, db, b)];
};

/** Sums [n] of the columns of g [rows, n]; a product with ones takes a fifth of ReduceSum's time here. */
function columnSums(g: Value): Value {
  const [rows, n] = g.shape;
  if (typeof rows !== 'number') return reduceSum(g, [0]);
  return reshape(gemm(expand(g.graph.constant(1), [1, rows]), g), [n]);
}

const gemmRule: Rule = (grad, y, [a, b, c], { attributes }) => {
  const g = full(grad, y);
  const transA = attributes.transA === 1;
  const transB = attributes.transB === 1;
  return [
    transA ? gemm(b, g, { transA: transB, transB: true }) : gemm(g, b, { transB: !transB }),
    transB ? gemm(g, a, { transA: true, transB: transA }) : gemm(a, g, { transA: !transA }),
    c && (c.shape.length === 1 ? columnSums(g) : unbroadcast(g, y, c)),
  ];
};

export const STRUCTURE_RULES: Readonly<Record<string, Rule>> = {
  ReduceSum: (g, y, [x], node) => [unfolded(g, y, x, node)],
  ReduceMean: reduceMeanRule,
  ReduceMax: reduceMaxRule,
  Transpose: onElements((g, _, node) => {
    const perm = node.attributes.perm as readonly number[];
    return transpose(
      g,
      perm.map((_axis, i) => perm.indexOf(i)),
    );
  }),
  Reshape: onElements((g, x) => reshape(g, x.shape)),
  Squeeze: onElements((g, _, node) => unsqueeze(g, Array.from(node.inputs[1]!.literal!.data, Number))),
  Unsqueeze: onElements((g, _, node) => squeeze(g, Array.from(node.inputs[1]!.literal!.data, Number))),
  Expand: (g, y, [x]) => [unbroadcast(g, y, x)],
  Slice: (g, y, [x], node) => [sliceGradient(full(g, y), x, node)],
  Pad: () => [undefined],
  Concat: concatRule,
  Gather: gatherRule,
  GatherElements: (g, y, [x, indices], node) => [
    scatterAdd(expandLike(g.graph.constant(0), x), indices, full(g, y), node.attributes.axis as number),
    undefined,
  ],
  MatMul: matMulRule,
  Gemm: gemmRule,
};

const splitRule: MultiRule = (node, cotangents) => {
  const pieces = node.outputs.map((piece, i) => full(cotangents[i] ?? piece.graph.constant(0), piece));
  return [concat(pieces, node.attributes.axis as number)];
};

export const MULTI_OUTPUT_RULES: Readonly<Record<string, MultiRule>> = { Split: splitRule };
