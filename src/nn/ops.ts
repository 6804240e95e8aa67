// Rules of shapes: numpy broadcasting over sizes and named (symbolic) sizes, and axis handling.

import { type Dim, type DType, ELEMENT_TYPE, Graph, Value, withGradient } from './graph.js';

/** The broadcast of two shapes, or undefined if they do not fit. A named size meeting a number > 1 is taken to be it. */
export function broadcast(a: readonly Dim[], b: readonly Dim[]): Dim[] | undefined {
  const rank = Math.max(a.length, b.length);
  const out: Dim[] = [];
  for (let i = 0; i < rank; i++) {
    const left = a[i - rank + a.length] ?? 1;
    const right = b[i - rank + b.length] ?? 1;
    const dim = broadcastDim(left, right);
    if (dim === undefined) return undefined;
    out.push(dim);
  }
  return out;
}

function broadcastDim(a: Dim, b: Dim): Dim | undefined {
  if (a === b || b === 1) return a;
  if (a === 1) return b;
  if (typeof a === 'number') return typeof b === 'number' ? undefined : a;
  return typeof b === 'number' ? b : undefined;
}

/** Whether two shapes are the same, size by size. */
export function sameShape(a: readonly Dim[], b: readonly Dim[]): boolean {
  return a.length === b.length && a.every((dim, i) => dim === b[i]);
}

/** Product of sizes, or undefined if one is symbolic. */
export function countOf(shape: readonly Dim[]): number | undefined {
  let count = 1;
  for (const dim of shape) {
    if (typeof dim !== 'number') return undefined;
    count *= dim;
  }
  return count;
}

/** The sum of sizes along one axis, symbolic if any is. */
function sumDims(dims: readonly Dim[]): Dim {
  const symbols = dims.filter((dim) => typeof dim === 'string');
  let constant = 0;
  for (const dim of dims) if (typeof dim === 'number') constant += dim;
  if (symbols.length === 0) return constant;
  return constant === 0 ? symbols.join('+') : `${symbols.join('+')}+${constant}`;
}

/** A tensor of the graph, or a number that becomes a scalar constant of the other operand's type. */
export type Operand = Value | number;

/** The scalar a value is known to hold, if it is a float32 scalar constant. */
export function scalarOf(value: Value): number | undefined {
  const { literal } = value;
  return literal?.dtype === 'float32' && literal.dims.length === 0 ? Number(literal.data[0]) : undefined;
}

/** The inputs of the node that made x, if it is of this operator and differentiated by its own rule; else nothing. */
function madeBy(x: Value, op: string): readonly Value[] {
  const isPlain = x.producer?.op === op && x.customGradient === undefined;
  return isPlain ? (x.producer!.inputs as readonly Value[]) : [];
}

/** The operands as values of one graph; numbers take the type of the first value among them. */
function operands(op: string, ...given: readonly Operand[]): Value[] {
  const first = given.find((operand) => operand instanceof Value);
  if (first === undefined) throw new Graph('none').mismatch(op, 'at least one operand must be a value of a graph', []);
  return given.map((operand) => (operand instanceof Value ? operand : first.graph.literal(first.dtype, [operand], [])));
}

function binary(op: string, left: Operand, right: Operand, resultType?: DType): Value {
  const [a, b] = operands(op, left, right);
  const shape = broadcast(a.shape, b.shape);
  if (shape === undefined) throw a.graph.mismatch(op, 'the shapes do not broadcast', [a, b]);
  if (a.dtype !== b.dtype) throw a.graph.mismatch(op, 'the types differ', [a, b]);
  return a.graph.add(op, [a, b], {}, [{ dtype: resultType ?? a.dtype, shape }])[0];
}

function unary(op: string, x: Value): Value {
  return x.graph.add(op, [x], {}, [{ dtype: x.dtype, shape: x.shape }])[0];
}

