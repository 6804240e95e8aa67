// Reverse-mode differentiation: walks a graph backwards from a scalar and adds the nodes of its gradients.
// Unused gradients cost nothing: nodes that lead to no output are left out when the model is written.

import type { Node, Value } from './graph.js';
import {
  add,
  alongAxis,
  cast,
  concat,
  countOf,
  div,
  equal,
  expand,
  expandLike,
  gemm,
  greater,
  less,
  matMul,
  mul,
  neg,
  reducedAxes,
  reduceSum,
  reshape,
  scatterAdd,
  scatterAddRows,
  sigmoid,
  sign,
  split,
  square,
  squeeze,
  sub,
  swapLast,
  transpose,
  unsqueeze,
  where,
} from './ops.js';

// Gradient rules of operators that rearrange, pick, fold or multiply matrices.

const isScalar = (value: Value) => value.shape.length === 0;

/** A rule that needs every element of the cotangent, unless the cotangent is one number for all. */
function onElements(rule: (g: Value, x: Value, node: Node, inputs: readonly Value[]) => Value): Rule {
  return (g, y, inputs, node) => [isScalar(g) ? g : rule(expandLike(g, y), inputs[0], node, inputs)];
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
  const updates = reshape(expandLike(g, y), sizes);
  const flat = reshape(indices, [count ?? -1]);
  const zeros = expandLike(g.graph.constant(0), x);
  if (axis === 0) return [scatterAddRows(zeros, flat, updates), undefined];
  const places = alongAxis(flat, axis, x.shape.length);
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
  return split(expandLike(g, y), axis, sizes as number[]);
};

const matMulRule: Rule = (grad, y, [a, b]) => {
  const g = expandLike(grad, y);
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
  const g = expandLike(grad, y);
  const transA = attributes.transA === 1;
  const transB = attributes.transB === 1;
  return [
    transA ? gemm(b, g, { transA: transB, transB: true }) : gemm(g, b, { transB: !transB }),
    transB ? gemm(g, a, { transA: true, transB: transA }) : gemm(a, g, { transA: !transA }),
    c && (c.shape.length === 1 ? columnSums(g) : unbroadcast(g, y, c)),
  ];
};

const STRUCTURE_RULES: Readonly<Record<string, Rule>> = {
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
  Slice: (g, y, [x], node) => [sliceGradient(expandLike(g, y), x, node)],
  Pad: () => [undefined],
  Concat: concatRule,
  Gather: gatherRule,
  GatherElements: (g, y, [x, indices], node) => [
    scatterAdd(expandLike(g.graph.constant(0), x), indices, expandLike(g, y), node.attributes.axis as number),
    undefined,
  ],
  MatMul: matMulRule,
  Gemm: gemmRule,
};

const MULTI_OUTPUT_RULES: Readonly<Record<string, MultiRule>> = {
  Split: (node, cotangents) => {
    const pieces = node.outputs.map((piece, i) => expandLike(cotangents[i] ?? piece.graph.constant(0), piece));
    return [concat(pieces, node.attributes.axis as number)];
  },
};

// Gradient rules of element-wise operators, written from outputs where that takes fewer nodes.

/** For y = a ∘ b: the two cotangents, each folded back to its operand's shape. */
function pair(y: Value, [a, b]: readonly Value[], da: Value, db: Value): readonly Value[] {
  return [unbroadcast(da, y, a), unbroadcast(db, y, b)];
}

/** The cotangent goes to the first operand where `toSecond` is false, else to the second. */
function choose(g: Value, y: Value, inputs: readonly Value[], toSecond: Value): readonly Value[] {
  return pair(y, inputs, where(toSecond, 0, g), where(toSecond, g, 0));
}

const ELEMENTWISE_RULES: Readonly<Record<string, Rule>> = {
  Add: (g, y, inputs) => pair(y, inputs, g, g),
  Sub: (g, y, inputs) => pair(y, inputs, g, neg(g)),
  Mul: (g, y, inputs) => {
    const [a, b] = inputs;
    if (a === b) return [mul(mul(g, 2), a)];
    return pair(y, inputs, mul(g, b), mul(g, a));
  },
  Div: (g, y, inputs) => {
    const da = div(g, inputs[1]);
    return pair(y, inputs, da, neg(mul(da, y)));
  },
  Min: (g, y, inputs) => choose(g, y, inputs, less(inputs[1], inputs[0])),
  Max: (g, y, inputs) => choose(g, y, inputs, less(inputs[0], inputs[1])),
  Where: (g, y, [condition, a, b]) => [
    undefined,
    unbroadcast(where(condition, g, 0), y, a),
    unbroadcast(where(condition, 0, g), y, b),
  ],
  Neg: (g) => [neg(g)],
  Exp: (g, y) => [mul(g, y)],
  Log: (g, _, [x]) => [div(g, x)],
  Sqrt: (g, y) => [div(mul(g, 0.5), y)],
  Abs: (g, _, [x]) => [mul(g, sign(x))],
  Tanh: (g, y) => [mul(g, sub(1, square(y)))],
  Sigmoid: (g, y) => [mul(g, mul(y, sub(1, y)))],
  Softplus: (g, _, [x]) => [mul(g, sigmoid(x))],
  // Cast and product vectorise; Where takes 1.3 times and the Sign operator 4 times as long.
  Relu: (g, y) => [mul(g, cast(greater(y, 0), 'float32'))],
  Clip: (g, y, [x]) => [where(equal(x, y), g, 0)],
  Identity: () => [undefined],
  Sign: () => [undefined],
  Cast: () => [undefined],
  OneHot: () => [undefined],
};

