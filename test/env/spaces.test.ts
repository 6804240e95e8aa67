import { expect, test } from 'vitest';
import {
  boxSpace,
  clipToSpace,
  contains,
  describeSpace,
  discreteSpace,
  rowSize,
  unboundedSpace,
} from '../../src/env/space-values.js';

const box = boxSpace([-0.4, null], [0.4, null]);

test('a box holds finite rows of its size within float32 bounds', () => {
  expect(contains(box, Float32Array.of(0.4, 1e9))).toBe(true);
  expect(contains(box, Float32Array.of(0.41, 0))).toBe(false);
  expect(contains(box, Float32Array.of(0, Number.NaN))).toBe(false);
  expect(contains(box, Float32Array.of(0))).toBe(false);
  expect(contains(box, [0, 0] as unknown as Float32Array)).toBe(false);
});

test('a discrete space holds its integers only', () => {
  const space = discreteSpace(3, 1);
  expect([0, 1, 3, 4, 1.5].map((value) => contains(space, Float32Array.of(value)))).toEqual([
    false,
    true,
    true,
    false,
    false,
  ]);
});

test('rows are counted, clipped and described', () => {
  expect([rowSize(box), rowSize(unboundedSpace(7)), rowSize(discreteSpace(9))]).toEqual([2, 7, 1]);
  expect(Array.from(clipToSpace(box, Float32Array.of(-9, 5)))).toEqual([Math.fround(-0.4), 5]);
  expect(Array.from(clipToSpace(discreteSpace(3), Float32Array.of(7.6)))).toEqual([2]);
  expect(describeSpace(box)).toBe('box [2] in -0.4..0.4, -inf..inf');
  expect(describeSpace(boxSpace([-1, -1], [1, 1]))).toBe('box [2] in -1..1');
  expect(describeSpace(discreteSpace(4))).toBe('discrete 0..3');
});
