// Every operator: ONNX Runtime against the float64 reference, and gradients against finite differences of the reference.

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
  const y = build(values, graph);
  const total = loss(y);
  graph.output('y', y);
  graph.output('loss', total);
  nn.gradients(total, Object.values(values)).forEach((gradient, i) => {
    expect(gradient.shape).toEqual(Object.values(values)[i].shape);
    graph.output(`gradient.${Object.keys(values)[i]}`, gradient);
  });
  for (const { op } of graph.liveNodes()) built.add(op);
  return graph;
}

function expectClose(actual: ArrayLike<number>, expected: ArrayLike<number>, tolerance: number, what: string): void {
  expect(actual.length, what).toBe(expected.length);
  for (let i = 0; i < actual.length; i++) {
    const error = Math.abs(actual[i] - expected[i]) / (1 + Math.abs(expected[i]));
    expect(error, `${what}[${i}]: ${actual[i]} for ${expected[i]}`).toBeLessThan(tolerance);
  }
}

function replaced(data: Float64Array, index: number, value: number): Float64Array {
  const copy = data.slice();
  copy[index] = value;
  return copy;
}

function finiteDifferences(graph: nn.Graph, feeds: Record<string, nn.RefArray>, name: string): Float64Array {
  const step = 1e-5;
  const { dims, data } = feeds[name];
  return data.map((x, i) => {
    const [above, below] = [x + step, x - step].map((moved) => {
      const changed = { dims, data: replaced(data, i, moved) };
      return nn.evaluateReference(graph, { ...feeds, [name]: changed }).loss.data[0];
    });
    return (above - below) / (2 * step);
  });
}

describe.each([
  ['weighted', weighted],
  ['mean', mean],
])('gradient of a %s loss', (_, loss) => {
  test.each(OP_CASES.map((opCase) => [opCase.name, opCase] as const))('%s', async (_name, opCase) => {
    const graph = differentiated(opCase, loss);
    const feeds = drawInputs(opCase);
    const reference = nn.evaluateReference(graph, feeds);
    const session = await nn.InferenceSession.fromBytes(graph.toModel());
    const results = await session.run(feeds);
    await session.release();
    for (const [name, { data, dims }] of Object.entries(reference)) {
      expect(results[name].dims, name).toEqual(dims);
      expectClose(results[name].data as Float32Array, data, 5e-6, name);
    }
    const precise = Object.fromEntries(
      Object.entries(feeds).map(([name, { dims, data }]) => [
        name,
        { dims, data: Float64Array.from(data as Float32Array) },
      ]),
    );
    if (opCase.name === 'cast there and back') return; // its steps are not small to a finite difference
    for (const name of Object.keys(feeds)) {
      expectClose(
        reference[`gradient.${name}`].data,
        finiteDifferences(graph, precise, name),
        2e-6,
        `gradient.${name}`,
      );
    }
  });
});

afterAll(() => {
  const untested = nn.DIFFERENTIABLE_OPS.filter((op) => !built.has(op));
  expect(untested).toEqual([]);
});