export function add(left: Operand, right: Operand): Value {
  const [a, b] = operands('Add', left, right);
  const [s, t] = [scalarOf(a), scalarOf(b)];
  if (s !== undefined && t !== undefined) return a.graph.constant(s + t);
  if (s === 0) return b;
  if (t === 0) return a;
  const [negatedB] = madeBy(b, 'Neg');
  if (negatedB) return sub(a, negatedB);
  const [negatedA] = madeBy(a, 'Neg');
  return negatedA ? sub(b, negatedA) : binary('Add', a, b);
}

export function sub(left: Operand, right: Operand): Value {
  const [a, b] = operands('Sub', left, right);
  const [s, t] = [scalarOf(a), scalarOf(b)];
  if (s !== undefined && t !== undefined) return a.graph.constant(s - t);
  if (t === 0) return a;
  if (s === 0) return neg(b);
  const [negatedB] = madeBy(b, 'Neg');
  return negatedB ? add(a, negatedB) : binary('Sub', a, b);
}

export function mul(left: Operand, right: Operand): Value {
  const [a, b] = operands('Mul', left, right);
  const [s, t] = [scalarOf(a), scalarOf(b)];
  if (s !== undefined && t !== undefined) return a.graph.constant(s * t);
  if (s !== undefined) return scale(b, s);
  if (t !== undefined) return scale(a, t);
  return binary('Mul', a, b);
}

/** `x · factor`, merged with a factor or a sign that x already carries. */
function scale(x: Value, factor: number): Value {
  if (factor === 1) return x;
  if (factor === -1) return neg(x);
  const [negated] = madeBy(x, 'Neg');
  if (negated) return scale(negated, -factor);
  const [scaled, known] = madeBy(x, 'Mul');
  const inner = known && scalarOf(known);
  if (inner !== undefined) return scale(scaled, inner * factor);
  return binary('Mul', x, factor);
}

export function div(left: Operand, right: Operand): Value {
  const [a, b] = operands('Div', left, right);
  const divisor = scalarOf(b);
  return divisor === undefined ? binary('Div', a, b) : mul(a, 1 / divisor);
}

export function neg(x: Value): Value {
  const known = scalarOf(x);
  if (known !== undefined) return x.graph.constant(-known);
  const [negated] = madeBy(x, 'Neg');
  if (negated) return negated;
  const [minuend, subtrahend] = madeBy(x, 'Sub');
  if (minuend) return sub(subtrahend, minuend);
  const [scaled, factor] = madeBy(x, 'Mul');
  return factor && scalarOf(factor) !== undefined ? scale(scaled, -scalarOf(factor)!) : unary('Neg', x);
}

export function square(x: Value): Value {
  return mul(x, x);
}

export const exp = (x: Value): Value => unary('Exp', x);
/** Natural logarithm. */
export const log = (x: Value): Value => unary('Log', x);
export const sqrt = (x: Value): Value => unary('Sqrt', x);
export const abs = (x: Value): Value => unary('Abs', x);
/** -1, 0 or 1 by the sign of x; its gradient is zero. */
export const sign = (x: Value): Value => unary('Sign', x);
export const tanh = (x: Value): Value => unary('Tanh', x);
export const sigmoid = (x: Value): Value => unary('Sigmoid', x);
/** log(1 + exp(x)), stable for large |x|. */
export const softplus = (x: Value): Value => unary('Softplus', x);
export const relu = (x: Value): Value => unary('Relu', x);

/** x · sigmoid(x), also called SiLU. */
export function swish(x: Value): Value {
  const s = sigmoid(x);
  const y = mul(x, s);
  // From the outputs: dy/dx = s + y (1 - s) = y + s (1 - y), four nodes with the cotangent.
  return withGradient(y, [x], (g) => [mul(g, add(y, mul(s, sub(1, y))))]);
}

/** The smaller of two; where they are equal the gradient goes to `left`. */
export const minimum = (left: Operand, right: Operand): Value => binary('Min', left, right);
/** The larger of two; where they are equal the gradient goes to `left`. */
export const maximum = (left: Operand, right: Operand): Value => binary('Max', left, right);

