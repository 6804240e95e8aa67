// Matrix products: plain, batched, and the fused affine map of a dense layer.

import type { Value } from './graph.js';
import { add } from './ops-elementwise.js';
import { broadcast } from './shape.js';

/** a · b of matrices [m, k] and [k, n]; leading batch axes broadcast. */
export function matMul(a: Value, b: Value): Value {
  const [m, k] = a.shape.slice(-2);
  const [k2, n] = b.shape.slice(-2);
  const batch = broadcast(a.shape.slice(0, -2), b.shape.slice(0, -2));
  if (a.shape.length < 2 || b.shape.length < 2 || k !== k2 || batch === undefined) {
    throw a.graph.mismatch('MatMul', 'the shapes do not multiply', [a, b]);
  }
  return a.graph.add('MatMul', [a, b], {}, [{ dtype: a.dtype, shape: [...batch, m, n] }])[0];
}

/** op(a) · op(b) of 2-D matrices, each transposed if told so, plus an optional addend that broadcasts. */
export function gemm(a: Value, b: Value, { transA = false, transB = false, c }: GemmOptions = {}): Value {
  const [m, k] = transA ? [a.shape[1], a.shape[0]] : a.shape;
  const [k2, n] = transB ? [b.shape[1], b.shape[0]] : b.shape;
  if (a.shape.length !== 2 || b.shape.length !== 2 || k !== k2)
    throw a.graph.mismatch('Gemm', 'the shapes do not multiply', [a, b]);
  const inputs = c === undefined ? [a, b] : [a, b, c];
  const attributes = { transA: Number(transA), transB: Number(transB) };
  return a.graph.add('Gemm', inputs, attributes, [{ dtype: a.dtype, shape: [m, n] }])[0];
}

interface GemmOptions {
  readonly transA?: boolean;
  readonly transB?: boolean;
  readonly c?: Value;
}

/** x · w + b: x [rows, in], w [in, out], b [out]; or a member each: x [E, rows, in], w [E, in, out], b [E, 1, out]. */
export function linear(x: Value, w: Value, b: Value): Value {
  if (x.shape.length === 2 && w.shape.length === 2 && b.shape.length <= 2) return gemm(x, w, { c: b });
  return add(matMul(x, w), b);
}
