// Operators that fold axes: sums, means, maxima, and the softmax family.

import { type Value, withGradient } from './graph.js';
import { exp, mul, sub } from './ops-elementwise.js';
import { axisOf } from './ops-shape.js';
import { countOf } from './shape.js';

type Reduction = 'ReduceSum' | 'ReduceMean' | 'ReduceMax';

function reduce(op: Reduction, x: Value, axes: readonly number[] | undefined, keepDims: boolean): Value {
  const folded = (axes ?? [...x.shape.keys()]).map((axis) => axisOf(op, x, axis)).sort((a, b) => a - b);
  if (folded.length === 0) return x;
  const shape = keepDims
    ? x.shape.map((dim, i) => (folded.includes(i) ? 1 : dim))
    : x.shape.filter((_, i) => !folded.includes(i));
  const type = [{ dtype: x.dtype, shape }];
  const keepdims = Number(keepDims);
  // At opset 17 only the sum takes its axes as an input.
  if (op === 'ReduceSum') return x.graph.add(op, [x, x.graph.literal('int64', folded)], { keepdims }, type)[0];
  return x.graph.add(op, [x], { axes: folded, keepdims }, type)[0];
}

/** Sum over `axes`, without them over all. */
export const reduceSum = (x: Value, axes?: readonly number[], keepDims = false): Value =>
  reduce('ReduceSum', x, axes, keepDims);

/** Mean over `axes`, without them over all. */
export const reduceMean = (x: Value, axes?: readonly number[], keepDims = false): Value =>
  reduce('ReduceMean', x, axes, keepDims);

/** Maximum over `axes`, without them over all; equal maxima share the gradient. */
export const reduceMax = (x: Value, axes?: readonly number[], keepDims = false): Value =>
  reduce('ReduceMax', x, axes, keepDims);

/** The axes a reduction node folds. */
export function reducedAxes(x: Value, y: { inputs: readonly (Value | undefined)[]; attributes: object }): number[] {
  const { axes } = y.attributes as { axes?: readonly number[] };
  return axes ? [...axes] : Array.from(y.inputs[1]?.literal?.data ?? x.shape.keys(), Number);
}

/** log(softmax(x)) along one axis. */
export function logSoftmax(x: Value, axis = -1): Value {
  const at = axisOf('LogSoftmax', x, axis);
  const y = x.graph.add('LogSoftmax', [x], { axis: at }, [x])[0];
  return withGradient(y, [x], (g) => [sub(g, mul(exp(y), sumOver(g, y, at)))]);
}

/** exp(x) / sum(exp(x)) along one axis. */
export function softmax(x: Value, axis = -1): Value {
  const at = axisOf('Softmax', x, axis);
  const y = x.graph.add('Softmax', [x], { axis: at }, [x])[0];
  return withGradient(y, [x], (g) => [mul(y, sub(g, reduceSum(mul(g, y), [at], true)))]);
}

/**
 * x · scale / sqrt(mean(x²) + epsilon) along the last axis (Zhang and Sennrich 2019), as ONNX Runtime's own operator: unlike
 * `reduceSum`, it gives a row the same bytes wherever the row lies in memory. Graphs with it are for this runtime alone.
 * @param scale [n], n the size of the last axis
 */
export function rmsNorm(x: Value, scale: Value, epsilon: number): Value {
  const last = x.shape.length - 1;
  const size = x.shape[last];
  if (typeof size !== 'number' || scale.shape.length !== 1 || scale.shape[0] !== size) {
    throw x.graph.mismatch('rmsNorm', 'the scale must have as many elements as the last axis', [x, scale]);
  }
  const attributes = { axis: last, epsilon: { float: epsilon }, stash_type: 1 };
  const types = [x, { dtype: x.dtype, shape: [...x.shape.slice(0, last), 1] }];
  const [y, inverse] = x.graph.add('SimplifiedLayerNormalization', [x, scale], attributes, types);
  return withGradient(y, [x, scale], (g) => {
    const normal = mul(x, inverse);
    const scaled = mul(g, scale);
    const along = mul(reduceSum(mul(scaled, normal), [last], true), 1 / size);
    const dScale = reduceSum(mul(g, normal), [...x.shape.keys()].slice(0, last));
    return [mul(inverse, sub(scaled, mul(normal, along))), dScale];
  });
}

/** Sum of a cotangent of y along one axis; a cotangent constant along it was never spread out. */
function sumOver(g: Value, y: Value, axis: number): Value {
  const at = axis - y.shape.length + g.shape.length;
  if (at >= 0 && g.shape[at] === y.shape[axis]) return reduceSum(g, [at], true);
  const size = countOf([y.shape[axis]]);
  if (size === undefined)
    throw y.graph.mismatch('LogSoftmax', 'the size of its axis must be a number to be differentiated', [y]);
  return mul(g, size);
}