/** x limited to [min, max]; the gradient is zero outside and one inside and on the borders. */
export function clip(x: Value, min: number, max: number): Value {
  const bounds = [min, max].map((bound) => x.graph.literal(x.dtype, [bound], []));
  return x.graph.add('Clip', [x, ...bounds], {}, [{ dtype: x.dtype, shape: x.shape }])[0];
}

/** `condition ? a : b`, element by element. */
export function where(condition: Value, left: Operand, right: Operand): Value {
  const [a, b] =
    left instanceof Value || right instanceof Value
      ? operands('Where', left, right)
      : [left, right].map((number) => condition.graph.constant(number as number));
  const branches = broadcast(a.shape, b.shape);
  const shape = branches && broadcast(condition.shape, branches);
  if (shape === undefined) throw a.graph.mismatch('Where', 'the shapes do not broadcast', [condition, a, b]);
  if (a.dtype !== b.dtype || condition.dtype !== 'bool') {
    throw a.graph.mismatch('Where', 'it takes a bool and two values of one type', [condition, a, b]);
  }
  return a.graph.add('Where', [condition, a, b], {}, [{ dtype: a.dtype, shape }])[0];
}

export const greater = (left: Operand, right: Operand): Value => binary('Greater', left, right, 'bool');
export const less = (left: Operand, right: Operand): Value => binary('Less', left, right, 'bool');
export const equal = (left: Operand, right: Operand): Value => binary('Equal', left, right, 'bool');
export const and = (a: Value, b: Value): Value => binary('And', a, b);
export const or = (a: Value, b: Value): Value => binary('Or', a, b);
export const not = (x: Value): Value => unary('Not', x);

/** x in another element type; no gradient flows through integers or bools. */
export function cast(x: Value, dtype: DType): Value {
  if (x.dtype === dtype) return x;
  return x.graph.add('Cast', [x], { to: ELEMENT_TYPE[dtype] }, [{ dtype, shape: x.shape }])[0];
}

/** x itself, through which no gradient flows. */
export function stopGradient(x: Value): Value {
  return unary('Identity', x);
}

function requireIndices(op: string, indices: Value): void {
  if (indices.dtype !== 'int32' && indices.dtype !== 'int64') {
    throw indices.graph.mismatch(op, 'indices must be int32 or int64', [indices]);
  }
}

/** Slices of x along `axis` at the given indices (any shape, which takes the place of the axis). */
export function gather(x: Value, indices: Value, axis = 0): Value {
  requireIndices('Gather', indices);
  const at = axisOf('Gather', x, axis);
  const shape = [...x.shape.slice(0, at), ...indices.shape, ...x.shape.slice(at + 1)];
  return x.graph.add('Gather', [x, indices], { axis: at }, [{ dtype: x.dtype, shape }])[0];
}

/** Elements of x along `axis`, one index per element: out[i, j] = x[i, indices[i, j]] for axis 1. */
export function takeAlongAxis(x: Value, indices: Value, axis = -1): Value {
  requireIndices('GatherElements', indices);
  const at = axisOf('GatherElements', x, axis);
  if (indices.shape.length !== x.shape.length) {
    throw x.graph.mismatch('GatherElements', 'the indices have another rank', [x, indices]);
  }
  return x.graph.add('GatherElements', [x, indices], { axis: at }, [{ dtype: x.dtype, shape: indices.shape }])[0];
}

/** float32 [..., n] with a one at each index and zeros elsewhere; negative indices count from n. */
export function oneHot(indices: Value, n: number): Value {
  requireIndices('OneHot', indices);
  const { graph } = indices;
  const inputs = [indices, graph.literal(indices.dtype, [n], [1]), graph.constant([0, 1])];
  return graph.add('OneHot', inputs, { axis: -1 }, [{ dtype: 'float32', shape: [...indices.shape, n] }])[0];
}

