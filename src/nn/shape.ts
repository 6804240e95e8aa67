// Rules of shapes: numpy broadcasting over sizes and named (symbolic) sizes, and axis handling.

import type { Dim } from './tensor.js';

/** The broadcast of two shapes, or undefined if they do not fit. A named size meeting a number > 1 is taken to be it. */
export function broadcast(a: readonly Dim[], b: readonly Dim[]): Dim[] | undefined {
  const rank = Math.max(a.length, b.length);
  const out: Dim[] = [];
  for (let i = 0; i < rank; i++) {
    const left = a[i - rank + a.length] ?? 1;
    const right = b[i - rank + b.length] ?? 1;
    const dim = broadcastDim(left, right);
    if (dim === undefined) return undefined;
    out.push(dim);
  }
  return out;
}

function broadcastDim(a: Dim, b: Dim): Dim | undefined {
  if (a === b || b === 1) return a;
  if (a === 1) return b;
  if (typeof a === 'number') return typeof b === 'number' ? undefined : a;
  return typeof b === 'number' ? b : undefined;
}

/** Whether two shapes are the same, size by size. */
export function sameShape(a: readonly Dim[], b: readonly Dim[]): boolean {
  return a.length === b.length && a.every((dim, i) => dim === b[i]);
}

/** Whether every size is a number. */
export function isStatic(shape: readonly Dim[]): shape is readonly number[] {
  return shape.every((dim) => typeof dim === 'number');
}

/** Product of sizes, or undefined if one is symbolic. */
export function countOf(shape: readonly Dim[]): number | undefined {
  let count = 1;
  for (const dim of shape) {
    if (typeof dim !== 'number') return undefined;
    count *= dim;
  }
  return count;
}

/** `axis` counted from the front, or undefined if it is out of range. */
export function normalAxis(axis: number, rank: number): number | undefined {
  const fromFront = axis < 0 ? axis + rank : axis;
  return Number.isInteger(axis) && fromFront >= 0 && fromFront < rank ? fromFront : undefined;
}

/** The sum of sizes along one axis, symbolic if any is. */
export function sumDims(dims: readonly Dim[]): Dim {
  const symbols = dims.filter((dim) => typeof dim === 'string');
  let constant = 0;
  for (const dim of dims) if (typeof dim === 'number') constant += dim;
  if (symbols.length === 0) return constant;
  return constant === 0 ? symbols.join('+') : `${symbols.join('+')}+${constant}`;
}
