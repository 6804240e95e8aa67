// Packed parameters: layout, initial values, and Adam's host-side scalars.

import { describe, expect, test } from 'vitest';
import { Rng } from '../../src/core/rng.js';
import { adamScalars, mlpSpecs, ParamLayout } from '../../src/nn/parameters.js';

const deviation = (values: Float32Array) => Math.sqrt(values.reduce((sum, x) => sum + x * x, 0) / values.length);

test('views are the named slices of theta', () => {
  const layout = new ParamLayout(mlpSpecs('net', [3, 4, 2]));
  expect(layout.size).toBe(3 * 4 + 4 + 4 * 2 + 2);
  expect(layout.specs.map(({ name }) => name)).toEqual(['net.w0', 'net.b0', 'net.w1', 'net.b1']);
  const theta = Float32Array.from({ length: layout.size }, (_, i) => i);
  expect([...layout.view(theta, 'net.b0')]).toEqual([12, 13, 14, 15]);
  layout.view(theta, 'net.b0')[0] = -1;
  expect(theta[12]).toBe(-1);
  expect(() => layout.view(theta, 'net.w2')).toThrow(/"net.w2" does not exist/);
});

test('ensembles get a leading axis and different members', () => {
  const layout = new ParamLayout(mlpSpecs('net', [3, 4], { kind: 'truncNormalFanIn' }, 2));
  expect(layout.specs.map(({ shape }) => shape)).toEqual([
    [2, 3, 4],
    [2, 1, 4],
  ]);
  const w = layout.view(layout.init(Rng.fromSeed(1)), 'net.w0');
  expect([...w.subarray(0, 12)]).not.toEqual([...w.subarray(12)]);
});

describe('initial values', () => {
  const draw = (init: Parameters<typeof mlpSpecs>[2], sizes = [100, 400]) => {
    const layout = new ParamLayout(mlpSpecs('net', sizes, init));
    const theta = layout.init(Rng.fromSeed(5));
    return { w: layout.view(theta, 'net.w0'), b: layout.view(theta, 'net.b0') };
  };

  test('depend on the seed and the name alone', () => {
    const small = new ParamLayout(mlpSpecs('b', [3, 4]));
    const large = new ParamLayout([...mlpSpecs('a', [3, 4]), ...mlpSpecs('b', [3, 4])]);
    const rng = Rng.fromSeed(2);
    expect(large.view(large.init(rng), 'b.w0')).toEqual(small.view(small.init(rng), 'b.w0'));
    expect(small.init(rng)).toEqual(small.init(Rng.fromSeed(2)));
    expect(small.init(rng)).not.toEqual(small.init(Rng.fromSeed(3)));
  });

  test('uniformFanIn fills U(-1/sqrt(in), 1/sqrt(in)), biases too', () => {
    const { w, b } = draw({ kind: 'uniformFanIn' });
    expect(Math.max(...w)).toBeLessThanOrEqual(0.1);
    expect(deviation(w)).toBeCloseTo(0.1 / Math.sqrt(3), 3);
    expect(deviation(b)).toBeGreaterThan(0.04);
  });

  test('xavier has a deviation of sqrt(2 / (in + out)), biases none', () => {
    const { w, b } = draw({ kind: 'xavier' });
    expect(deviation(w)).toBeCloseTo(Math.sqrt(2 / 500), 3);
    expect(Math.max(...w)).toBeLessThanOrEqual(Math.sqrt(6 / 500));
    expect(b.every((value) => value === 0)).toBe(true);
  });

  test.each([
    [8, 5],
    [5, 8],
  ])('orthogonal %i x %i: its shorter side is orthonormal up to the gain', (rows, columns) => {
    const { w } = draw({ kind: 'orthogonal', gain: 2 }, [rows, columns]);
    const short = Math.min(rows, columns);
    const at = (v: number, i: number) => (rows <= columns ? w[v * columns + i] : w[i * columns + v]);
    for (let a = 0; a < short; a++) {
      for (let b = 0; b < short; b++) {
        let product = 0;
        for (let i = 0; i < Math.max(rows, columns); i++) product += at(a, i) * at(b, i);
        expect(product).toBeCloseTo(a === b ? 4 : 0, 5);
      }
    }
  });
});

test('adamScalars makes the first step lr long whatever the gradient', () => {
  const { alpha, epsilon } = adamScalars(1, 0.01);
  for (const g of [1e-3, 1, 1e3]) expect((alpha * g) / (Math.sqrt(g * g) + epsilon)).toBeCloseTo(0.01, 6);
});
