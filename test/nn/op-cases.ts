// One small expression for every operator and every way it broadcasts: compared with the reference and differentiated.

import {
  attendWithin,
  decoderLayout,
  hiddenOfRows,
  logProbOf,
  nextToken,
  rotate,
} from '../../src/nn/decoder/network.js';
import * as nn from './nn.js';

type Values = Record<string, nn.Value>;

export interface OpCase {
  readonly name: string;
  /** Float inputs by name: their shapes. Drawn at random, or absolute values of normals plus 0.1 if `positive`. */
  readonly inputs: Readonly<Record<string, readonly number[]>>;
  readonly positive?: boolean;
  /** Has an operator of ONNX Runtime's own, which the standard does not know. */
  readonly isOwn?: boolean;
  readonly build: (values: Values, graph: nn.Graph) => nn.Value;
}

const ints = (graph: nn.Graph, values: readonly number[], shape?: readonly number[]) =>
  graph.literal('int32', values, shape);

const one = (name: string, f: (x: nn.Value) => nn.Value, shape: readonly number[] = [2, 3]): OpCase => ({
  name,
  inputs: { x: shape },
  build: ({ x }) => f(x),
});

const two = (
  name: string,
  a: readonly number[],
  b: readonly number[],
  f: (a: nn.Value, b: nn.Value) => nn.Value,
): OpCase => ({
  name,
  inputs: { a, b },
  build: (values) => f(values.a, values.b),
});

const ELEMENTWISE: OpCase[] = [
  two('add, row broadcast', [2, 3], [3], nn.add),
  two('add, outer broadcast', [4, 1, 3], [2, 1], nn.add),
  { ...two('div, row broadcast', [2, 3], [3], nn.div), positive: true },
  two('minimum, broadcast', [2, 3], [3], nn.minimum),
  one('maximum with a number', (x) => nn.maximum(x, 0.2)),
  one('neg', nn.neg),
  one('subtracting a negated value', (x) => nn.sub(nn.exp(x), nn.neg(nn.tanh(x)))),
  one('exp', nn.exp),
  { ...one('log', nn.log), positive: true },
  { ...one('sqrt', nn.sqrt), positive: true },
  one('abs', nn.abs),
  one('sign', (x) => nn.mul(nn.sign(x), x)),
  one('tanh', nn.tanh),
  one('softplus', nn.softplus),
  one('relu', nn.relu),
  one('swish', nn.swish),
  one('clip', (x) => nn.clip(x, -0.5, 0.5), [3, 4]),
  one('stopGradient', (x) => nn.mul(nn.stopGradient(nn.sign(x)), x)),
  one('cast there and back', (x) => nn.mul(nn.cast(nn.cast(nn.mul(x, 3), 'int32'), 'float32'), x)),
  two('where, broadcast', [2, 3], [3], (a, b) => nn.where(nn.greater(a, b), a, nn.square(b))),
  one('where with numbers', (x) => nn.mul(nn.where(nn.less(x, 0), 0.1, 1), x)),
  two('comparisons and logic', [2, 3], [2, 3], (a, b) => {
    const either = nn.or(nn.and(nn.greater(a, 0), nn.less(b, 0.5)), nn.not(nn.less(a, b)));
    return nn.where(nn.equal(nn.cast(either, 'float32'), 1), nn.exp(a), b);
  }),
];

const SHAPES: OpCase[] = [
  one('transpose, permuted', (x) => nn.transpose(x, [1, 2, 0]), [2, 3, 4]),
  one('reshape', (x) => nn.mul(nn.reshape(x, [3, -1]), 2), [2, 6]),
  one('expand', (x) => nn.square(nn.expand(x, [4, 2, 3])), [2, 1]),
  two('concat', [2, 3], [2, 1], (a, b) => nn.square(nn.concat([a, b, a], 1))),
  one('slice', (x) => nn.slice(x, 1, 1, -1), [2, 5]),
  one(
    'split, one piece unused',
    (x) => nn.mul(...(nn.split(x, 1, [2, 1, 2]).slice(0, 2) as [nn.Value, nn.Value])),
    [2, 5],
  ),
  one('squeeze and unsqueeze', (x) => nn.unsqueeze(nn.squeeze(nn.square(x), [1]), [0, -1]), [2, 1, 3]),
];

const REDUCTIONS: OpCase[] = [
  one('reduceSum, one axis', (x) => nn.square(nn.reduceSum(x, [0])), [2, 3, 2]),
  one('reduceSum of a sum', (x) => nn.square(nn.reduceSum(nn.reduceSum(nn.exp(x), [2]), [0])), [2, 3, 2]),
  one('reduceMean, axes', (x) => nn.exp(nn.reduceMean(x, [0, 2])), [2, 3, 2]),
  one('reduceMax', (x) => nn.exp(nn.reduceMax(x, [1])), [3, 4]),
  one('reduceMax, kept', (x) => nn.sub(x, nn.reduceMax(x, [-1], true)), [3, 4]),
  one('softmax', (x) => nn.softmax(x), [3, 4]),
  one('logSoftmax, squared', (x) => nn.square(nn.logSoftmax(x, 0)), [3, 4]),
];

