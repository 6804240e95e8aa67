// The reference interpreter: evaluates a graph node by node in float64. Slow on purpose; it defines what a graph means.

import { reverieError } from '../../src/core/errors.js';
import type { Graph, Node, Tensor, Value } from '../../src/nn/graph.js';

type Bindings = Map<string, RefArray>;

/**
 * The outputs of a graph, computed in float64; trainers' Loop graphs included.
 * @param feeds one tensor or float64 array for each input
 * @throws DATA_MISMATCH for a missing input
 */
export function evaluateReference(
  graph: Graph,
  feeds: Readonly<Record<string, Tensor | RefArray>>,
): Record<string, RefArray> {
  const bindings: Bindings = new Map();
  for (const { name } of graph.inputs) {
    const feed = feeds[name];
    if (feed === undefined) {
      const expected = graph.inputs.map((input) => input.name).join(', ');
      throw reverieError('DATA_MISMATCH', {
        problem: `"${graph.name}" was fed ${`nothing for "${name}"`}.`,
        hint: `It takes: ${expected}.`,
      });
    }
    bindings.set(name, toReference(feed));
  }
  return evaluate(graph, bindings);
}

function toReference({ dims, data }: Tensor | RefArray): RefArray {
  return { dims, data: Float64Array.from(data as ArrayLike<number | bigint>, Number) };
}

/** Evaluates a graph whose inputs are bound; a Loop body also sees the bindings of the graph around it. */
function evaluate(graph: Graph, bindings: Bindings): Record<string, RefArray> {
  for (const [name, { tensor }] of graph.initializers) bindings.set(name, toReference(tensor));
  const read = (value: Value): RefArray => bindings.get(value.name)!;
  for (const node of graph.liveNodes()) {
    const results = node.op === 'Loop' ? loop(node, read, bindings) : apply(node, read);
    node.outputs.forEach((output, i) => {
      bindings.set(output.name, results[i]);
    });
  }
  return Object.fromEntries([...graph.outputs].map(([name, value]) => [name, read(value)]));
}

function apply(node: Node, read: (value: Value) => RefArray): RefArray[] {
  const kernel = KERNELS[node.op];
  if (kernel === undefined)
    throw node.outputs[0].graph.mismatch(node.op, 'the reference knows no such operator', node.inputs);
  const result = kernel(
    node.inputs.map((input) => read(input!)),
    node,
  );
  return Array.isArray(result) ? result : [result];
}

/** The ONNX Loop with a trip count and no condition: carried values first, then stacked per-iteration values. */
function loop(node: Node, read: (value: Value) => RefArray, outer: Bindings): RefArray[] {
  const body = node.attributes.body as Graph;
  const [trips, , ...initial] = node.inputs;
  let carried = initial.map((value) => read(value!));
  const scans: RefArray[][] = node.outputs.slice(carried.length).map(() => []);
  const scalar = (value: number): RefArray => ({ dims: [], data: Float64Array.of(value) });
  for (let i = 0; i < read(trips!).data[0]; i++) {
    const bindings: Bindings = new Map(outer);
    [scalar(i), scalar(1), ...carried].forEach((value, at) => {
      bindings.set(body.inputs[at].name, value);
    });
    const [, ...results] = Object.values(evaluate(body, bindings));
    carried = results.slice(0, carried.length);
    results.slice(carried.length).forEach((value, at) => {
      scans[at].push(value);
    });
  }
  return [...carried, ...scans.map(stack)];
}

/** A dense row-major array of the reference interpreter; every element type is held as float64, bools as 0 and 1. */
export interface RefArray {
  readonly dims: readonly number[];
  readonly data: Float64Array;
}

type Kernel = (inputs: readonly RefArray[], node: Node) => RefArray | RefArray[];

function count(dims: readonly number[]): number {
  return dims.reduce((product, dim) => product * dim, 1);
}

/** Builds an array by calling `at` with every multi-index in turn; the index array is reused. */
function build(dims: readonly number[], at: (index: readonly number[]) => number): RefArray {
  const data = new Float64Array(count(dims));
  const index = dims.map(() => 0);
  for (let i = 0; i < data.length; i++) {
    data[i] = at(index);
    for (let axis = dims.length - 1; axis >= 0 && ++index[axis] === dims[axis]; axis--) index[axis] = 0;
  }
  return { dims, data };
}