const RULES: Readonly<Record<string, Rule>> = { ...ELEMENTWISE_RULES, ...STRUCTURE_RULES };

/** The operators that have a gradient rule. */
export const DIFFERENTIABLE_OPS: readonly string[] = [...Object.keys(RULES), ...Object.keys(MULTI_OUTPUT_RULES)];

/**
 * Gradients of a scalar with respect to values of the same graph, each of its value's shape; zeros where it does not depend on one.
 * @throws DATA_MISMATCH if the loss is no float32 scalar or a node on the way has no gradient rule
 */
export function gradients(loss: Value, wrt: readonly Value[]): Value[] {
  if (loss.shape.some((size) => size !== 1) || loss.dtype !== 'float32') {
    throw loss.graph.mismatch('gradients', 'the loss must be a float32 scalar', [loss]);
  }
  const { graph } = loss;
  const forward = graph.nodes.slice();
  const needed = dependents(forward, wrt);
  const cotangents = new Map<Value, Value>([[loss, graph.constant(1)]]);
  for (let i = forward.length - 1; i >= 0; i--) propagate(forward[i], needed, cotangents);
  return wrt.map((value) => expandLike(cotangents.get(value) ?? graph.constant(0), value));
}

/** The values that depend on one of `wrt`, those included. */
function dependents(nodes: readonly Node[], wrt: readonly Value[]): ReadonlySet<Value> {
  const needed = new Set<Value>(wrt);
  for (const { inputs, outputs } of nodes) {
    if (!inputs.some((input) => input !== undefined && needed.has(input))) continue;
    for (const output of outputs) if (output.dtype === 'float32') needed.add(output);
  }
  return needed;
}

function propagate(node: Node, needed: ReadonlySet<Value>, cotangents: Map<Value, Value>): void {
  const arriving = node.outputs.map((output) => cotangents.get(output));
  if (arriving.every((g) => g === undefined) || !node.outputs.some((output) => needed.has(output))) return;
  const custom = node.outputs[0].customGradient;
  const targets = custom?.inputs ?? node.inputs;
  const given = custom === undefined ? applyRule(node, arriving) : custom.rule(arriving[0]!);
  targets.forEach((target, i) => {
    const g = given[i];
    if (target !== undefined && g !== undefined && needed.has(target)) {
      const before = cotangents.get(target);
      cotangents.set(target, before === undefined ? g : add(before, g));
    }
  });
}

function applyRule(node: Node, arriving: readonly (Value | undefined)[]): readonly (Value | undefined)[] {
  const multi = MULTI_OUTPUT_RULES[node.op];
  if (multi !== undefined) return multi(node, arriving);
  const [y] = node.outputs;
  const rule = RULES[node.op];
  if (rule === undefined) throw y.graph.mismatch(node.op, 'it has no gradient rule', node.inputs);
  return rule(arriving[0]!, y, node.inputs as readonly Value[], node);
}

// What a gradient rule is, and how a cotangent fits the value it belongs to.
// Cotangents stay unbroadcast as long as they can: one may have any shape that broadcasts to its value's,
// so the gradient of a mean is a scalar until something needs every element.

/** Cotangents of a node's outputs (undefined where nothing depends on one) to cotangents of its inputs. */
type MultiRule = (node: Node, cotangents: readonly (Value | undefined)[]) => readonly (Value | undefined)[];

/** The same for a node with one output y: `rule(g, y, inputs, node)`. */
type Rule = (g: Value, y: Value, inputs: readonly Value[], node: Node) => readonly (Value | undefined)[];

/** The cotangent of `x`, which was broadcast to the shape of `y`, from a cotangent of `y`: summed over the copies. */
function unbroadcast(g: Value, y: Value, x: Value): Value {
  const rank = y.shape.length;
  const lead = rank - x.shape.length;
  const summed: number[] = [];
  let copies = 1;
  for (let axis = 0; axis < rank; axis++) {
    const size = y.shape[axis];
    if (size === 1 || (axis >= lead && x.shape[axis - lead] !== 1)) continue;
    const own = axis - rank + g.shape.length;
    if (own >= 0 && g.shape[own] !== 1) summed.push(own);
    else if (typeof size === 'number') copies *= size;
    else return unbroadcast(expandLike(g, y), y, x);
  }
  const scaled = mul(g, copies);
  const extra = Math.max(0, g.shape.length - x.shape.length);
  const leading = [...Array(extra).keys()];
  if (summed.every((axis) => axis < extra)) return extra === 0 ? scaled : reduceSum(scaled, leading);
  return squeeze(reduceSum(scaled, summed, true), leading);
}
