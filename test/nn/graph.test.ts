// Graph construction: shape inference, named sizes, sharing, folding, and refusals.

import { describe, expect, test } from 'vitest';
import * as nn from './nn.js';

function fresh(shape: readonly nn.Dim[] = [2, 3]): { graph: nn.Graph; x: nn.Value } {
  const graph = new nn.Graph('g');
  return { graph, x: graph.input('x', 'float32', shape) };
}

describe('named sizes', () => {
  test('run through broadcasting, products, reductions and reshapes', () => {
    const { graph, x } = fresh(['batch', 3]);
    const w = graph.initializer('w', [3, 4], new Float32Array(12));
    expect(nn.add(x, 1).shape).toEqual(['batch', 3]);
    expect(nn.matMul(x, w).shape).toEqual(['batch', 4]);
    expect(nn.reduceSum(x, [1]).shape).toEqual(['batch']);
    expect(nn.reduceSum(x, [0], true).shape).toEqual([1, 3]);
    expect(nn.concat([x, x], 0).shape).toEqual(['batch+batch', 3]);
    expect(nn.reshape(x, ['batch', 1, 3]).shape).toEqual(['batch', 1, 3]);
    expect(nn.reshape(x, [-1, 3, 1]).shape).toEqual(['batch', 3, 1]);
  });

  test('one model serves every batch size, gradients included', async () => {
    const { graph, x } = fresh(['batch', 3]);
    const w = graph.input('w', 'float32', [3, 2]);
    const b = graph.input('b', 'float32', [2]);
    const loss = nn.reduceSum(
      nn.square(nn.add(nn.reduceSum(nn.tanh(nn.linear(x, w, b)), [1], true), nn.reduceMean(x, [1], true))),
    );
    graph.output('loss', loss);
    nn.gradients(loss, [x, w, b]).forEach((gradient, i) => {
      graph.output(`gradient${i}`, gradient);
    });
    const session = await nn.InferenceSession.fromBytes(graph.toModel());
    for (const rows of [1, 4]) {
      const feeds = {
        x: nn.float32(new Float32Array(rows * 3).fill(0.5), [rows, 3]),
        w: nn.float32(new Float32Array(6), [3, 2]),
        b: nn.float32(new Float32Array(2)),
      };
      const { loss: value, gradient0, gradient1 } = await session.run(feeds);
      expect(value.data[0]).toBeCloseTo(rows * 0.25, 6);
      expect([gradient0.dims, gradient1.dims]).toEqual([
        [rows, 3],
        [3, 2],
      ]);
    }
  });
});

describe('lean graphs', () => {
  test('equal expressions are one node, unused ones none', () => {
    const { graph, x } = fresh();
    expect(nn.exp(x)).toBe(nn.exp(x));
    expect(graph.constant(2)).toBe(graph.constant(2));
    expect(graph.constant(0)).not.toBe(graph.constant(-0));
    nn.tanh(x);
    graph.output('y', nn.exp(x));
    expect(graph.liveNodes().map(({ op }) => op)).toEqual(['Exp']);
  });

  test('arithmetic with constants folds', () => {
    const { graph, x } = fresh();
    expect(nn.add(nn.mul(x, 1), 0)).toBe(x);
    expect(nn.neg(nn.neg(x))).toBe(x);
    expect(nn.mul(nn.mul(x, 2), 3)).toBe(nn.mul(x, 6));
    expect(nn.neg(nn.mul(x, 2))).toBe(nn.mul(x, -2));
    expect(nn.div(x, 4)).toBe(nn.mul(x, 0.25));
    expect(nn.add(graph.constant(2), 3)).toBe(graph.constant(5));
  });

  test('no gradient flows through stopGradient, integers, or to what the loss does not use', async () => {
    const { graph, x } = fresh();
    const unused = graph.input('unused', 'float32', [2]);
    const rounded = nn.cast(nn.cast(x, 'int32'), 'float32');
    const loss = nn.reduceSum(nn.add(nn.stopGradient(nn.exp(x)), rounded));
    const [gx, gu] = nn.gradients(loss, [x, unused]);
    graph.output('gx', gx);
    graph.output('gu', gu);
    const result = await nn.evaluated(graph, {
      x: nn.float32(new Float32Array(6).fill(1.5), [2, 3]),
      unused: nn.float32(new Float32Array(2)),
    });
    expect([result.gx, result.gu].flatMap(({ data }) => [...(data as Float32Array)])).toEqual(Array(8).fill(0));
  });
});

describe('refusals', () => {
  const refuses = (problem: RegExp, act: (x: nn.Value, graph: nn.Graph) => unknown) => {
    const { graph, x } = fresh();
    expect(() => act(x, graph)).toThrow(problem);
    try {
      act(x, graph);
    } catch (error) {
      expect(error).toMatchObject({ code: 'DATA_MISMATCH' });
    }
  };

  test.each<[string, RegExp, (x: nn.Value, graph: nn.Graph) => unknown]>([
    ['shapes that do not broadcast', /do not broadcast/, (x, g) => nn.add(x, g.constant([1, 2]))],
    ['matrices that do not multiply', /do not multiply/, (x) => nn.matMul(x, x)],
    ['a reshape of another size', /another number/, (x) => nn.reshape(x, [5])],
    ['a slice outside', /no range/, (x) => nn.slice(x, 1, 2, 4)],
    ['float indices', /int32 or int64/, (x) => nn.gather(x, x)],
    ['weights of another size', /do not fill/, (_, g) => g.initializer('w', [3], new Float32Array(2))],
    ['a value of another graph', /another graph/, (x) => nn.add(x, fresh().x)],
    ['a loss that is no scalar', /scalar/, (x) => nn.gradients(x, [x])],
  ])('%s', (_, problem, act) => refuses(problem, act));
});