/** `base` with `updates` added at `indices` along `axis`, in order, so that repeated indices all count. */
export function scatterAdd(base: Value, indices: Value, updates: Value, axis: number): Value {
  const at = axisOf('ScatterElements', base, axis);
  const attributes = { axis: at, reduction: 'add' };
  return base.graph.add('ScatterElements', [base, indices, updates], attributes, [base])[0];
}

/**
 * `base` with rows of `updates` [n, ...] added at `indices` [n] of its first axis, in order: `scatterAdd` of whole rows, in a thirtieth of
 * its time. Only on one thread: on several, ONNX Runtime's ScatterND loses some of what is added to one row.
 */
export function scatterAddRows(base: Value, indices: Value, updates: Value): Value {
  const places = unsqueeze(cast(indices, 'int64'), [1]);
  const sums = base.graph.add('ScatterND', [base, places, updates], { reduction: 'add' }, [base])[0];
  return withGradient(sums, [base, updates], (g) => [g, gather(g, indices, 0)]);
}

/** Indices of shape [n] laid along `axis` of a tensor of the given rank: [1, .., n, .., 1]. */
export function alongAxis(indices: Value, axis: number, rank: number): Value {
  return reshape(indices, [...Array(axis).fill(1), indices.shape[0], ...Array(rank - axis - 1).fill(1)]);
}

/** a · b of matrices [m, k] and [k, n]; leading batch axes broadcast. */
export function matMul(a: Value, b: Value): Value {
  const [m, k] = a.shape.slice(-2);
  const [k2, n] = b.shape.slice(-2);
  const batch = broadcast(a.shape.slice(0, -2), b.shape.slice(0, -2));
  if (a.shape.length < 2 || b.shape.length < 2 || k !== k2 || batch === undefined) {
    throw a.graph.mismatch('MatMul', 'the shapes do not multiply', [a, b]);
  }
  return a.graph.add('MatMul', [a, b], {}, [{ dtype: a.dtype, shape: [...batch, m, n] }])[0];
}

/** op(a) · op(b) of 2-D matrices, each transposed if told so, plus an optional addend that broadcasts. */
export function gemm(a: Value, b: Value, { transA = false, transB = false, c }: GemmOptions = {}): Value {
  const [m, k] = transA ? [a.shape[1], a.shape[0]] : a.shape;
  const [k2, n] = transB ? [b.shape[1], b.shape[0]] : b.shape;
  if (a.shape.length !== 2 || b.shape.length !== 2 || k !== k2)
    throw a.graph.mismatch('Gemm', 'the shapes do not multiply', [a, b]);
  const inputs = c === undefined ? [a, b] : [a, b, c];
  const attributes = { transA: Number(transA), transB: Number(transB) };
  return a.graph.add('Gemm', inputs, attributes, [{ dtype: a.dtype, shape: [m, n] }])[0];
}

interface GemmOptions {
  readonly transA?: boolean;
  readonly transB?: boolean;
  readonly c?: Value;
}

/** x · w + b: x [rows, in], w [in, out], b [out]; or a member each: x [E, rows, in], w [E, in, out], b [E, 1, out]. */
export function linear(x: Value, w: Value, b: Value): Value {
  if (x.shape.length === 2 && w.shape.length === 2 && b.shape.length <= 2) return gemm(x, w, { c: b });
  return add(matMul(x, w), b);
}

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

/** The axis counted from the front; throws if the value has no such axis. */
function axisOf(op: string, x: Value, axis: number, rank = x.shape.length): number {
  const fromFront = axis < 0 ? axis + rank : axis;
  if (Number.isInteger(axis) && fromFront >= 0 && fromFront < rank) return fromFront;
  throw x.graph.mismatch(op, `there is no axis ${axis}`, [x]);
}

function int64s(x: Value, values: readonly number[]): Value {
  return x.graph.literal('int64', values);
}

