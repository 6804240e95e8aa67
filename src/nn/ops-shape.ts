// Operators that rearrange elements: reshape, transpose, expand, concat, slice, split, squeeze, unsqueeze.

import type { Value } from './graph.js';
import { broadcast, countOf, isStatic, normalAxis, sameShape, sumDims } from './shape.js';
import type { Dim } from './tensor.js';

/** The axis counted from the front; throws if the value has no such axis. */
export function axisOf(op: string, x: Value, axis: number, rank = x.shape.length): number {
  const fromFront = normalAxis(axis, rank);
  if (fromFront === undefined) throw x.graph.mismatch(op, `there is no axis ${axis}`, [x]);
  return fromFront;
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
  if (isStatic(like.shape)) return expand(x, like.shape);
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