const INDICES: OpCase[] = [
  {
    name: 'gather, repeated rows',
    inputs: { x: [4, 3] },
    build: ({ x }, graph) => nn.square(nn.gather(x, ints(graph, [2, 0, 2, 2]))),
  },
  {
    name: 'gather, inner axis, matrix of indices',
    inputs: { x: [2, 4, 3] },
    build: ({ x }, graph) => nn.gather(x, ints(graph, [1, 3, 3, -1], [2, 2]), 1),
  },
  {
    name: 'gather, one index',
    inputs: { x: [4, 3] },
    build: ({ x }, graph) => nn.exp(nn.gather(x, ints(graph, [3], []))),
  },
  {
    name: 'scatterAddRows, repeated rows',
    inputs: { x: [3, 2], updates: [4, 2] },
    build: ({ x, updates }, graph) => nn.square(nn.scatterAddRows(x, ints(graph, [2, 0, 2, 2]), updates)),
  },
  {
    name: 'takeAlongAxis',
    inputs: { x: [3, 4] },
    build: ({ x }, graph) => nn.takeAlongAxis(x, ints(graph, [0, 2, 2, 3, 1, 1], [3, 2]), 1),
  },
  {
    name: 'oneHot',
    inputs: { x: [3, 4] },
    build: ({ x }, graph) => nn.mul(nn.oneHot(ints(graph, [1, 3, 0]), 4), x),
  },
];

const MATRICES: OpCase[] = [
  two('matMul', [2, 3], [3, 4], nn.matMul),
  two('matMul, batched', [2, 4, 3], [2, 3, 2], nn.matMul),
  two('matMul, batch broadcast', [2, 4, 3], [3, 2], nn.matMul),
  two('gemm, both transposed', [3, 2], [4, 3], (a, b) => nn.gemm(a, b, { transA: true, transB: true })),
  {
    name: 'linear',
    inputs: { x: [5, 3], w: [3, 2], b: [2] },
    build: ({ x, w, b }) => nn.tanh(nn.linear(x, w, b)),
  },
  {
    name: 'linear, ensemble',
    inputs: { x: [2, 5, 3], w: [2, 3, 2], b: [2, 1, 2] },
    build: ({ x, w, b }) => nn.swish(nn.linear(x, w, b)),
  },
];

const DISTRIBUTIONS: OpCase[] = [
  {
    name: 'gaussianLogProb',
    inputs: { x: [4, 2], mean: [4, 2], logStd: [2] },
    build: ({ x, mean, logStd }) => nn.gaussianLogProb(x, mean, logStd),
  },
  one('gaussianEntropy', nn.gaussianEntropy, [4, 2]),
  {
    name: 'tanhNormalSample',
    inputs: { mean: [4, 2], logStd: [4, 2], noise: [4, 2] },
    build: ({ mean, logStd, noise }) => {
      const { action, logProb } = nn.tanhNormalSample(mean, logStd, noise);
      return nn.add(nn.reduceSum(action, [1]), logProb);
    },
  },
  one('clipByGlobalNorm, shrinking', (x) => nn.clipByGlobalNorm(x, 0.5), [6]),
  one('clipByGlobalNorm, leaving', (x) => nn.clipByGlobalNorm(x, 50), [6]),
];

/** Two layers, so that gradients come through one; two heads that share keys and values. */
const DECODER = {
  ...{ vocabSize: 5, hiddenSize: 2, intermediateSize: 2, layers: 2, heads: 2, kvHeads: 1, headDim: 2 },
  contextLength: 8,
};

/** Three tokens; the last does not see the first, as if it began a document. */
const SEEN = [0, 0, 0, 1, 0, 0, 0, 1, 0].map((seen) => (seen === 1 ? 0 : Number.NEGATIVE_INFINITY));

const DECODERS: OpCase[] = [
  {
    name: 'rmsNorm',
    isOwn: true,
    inputs: { x: [3, 4], scale: [4] },
    build: ({ x, scale }) => nn.rmsNorm(x, scale, 1e-2),
  },
  {
    name: 'rotate',
    inputs: { x: [2, 3, 4] },
    build: ({ x }, graph) => {
      const at = (turn: (angle: number) => number) => graph.constant([0, 1, 2, 0, 0.1, 0.2].map(turn), [3, 2]);
      return rotate(x, at(Math.cos), at(Math.sin));
    },
  },
  {
    name: 'attendWithin',
    inputs: { queries: [2, 3, 4, 2], keys: [2, 3, 2, 2], values: [2, 3, 2, 2] },
    build: ({ queries, keys, values }, graph) => {
      const bias = graph.constant(SEEN, [1, 1, 1, 3, 3]);
      return attendWithin({ queries, keys, values, bias }, { ...DECODER, heads: 4, kvHeads: 2 });
    },
  },
  {
    name: 'decoder',
    isOwn: true,
    inputs: Object.fromEntries(decoderLayout(DECODER).specs.map(({ name, shape }) => [name, shape])),
    build: (params, graph) => {
      const { hidden } = hiddenOfRows(params, DECODER, {
        tokens: ints(graph, [0, 3, 3, 4, 1, 2], [2, 3]),
        positions: ints(graph, [0, 1, 0], [1, 3]),
        bias: graph.constant(SEEN, [1, 1, 1, 3, 3]),
      });
      const next = nextToken(params, hidden);
      return logProbOf(next, ints(graph, [3, 1, 4, 0, 2, 2]));
    },
  },
];

export const OP_CASES: readonly OpCase[] = [
  ...ELEMENTWISE,
  ...SHAPES,
  ...REDUCTIONS,
  ...INDICES,
  ...MATRICES,
  ...DISTRIBUTIONS,
  ...DECODERS,
];