function offsetOf(dims: readonly number[], index: readonly number[]): number {
  let offset = 0;
  for (let axis = 0; axis < dims.length; axis++) offset = offset * dims[axis] + index[axis];
  return offset;
}

const get = (x: RefArray, index: readonly number[]): number => x.data[offsetOf(x.dims, index)];

/** The element of x at an index of a shape that x broadcasts to. */
function getBroadcast(x: RefArray, index: readonly number[]): number {
  const lead = index.length - x.dims.length;
  return get(
    x,
    x.dims.map((dim, axis) => (dim === 1 ? 0 : index[axis + lead])),
  );
}

function broadcastDims(arrays: readonly RefArray[]): number[] {
  const rank = Math.max(...arrays.map(({ dims }) => dims.length));
  return Array.from({ length: rank }, (_, axis) => {
    const sizes = arrays.map(({ dims }) => dims[axis - rank + dims.length] ?? 1);
    return sizes.find((size) => size !== 1) ?? 1;
  });
}

const unary =
  (f: (x: number) => number): Kernel =>
  ([x]) => ({ dims: x.dims, data: x.data.map((value) => f(value)) });

const elementwise =
  (f: (...values: number[]) => number): Kernel =>
  (inputs) =>
    build(broadcastDims(inputs), (index) => f(...inputs.map((x) => getBroadcast(x, index))));

function listOf(x: RefArray | undefined): number[] {
  return x === undefined ? [] : Array.from(x.data);
}

function attribute(node: Node, name: string): number {
  return node.attributes[name] as number;
}

const reduce =
  (start: number, fold: (sum: number, x: number) => number, finish: (sum: number, n: number) => number): Kernel =>
  ([x, given], node) => {
    const axes = given ? listOf(given) : ((node.attributes.axes as number[]) ?? [...x.dims.keys()]);
    const kept = x.dims.map((dim, axis) => (axes.includes(axis) ? 1 : dim));
    const data = new Float64Array(count(kept)).fill(start);
    build(x.dims, (index) => {
      const at = offsetOf(
        kept,
        index.map((i, axis) => (axes.includes(axis) ? 0 : i)),
      );
      data[at] = fold(data[at], get(x, index));
      return 0;
    });
    const n = x.data.length / data.length;
    const dims = attribute(node, 'keepdims') === 1 ? kept : x.dims.filter((_, axis) => !axes.includes(axis));
    return { dims, data: data.map((sum) => finish(sum, n)) };
  };

function transposed(x: RefArray, perm: readonly number[]): RefArray {
  return build(
    perm.map((axis) => x.dims[axis]),
    (index) =>
      get(
        x,
        perm.map((_, axis) => index[perm.indexOf(axis)]),
      ),
  );
}

const matMul: Kernel = ([a, b]) => {
  const [m, k] = a.dims.slice(-2);
  const n = b.dims[b.dims.length - 1];
  const batch = broadcastDims([
    { ...a, dims: a.dims.slice(0, -2) },
    { ...b, dims: b.dims.slice(0, -2) },
  ]);
  const lead = (x: RefArray, index: readonly number[]) =>
    x.dims.slice(0, -2).map((dim, axis) => (dim === 1 ? 0 : index[axis + batch.length - x.dims.length + 2]));
  return build([...batch, m, n], (index) => {
    const [i, j] = index.slice(-2);
    const [rowsOfA, rowsOfB] = [lead(a, index), lead(b, index)];
    let sum = 0;
    for (let t = 0; t < k; t++) sum += get(a, [...rowsOfA, i, t]) * get(b, [...rowsOfB, t, j]);
    return sum;
  });
};

const gemm: Kernel = ([a, b, c], node) => {
  const left = attribute(node, 'transA') === 1 ? transposed(a, [1, 0]) : a;
  const right = attribute(node, 'transB') === 1 ? transposed(b, [1, 0]) : b;
  const product = matMul([left, right], node) as RefArray;
  return c ? elementwise((x, y) => x + y)([product, c], node) : product;
};

function reshape([x, shape]: readonly RefArray[]): RefArray {
  const dims = listOf(shape).map((size, axis) => (size === 0 ? x.dims[axis] : size));
  const known = dims.filter((size) => size !== -1).reduce((product, size) => product * size, 1);
  return { dims: dims.map((size) => (size === -1 ? x.data.length / known : size)), data: x.data };
}

