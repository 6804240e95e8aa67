// Operators that pick elements by index. Indices are int32 or int64 values.

import { type Value, withGradient } from './graph.js';
import { cast } from './ops-elementwise.js';
import { axisOf, reshape, unsqueeze } from './ops-shape.js';

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
