// Every operator: what it computes, by hand where that can go wrong, and its gradient against finite differences.

import { afterAll, describe, expect, test } from 'vitest';
import { Rng } from '../../src/core/rng.js';
import * as nn from './nn.js';
import { OP_CASES, type OpCase } from './op-cases.js';

const built = new Set<string>();

function drawInputs({ name, inputs, positive }: OpCase): Record<string, nn.Tensor> {
  const rng = Rng.fromSeed(7).split(name);
  return Object.fromEntries(
    Object.entries(inputs).map(([input, dims]) => {
      const data = rng.fillNormal(new Float32Array(nn.elementCount(dims)));
      return [input, nn.float32(positive ? data.map((x) => Math.abs(x) + 0.1) : data, dims)];
    }),
  );
}

type Loss = (y: nn.Value) => nn.Value;

/** A different weight for each element, so that no two errors cancel. */
const weighted: Loss = (y) => {
  const dims = y.shape as number[];
  const weights = Array.from({ length: nn.elementCount(dims) }, (_, i) => Math.sin(3 * i + 1) + 0.3);
  return nn.reduceSum(nn.mul(y, y.graph.constant(weights, dims)));
};

/** Its cotangent is one number, which is spread out as late as possible. */
const mean: Loss = (y) => nn.reduceMean(y);

function differentiated({ name, inputs, build }: OpCase, loss: Loss): nn.Graph {
  const graph = new nn.Graph(name);
  const values = Object.fromEntries(
    Object.entries(inputs).map(([input, shape]) => [input, graph.input(input, 'float32', shape)]),
  );
  const total = loss(build(values, graph));
  graph.output('loss', total);
  nn.gradients(total, Object.values(values)).forEach((gradient, i) => {
    expect(gradient.shape).toEqual(Object.values(values)[i].shape);
    graph.output(`gradient.${Object.keys(values)[i]}`, gradient);
  });
  for (const { op } of graph.liveNodes()) built.add(op);
  return graph;
}

const STEP = 1e-3;

describe.each([
  ['weighted', weighted],
  ['mean', mean],
])('gradient of a %s loss', (_, loss) => {
  // The steps of a cast are not small to a finite difference; of decoders one loss is enough, as they take long.
  const cases = OP_CASES.filter(
    ({ name }) => name !== 'cast there and back' && (loss === weighted || !/^(decoder|attendWithin)$/.test(name)),
  );
  test.each(cases.map((opCase) => [opCase.name, opCase] as const))('%s', async (_name, opCase) => {
    const session = await nn.InferenceSession.fromBytes(differentiated(opCase, loss).toModel());
    const feeds = drawInputs(opCase);
    const result = await session.run(feeds);
    for (const [name, { data, dims }] of Object.entries(feeds)) {
      const along = Rng.fromSeed(8).split(name).fillNormal(new Float32Array(data.length));
      const at = async (step: number) => {
        const moved = Float32Array.from(data as Float32Array, (x, i) => x + step * along[i]);
        return Number((await session.run({ ...feeds, [name]: nn.float32(moved, dims) })).loss.data[0]);
      };
      const slope = ((await at(STEP)) - (await at(-STEP))) / (2 * STEP);
      const gradient = result[`gradient.${name}`].data as Float32Array;
      const expected = gradient.reduce((sum, value, i) => sum + value * along[i], 0);
      expect(Math.abs(slope - expected) / (1 + Math.abs(expected)), `${name}: ${expected} for ${slope}`).toBeLessThan(
        5e-3,
      );
    }
    await session.release();
  });
});

describe('what is computed', () => {
  const x = (graph: nn.Graph) => graph.constant([1, 2, 3, 4, 5, 6], [2, 3]);
  const ints = (graph: nn.Graph, ...values: number[]) => graph.literal('int32', values);
  test.each<[string, (graph: nn.Graph) => nn.Value, number[], number[]]>([
    ['slice', (g) => nn.slice(x(g), 1, 1, -1), [2, 1], [2, 5]],
    ['scatterAddRows', (g) => nn.scatterAddRows(x(g), ints(g, 1, 1), x(g)), [2, 3], [1, 2, 3, 9, 12, 15]],
    [
      'gemm, both transposed',
      (g) => nn.gemm(x(g), nn.transpose(x(g)), { transA: true, transB: true }),
      [3, 3],
      [17, 22, 27, 22, 29, 36, 27, 36, 45],
    ],
    ['oneHot', (g) => nn.oneHot(ints(g, 2, 0), 3), [2, 3], [0, 0, 1, 1, 0, 0]],
  ])('%s', async (name, build, dims, data) => {
    const graph = new nn.Graph(name);
    graph.output('y', build(graph));
    const { y } = await nn.evaluated(graph);
    expect([y.dims, [...(y.data as Float32Array)]]).toEqual([dims, data]);
  });
});

afterAll(() => {
  const untested = nn.DIFFERENTIABLE_OPS.filter((op) => !built.has(op));
  expect(untested).toEqual([]);
});