/** x with its axes in the order `perm`; without it, reversed. */
export function transpose(x: Value, perm?: readonly number[]): Value {
  const rank = x.shape.length;
  const order = (perm ?? [...x.shape.keys()].reverse()).map((axis) => axisOf('Transpose', x, axis));
  if (new Set(order).size !== rank || order.length !== rank) {
    throw x.graph.mismatch('Transpose', `[${order}] is no permutation of its axes`, [x]);
  }
  if (order.every((axis, i) => axis === i)) return x;
  return x.graph.add('Transpose', [x], { perm: order }, [
    { dtype: x.dtype, shape: order.map((axis) => x.shape[axis]) },
  ])[0];
}

/** x with its last two axes swapped. */
export function swapLast(x: Value): Value {
  const rank = x.shape.length;
  return transpose(x, [...Array(rank - 2).keys(), rank - 1, rank - 2]);
}

/** x in another shape of as many elements; one size may be -1, and at most one named size may move. */
export function reshape(x: Value, shape: readonly Dim[]): Value {
  const target = resolveShape(x, shape);
  if (sameShape(target, x.shape)) return x;
  const moved = target.map((dim, i) => (typeof dim === 'number' ? dim : dim === x.shape[i] ? 0 : -1));
  if (moved.filter((dim) => dim === -1).length > 1) {
    throw x.graph.mismatch('Reshape', `[${shape}] has more than one size to be found when the graph runs`, [x]);
  }
  // A size of zero would mean "copy from the input", and no tensor here is empty by declaration.
  return x.graph.add('Reshape', [x, int64s(x, moved)], {}, [{ dtype: x.dtype, shape: target }])[0];
}

function resolveShape(x: Value, shape: readonly Dim[]): Dim[] {
  const names = x.shape.filter((dim) => typeof dim === 'string');
  const remaining = [...names];
  for (const dim of shape)
    if (typeof dim === 'string') remaining.splice(remaining.indexOf(dim), remaining.includes(dim) ? 1 : 0);
  const total = countOf(x.shape.filter((dim) => typeof dim === 'number'))!;
  const known = countOf(shape.filter((dim) => typeof dim === 'number' && dim !== -1))!;
  const open = shape.indexOf(-1);
  const unnamed = shape.find((dim) => typeof dim === 'string' && !names.includes(dim));
  const isExact = remaining.length === 0 && unnamed === undefined;
  if (open < 0) {
    if (isExact && known !== total)
      throw x.graph.mismatch('Reshape', `[${shape}] holds another number of elements`, [x]);
    return [...shape];
  }
  const size: Dim = remaining.length > 0 || unnamed !== undefined ? `reshaped(${x.name})` : total / known;
  if (typeof size === 'number' && !Number.isInteger(size)) {
    throw x.graph.mismatch('Reshape', `[${shape}] does not divide its elements`, [x]);
  }
  const flat = remaining.length === 1 && known === total ? remaining[0] : size;
  return shape.map((dim, i) => (i === open ? flat : dim));
}

/** x broadcast to `shape`; a named size must already be an axis of x. */
export function expand(x: Value, shape: readonly Dim[]): Value {
  if (sameShape(x.shape, shape)) return x;
  const result = broadcast(x.shape, shape);
  if (result === undefined || !sameShape(result, shape)) {
    throw x.graph.mismatch('Expand', `its shape does not broadcast to [${shape}]`, [x]);
  }
  const lead = shape.length - x.shape.length;
  const sizes = shape.map((dim, i) => (typeof dim === 'number' ? dim : x.shape[i - lead] === dim ? 1 : -1));
  if (sizes.includes(-1))
    throw x.graph.mismatch('Expand', `[${shape}] names a size that x does not have; use expandLike`, [x]);
  return x.graph.add('Expand', [x, int64s(x, sizes)], {}, [{ dtype: x.dtype, shape }])[0];
}

/** x broadcast to the shape another value has when the graph runs. */
export function expandLike(x: Value, like: Value): Value {
  if (sameShape(x.shape, like.shape)) return x;
  if (like.shape.every((dim) => typeof dim === 'number')) return expand(x, like.shape);
  const shape = x.graph.add('Shape', [like], {}, [{ dtype: 'int64', shape: [like.shape.length] }])[0];
  return x.graph.add('Expand', [x, shape], {}, [{ dtype: x.dtype, shape: like.shape }])[0];
}

