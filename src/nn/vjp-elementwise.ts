// Gradient rules of element-wise operators, written from outputs where that takes fewer nodes.

import type { Value } from './graph.js';
import {
  add,
  cast,
  div,
  equal,
  exp,
  greater,
  less,
  mul,
  neg,
  sigmoid,
  sign,
  square,
  sub,
  where,
} from './ops-elementwise.js';
import { type Rule, unbroadcast } from './vjp.js';

/** For y = a ∘ b: the two cotangents, each folded back to its operand's shape. */
function pair(y: Value, [a, b]: readonly Value[], da: Value, db: Value): readonly Value[] {
  return [unbroadcast(da, y, a), unbroadcast(db, y, b)];
}

/** The cotangent goes to the first operand where `toSecond` is false, else to the second. */
function choose(g: Value, y: Value, inputs: readonly Value[], toSecond: Value): readonly Value[] {
  return pair(y, inputs, where(toSecond, 0, g), where(toSecond, g, 0));
}

export const ELEMENTWISE_RULES: Readonly<Record<string, Rule>> = {
  Add: (g, y, inputs) => pair(y, inputs, g, g),
  Sub: (g, y, inputs) => pair(y, inputs, g, neg(g)),
  Mul: (g, y, inputs) => {
    const [a, b] = inputs;
    if (a === b) return [mul(mul(g, 2), a)];
    return pair(y, inputs, mul(g, b), mul(g, a));
  },
  Div: (g, y, inputs) => {
    const da = div(g, inputs[1]);
    return pair(y, inputs, da, neg(mul(da, y)));
  },
  Min: (g, y, inputs) => choose(g, y, inputs, less(inputs[1], inputs[0])),
  Max: (g, y, inputs) => choose(g, y, inputs, less(inputs[0], inputs[1])),
  Where: (g, y, [condition, a, b]) => [
    undefined,
    unbroadcast(where(condition, g, 0), y, a),
    unbroadcast(where(condition, 0, g), y, b),
  ],
  Neg: (g) => [neg(g)],
  Exp: (g, y) => [mul(g, y)],
  Log: (g, _, [x]) => [div(g, x)],
  Sqrt: (g, y) => [div(mul(g, 0.5), y)],
  Abs: (g, _, [x]) => [mul(g, sign(x))],
  Tanh: (g, y) => [mul(g, sub(1, square(y)))],
  Sigmoid: (g, y) => [mul(g, mul(y, sub(1, y)))],
  Softplus: (g, _, [x]) => [mul(g, sigmoid(x))],
  // Cast and product vectorise; Where takes 1.3 times and the Sign operator 4 times as long.
  Relu: (g, y) => [mul(g, cast(greater(y, 0), 'float32'))],
  Erf: (g, _, [x]) => [mul(g, mul(exp(neg(square(x))), 2 / Math.sqrt(Math.PI)))],
  Clip: (g, y, [x]) => [where(equal(x, y), g, 0)],
  Identity: () => [undefined],
  Sign: () => [undefined],
  Cast: () => [undefined],
  OneHot: () => [undefined],
};

/** Sum of two cotangents of one value. */
export function accumulate(existing: Value | undefined, more: Value): Value {
  return existing === undefined ? more : add(existing, more);
}