function sliced(x: RefArray, axis: number, start: number, end: number): RefArray {
  const dims = x.dims.map((dim, i) => (i === axis ? end - start : dim));
  return build(dims, (index) =>
    get(
      x,
      index.map((i, at) => (at === axis ? i + start : i)),
    ),
  );
}

const split: Kernel = ([x, sizes], node) => {
  let start = 0;
  return listOf(sizes).map((size) => {
    start += size;
    return sliced(x, attribute(node, 'axis'), start - size, start);
  });
};

const concat: Kernel = (inputs, node) => {
  const axis = attribute(node, 'axis');
  const total = inputs.reduce((sum, x) => sum + x.dims[axis], 0);
  const dims = inputs[0].dims.map((dim, i) => (i === axis ? total : dim));
  return build(dims, (index) => {
    let within = index[axis];
    let piece = 0;
    while (within >= inputs[piece].dims[axis]) within -= inputs[piece++].dims[axis];
    return get(
      inputs[piece],
      index.map((i, at) => (at === axis ? within : i)),
    );
  });
};

const squeeze: Kernel = ([x, axes]) => ({ dims: x.dims.filter((_, i) => !listOf(axes).includes(i)), data: x.data });

const unsqueeze: Kernel = ([x, axes]) => {
  const dims = [...x.dims];
  for (const axis of listOf(axes)) dims.splice(axis, 0, 1);
  return { dims, data: x.data };
};

const pad: Kernel = ([x, pads]) => {
  const amounts = listOf(pads);
  const rank = x.dims.length;
  const dims = x.dims.map((dim, axis) => dim + amounts[axis] + amounts[axis + rank]);
  return build(dims, (index) => {
    const source = index.map((i, axis) => i - amounts[axis]);
    return source.every((i, axis) => i >= 0 && i < x.dims[axis]) ? get(x, source) : 0;
  });
};

const wrapped = (i: number, size: number): number => (i < 0 ? i + size : i);

const gather: Kernel = ([x, indices], node) => {
  const axis = attribute(node, 'axis');
  const rank = indices.dims.length;
  const dims = [...x.dims.slice(0, axis), ...indices.dims, ...x.dims.slice(axis + 1)];
  return build(dims, (index) => {
    const chosen = wrapped(get(indices, index.slice(axis, axis + rank)), x.dims[axis]);
    return get(x, [...index.slice(0, axis), chosen, ...index.slice(axis + rank)]);
  });
};

const gatherElements: Kernel = ([x, indices], node) => {
  const axis = attribute(node, 'axis');
  return build(indices.dims, (index) =>
    get(
      x,
      index.map((i, at) => (at === axis ? wrapped(get(indices, index), x.dims[axis]) : i)),
    ),
  );
};

const scatterAdd: Kernel = ([x, indices, updates], node) => {
  const axis = attribute(node, 'axis');
  const data = x.data.slice();
  build(indices.dims, (index) => {
    const target = index.map((i, at) => (at === axis ? wrapped(get(indices, index), x.dims[axis]) : i));
    data[offsetOf(x.dims, target)] += get(updates, index);
    return 0;
  });
  return { dims: x.dims, data };
};

/** Of rows alone: indices [n, 1]. */
const scatterAddRows: Kernel = ([x, indices, updates]) => {
  const data = x.data.slice();
  const width = count(x.dims.slice(1));
  indices.data.forEach((index, row) => {
    const from = wrapped(index, x.dims[0]) * width;
    for (let i = 0; i < width; i++) data[from + i] += updates.data[row * width + i];
  });
  return { dims: x.dims, data };
};

const oneHot: Kernel = ([indices, depth]) => {
  const n = depth.data[0];
  return build([...indices.dims, n], (index) =>
    Number(wrapped(get(indices, index.slice(0, -1)), n) === index[index.length - 1]),
  );
};

/** log(softmax(x)) along the node's axis. */
const logSoftmax: Kernel = ([x], node) => {
  const folding = { ...node, attributes: { axes: [attribute(node, 'axis')], keepdims: 1 } };
  const peak = KERNELS.ReduceMax([x], folding) as RefArray;
  const shifted = elementwise((a, b) => a - b)([x, peak], node) as RefArray;
  const sum = KERNELS.ReduceSum([unary(Math.exp)([shifted], node) as RefArray], folding) as RefArray;
  return elementwise((a, b) => a - Math.log(b))([shifted, sum], node);
};