/** Values joined along one axis; their other sizes agree. */
export function concat(values: readonly Value[], axis: number): Value {
  const [first] = values;
  const at = axisOf('Concat', first, axis);
  for (const value of values) {
    const agrees = value.shape.every((dim, i) => i === at || dim === first.shape[i]);
    if (!agrees || value.shape.length !== first.shape.length || value.dtype !== first.dtype) {
      throw first.graph.mismatch('Concat', `the values differ in type, rank or a size beside axis ${at}`, values);
    }
  }
  if (values.length === 1) return first;
  const size = sumDims(values.map((value) => value.shape[at]));
  const shape = first.shape.map((dim, i) => (i === at ? size : dim));
  return first.graph.add('Concat', values, { axis: at }, [{ dtype: first.dtype, shape }])[0];
}

/**
 * Rows `start` (inclusive) to `end` (exclusive) of one axis of known size; negative numbers count from its end.
 * To cut a tensor into pieces that are all used, `split` is leaner: its gradient is one Concat.
 */
export function slice(x: Value, axis: number, start: number, end: number): Value {
  const at = axisOf('Slice', x, axis);
  const size = x.shape[at];
  if (typeof size !== 'number') throw x.graph.mismatch('Slice', `the size of axis ${at} is not a number`, [x]);
  const from = start < 0 ? start + size : start;
  const to = end < 0 ? end + size : end;
  if (!(from >= 0 && from < to && to <= size))
    throw x.graph.mismatch('Slice', `there is no range ${start}..${end}`, [x]);
  if (from === 0 && to === size) return x;
  const shape = x.shape.map((dim, i) => (i === at ? to - from : dim));
  const bounds = [[from], [to], [at]].map((list) => int64s(x, list));
  return x.graph.add('Slice', [x, ...bounds], {}, [{ dtype: x.dtype, shape }])[0];
}

/** x cut along one axis into pieces of the given sizes, which together make up the axis. */
export function split(x: Value, axis: number, sizes: readonly number[]): Value[] {
  const at = axisOf('Split', x, axis);
  if (sizes.reduce((sum, size) => sum + size, 0) !== x.shape[at]) {
    throw x.graph.mismatch('Split', `sizes [${sizes}] do not make up axis ${at}`, [x]);
  }
  if (sizes.length === 1) return [x];
  const pieces = sizes.map((size) => ({ dtype: x.dtype, shape: x.shape.map((dim, i) => (i === at ? size : dim)) }));
  return [...x.graph.add('Split', [x, int64s(x, sizes)], { axis: at }, pieces)];
}

/** x without the given axes of size one; without `axes`, without any of them. */
export function squeeze(x: Value, axes?: readonly number[]): Value {
  const gone = (axes ?? x.shape.flatMap((dim, i) => (dim === 1 ? [i] : []))).map((axis) => axisOf('Squeeze', x, axis));
  if (gone.some((axis) => x.shape[axis] !== 1))
    throw x.graph.mismatch('Squeeze', `axes [${gone}] are not all of size 1`, [x]);
  if (gone.length === 0) return x;
  const shape = x.shape.filter((_, i) => !gone.includes(i));
  return x.graph.add('Squeeze', [x, int64s(x, gone)], {}, [{ dtype: x.dtype, shape }])[0];
}

/** x with new axes of size one, placed so that they have the given positions in the result. */
export function unsqueeze(x: Value, axes: readonly number[]): Value {
  if (axes.length === 0) return x;
  const rank = x.shape.length + axes.length;
  const added = axes.map((axis) => axisOf('Unsqueeze', x, axis, rank)).sort((a, b) => a - b);
  const shape: Dim[] = [...x.shape];
  for (const axis of added) shape.splice(axis, 0, 1);
  return x.graph.add('Unsqueeze', [x, int64s(x, added)], {}, [{ dtype: x.dtype, shape }])[0];
}
