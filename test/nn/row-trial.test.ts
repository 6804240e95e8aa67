import { describe, expect, it } from 'vitest';
import { Rng } from '../../src/core/rng.js';
import { Graph, type Value } from '../../src/nn/graph.js';
import { linear, matMul, reduceSum, softplus, swish, tanh } from '../../src/nn/ops.js';
import { hasExactRows } from '../../src/nn/row-trial.js';
import { InferenceSession } from '../../src/nn/runtime.js';

const WIDTH = 5;

async function session(body: (x: Value, weights: (name: string, out: number) => Value) => Value) {
  const graph = new Graph('rows');
  const x = graph.input('x', 'float32', ['batch', WIDTH]);
  const weights = (name: string, out: number) =>
    graph.initializer(
      name,
      [WIDTH, out],
      Rng.fromSeed(1)
        .split(name)
        .fillNormal(new Float32Array(WIDTH * out)),
    );
  graph.output('y', body(x, weights));
  return InferenceSession.fromBytes(graph.toModel());
}

async function trial(body: Parameters<typeof session>[0]): Promise<boolean> {
  const opened = await session(body);
  try {
    return await hasExactRows(opened);
  } finally {
    await opened.release();
  }
}

describe('rows of a model', () => {
  it('are exact in a batch where only stored weights and kernels of the runtime are at work', async () => {
    const layer = (x: Value, weights: (name: string, out: number) => Value) =>
      swish(linear(x, weights('w', 37), x.graph.constant(Array.from({ length: 37 }, (_, i) => i / 37))));
    expect(await trial(layer)).toBe(true);
    expect(await trial((x, weights) => tanh(matMul(x, weights('w', 200))))).toBe(true);
  });

  it('are not taken for exact where an operator computes the end of a batch in another way', async () => {
    expect(await trial((x) => softplus(x))).toBe(false);
    expect(await trial((x) => reduceSum(x, [1], true))).toBe(false);
    const computed = (weights: (name: string, out: number) => Value) => matMul(weights('w', WIDTH), weights('v', 3));
    expect(await trial((x, weights) => matMul(x, computed(weights)))).toBe(false);
  });
});
