import { describe, expect, it } from 'vitest';
import { normalQuantile, philox, Rng } from '../../src/core/rng.js';
import { KERNEL_WORDS, makeRngKernel, naturalLog } from '../../src/core/rng-kernel.js';

const hex = (words: Uint32Array) => [...words].map((word) => word.toString(16).padStart(8, '0')).join(' ');

describe('philox', () => {
  it('answers the known answers of Random123 (kat_vectors, philox4x32 10)', () => {
    const out = new Uint32Array(4);
    philox(0, 0, 0, 0, 0, 0, out);
    expect(hex(out)).toBe('6627e8d5 e169c58d bc57ac4c 9b00dbd8');
    const ones = 0xffffffff;
    philox(ones, ones, ones, ones, ones, ones, out);
    expect(hex(out)).toBe('408f276d 41c83b0e a20bc7c6 6d5451fd');
    philox(0xa4093822, 0x299f31d0, 0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, out);
    expect(hex(out)).toBe('d16cfe09 94fdcceb 5001e420 24126ea1');
  });

  it('is what a root stream draws', () => {
    const out = Rng.fromSeed(0).fillUint32(new Uint32Array(4));
    expect(hex(out)).toBe('6627e8d5 e169c58d bc57ac4c 9b00dbd8');
  });
});

it('normalQuantile agrees with tabulated quantiles to seven digits', () => {
  const table: [number, number][] = [
    [0.5, 0],
    [0.975, 1.959963984540054],
    [0.9, 1.2815515655446004],
    [0.25, -0.6744897501960817],
    [1e-4, -3.719016485455709],
    [1e-10, -6.361340902404056],
    [1e-20, -9.262340089798409],
  ];
  for (const [p, z] of table)
    expect(Math.abs(normalQuantile(p) - z)).toBeLessThanOrEqual(2e-7 * Math.max(1, Math.abs(z)));
});

it('naturalLog agrees with Math.log to the last place, next to powers of two as well', () => {
  let worst = 0;
  for (let i = 0; i < 200_000; i += 5) {
    const near = 2 ** -(i % 33) * (1 + (i - 100_000) * 1e-11);
    for (const x of [(i + 0.5) / 2 ** 32, (i + 0.5) / 2e6, near]) {
      const expected = Math.log(x);
      const error = Math.abs(naturalLog(x) - expected);
      if (error > 0) worst = Math.max(worst, error / Math.abs(expected));
    }
  }
  expect(worst).toBeLessThanOrEqual(Number.EPSILON);
});

describe('Rng', () => {
  it('fills with what scalar draws would give, from any position and at any length', () => {
    for (const offset of [0, 1, 3, 7]) {
      for (const length of [0, 5, 33, KERNEL_WORDS - 1, KERNEL_WORDS + 19]) {
        const [bulk, scalar] = [Rng.fromSeed(123456789012), Rng.fromSeed(123456789012)];
        for (let i = 0; i < offset; i++) expect(bulk.uint32()).toBe(scalar.uint32());
        expect(bulk.fillUint32(new Uint32Array(length))).toEqual(Uint32Array.from({ length }, () => scalar.uint32()));
        expect(bulk.fillNormal(new Float64Array(length))).toEqual(Float64Array.from({ length }, () => scalar.normal()));
        expect(bulk.fillNormal(new Float32Array(length))).toEqual(Float32Array.from({ length }, () => scalar.normal()));
        expect(bulk.fillUniform(new Float64Array(length))).toEqual(
          Float64Array.from({ length }, () => scalar.uniform()),
        );
        expect(bulk.state()).toEqual(scalar.state());
        expect(bulk.uint32()).toBe(scalar.uint32());
      }
    }
  });

  it('carries into the high counter word in bulk as one by one', () => {
    const position = 4 * (2 ** 32 - 40);
    const bulk = Rng.fromState({ key: [7, 9], position });
    const scalar = Rng.fromState({ key: [7, 9], position });
    const words = bulk.fillUint32(new Uint32Array(4 * 100));
    expect(words).toEqual(Uint32Array.from({ length: words.length }, () => scalar.uint32()));
    expect(bulk.state()).toEqual({ key: [7, 9], position: position + 400 });
  });

  it('skips as many words as it is told', () => {
    for (const [before, skipped] of [
      [0, 4],
      [3, 6],
      [1, 1],
      [2, 1001],
    ]) {
      const [skipping, drawing] = [Rng.fromSeed(4), Rng.fromSeed(4)];
      for (const rng of [skipping, drawing]) rng.fillUint32(new Uint32Array(before));
      skipping.skip(skipped);
      drawing.fillUint32(new Uint32Array(skipped));
      expect(skipping.fillNormal(new Float32Array(40))).toEqual(drawing.fillNormal(new Float32Array(40)));
    }
  });

  it('splits into streams that depend on the path alone and are uncorrelated', () => {
    const root = Rng.fromSeed(11);
    const first = root.split('worker', 3).fillNormal(new Float64Array(20_000));
    root.uint32();
    expect(root.split('worker', 3).fillNormal(new Float64Array(20_000))).toEqual(first);
    expect(root.split('worker').split(3).fillNormal(new Float64Array(20_000))).toEqual(first);
    for (const other of [root.split('worker', 4), root.split('worker', '3'), root, Rng.fromSeed(12)]) {
      const second = other.fillNormal(new Float64Array(20_000));
      const correlation = first.reduce((sum, x, i) => sum + x * second[i], 0) / first.length;
      expect(Math.abs(correlation)).toBeLessThan(4 / Math.sqrt(first.length));
    }
  });

  it('has the moments of its distributions', () => {
    const n = 100_000;
    const normal = Rng.fromSeed(1).fillNormal(new Float64Array(n));
    const moment = (k: number) => normal.reduce((sum, x) => sum + x ** k, 0) / n;
    expect(Math.abs(moment(1))).toBeLessThan(4 / Math.sqrt(n));
    expect(Math.abs(moment(2) - 1)).toBeLessThan(4 * Math.sqrt(2 / n));
    expect(Math.abs(moment(3))).toBeLessThan(4 * Math.sqrt(15 / n));
    expect(Math.abs(moment(4) - 3)).toBeLessThan(4 * Math.sqrt(96 / n));
    const uniform = Rng.fromSeed(2).fillUniform(new Float64Array(n), -1, 3);
    expect(Math.abs(uniform.reduce((sum, x) => sum + x, 0) / n - 1)).toBeLessThan(
      (4 * Math.sqrt(16 / 12)) / Math.sqrt(n),
    );
    expect(Math.min(...uniform.subarray(0, 100_000))).toBeGreaterThan(-1);
    expect(Math.max(...uniform.subarray(0, 100_000))).toBeLessThan(3);
  });

  it('permutes every element once and draws integers in range', () => {
    const rng = Rng.fromSeed(3);
    expect([...rng.permutation(1000)].sort((a, b) => a - b)).toEqual(Array.from({ length: 1000 }, (_, i) => i));
    const counts = new Uint32Array(7);
    for (let i = 0; i < 70_000; i++) counts[rng.int(7)]++;
    const chiSquare = counts.reduce((sum, count) => sum + (count - 10_000) ** 2 / 10_000, 0);
    expect(chiSquare).toBeLessThan(22.5); // 0.1 % point of chi-square with 6 degrees of freedom
  });
});

it('the SIMD kernel exists on this machine, so that the tests above covered it', () => {
  expect(makeRngKernel()).toBeDefined();
});