/** x · scale / sqrt(mean(x²) + epsilon) along the last axis, and the factor of each row. */
function rmsNorm([x, scale]: readonly RefArray[], node: Node): RefArray[] {
  const { float: epsilon } = node.attributes.epsilon as { float: number };
  const size = x.dims[x.dims.length - 1];
  const inverse = new Float64Array(x.data.length / size).map((_, row) => {
    const sum = x.data.subarray(row * size, (row + 1) * size).reduce((total, value) => total + value * value, 0);
    return 1 / Math.sqrt(sum / size + epsilon);
  });
  const data = x.data.map((value, i) => value * inverse[Math.floor(i / size)] * scale.data[i % size]);
  return [
    { dims: x.dims, data },
    { dims: [...x.dims.slice(0, -1), 1], data: inverse },
  ];
}

function castTo(x: RefArray, node: Node): RefArray {
  const { dtype } = node.outputs[0];
  if (dtype === 'float32') return x;
  return { dims: x.dims, data: x.data.map(dtype === 'bool' ? (value) => Number(value !== 0) : Math.trunc) };
}

export const KERNELS: Readonly<Record<string, Kernel>> = {
  Add: elementwise((a, b) => a + b),
  Sub: elementwise((a, b) => a - b),
  Mul: elementwise((a, b) => a * b),
  Div: elementwise((a, b) => a / b),
  Min: elementwise(Math.min),
  Max: elementwise(Math.max),
  Greater: elementwise((a, b) => Number(a > b)),
  Less: elementwise((a, b) => Number(a < b)),
  Equal: elementwise((a, b) => Number(a === b)),
  And: elementwise((a, b) => a & b),
  Or: elementwise((a, b) => a | b),
  Where: elementwise((condition, a, b) => (condition ? a : b)),
  Clip: elementwise((x, low, high) => Math.min(Math.max(x, low), high)),
  Not: unary((x) => 1 - x),
  Neg: unary((x) => -x),
  Exp: unary(Math.exp),
  Log: unary(Math.log),
  Sqrt: unary(Math.sqrt),
  Abs: unary(Math.abs),
  Sign: unary(Math.sign),
  Tanh: unary(Math.tanh),
  Sigmoid: unary((x) => 1 / (1 + Math.exp(-x))),
  Softplus: unary((x) => Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x)))),
  Relu: unary((x) => Math.max(x, 0)),
  Identity: unary((x) => x),
  Cast: ([x], node) => castTo(x, node),
  ReduceSum: reduce(0, (sum, x) => sum + x, Number),
  ReduceMean: reduce(
    0,
    (sum, x) => sum + x,
    (sum, n) => sum / n,
  ),
  ReduceMax: reduce(Number.NEGATIVE_INFINITY, (a, b) => Math.max(a, b), Number),
  LogSoftmax: logSoftmax,
  Softmax: (inputs, node) => unary(Math.exp)([logSoftmax(inputs, node) as RefArray], node),
  SimplifiedLayerNormalization: rmsNorm,
  Transpose: ([x], node) => transposed(x, node.attributes.perm as number[]),
  Reshape: reshape,
  Expand: ([x, shape]) =>
    build(broadcastDims([x, { dims: listOf(shape), data: shape.data }]), (i) => getBroadcast(x, i)),
  Shape: ([x]) => ({ dims: [x.dims.length], data: Float64Array.from(x.dims) }),
  Concat: concat,
  Slice: ([x, start, end, axis]) => sliced(x, axis.data[0], start.data[0], end.data[0]),
  Split: split,
  Squeeze: squeeze,
  Unsqueeze: unsqueeze,
  Pad: pad,
  Gather: gather,
  GatherElements: gatherElements,
  ScatterElements: scatterAdd,
  ScatterND: scatterAddRows,
  OneHot: oneHot,
  MatMul: matMul,
  Gemm: gemm,
};

/** Rows of equal arrays stacked along a new first axis. */
export function stack(rows: readonly RefArray[]): RefArray {
  const data = new Float64Array(rows.length * rows[0].data.length);
  rows.forEach((row, i) => {
    data.set(row.data, i * row.data.length);
  });
  return { dims: [rows.length, ...rows[0].dims], data };
}
