// Element-wise operators with numpy broadcasting. Arithmetic with scalar constants is folded while the graph is built.

import { Graph, Value, withGradient } from './graph.js';
import { ELEMENT_TYPE } from './onnx-format.js';
import { broadcast } from './shape.js';
import type { DType } from './tensor.js';

/** A tensor of the graph, or a number that becomes a scalar constant of the other operand's type. */
export type Operand = Value | number;

/** The scalar a value is known to hold, if it is a float32 scalar constant. */
export function scalarOf(value: Value): number | undefined {
  const { literal } = value;
  return literal?.dtype === 'float32' && literal.dims.length === 0 ? Number(literal.data[0]) : undefined;
}

/** The inputs of the node that made x, if it is of this operator and differentiated by its own rule; else nothing. */
function madeBy(x: Value, op: string): readonly Value[] {
  const isPlain = x.producer?.op === op && x.customGradient === undefined;
  return isPlain ? (x.producer!.inputs as readonly Value[]) : [];
}

/** The operands as values of one graph; numbers take the type of the first value among them. */
function operands(op: string, ...given: readonly Operand[]): Value[] {
  const first = given.find((operand) => operand instanceof Value);
  if (first === undefined) throw new Graph('none').mismatch(op, 'at least one operand must be a value of a graph', []);
  return given.map((operand) => (operand instanceof Value ? operand : first.graph.literal(first.dtype, [operand], [])));
}

function binary(op: string, left: Operand, right: Operand, resultType?: DType): Value {
  const [a, b] = operands(op, left, right);
  const shape = broadcast(a.shape, b.shape);
  if (shape === undefined) throw a.graph.mismatch(op, 'the shapes do not broadcast', [a, b]);
  if (a.dtype !== b.dtype) throw a.graph.mismatch(op, 'the types differ', [a, b]);
  return a.graph.add(op, [a, b], {}, [{ dtype: resultType ?? a.dtype, shape }])[0];
}

function unary(op: string, x: Value): Value {
  return x.graph.add(op, [x], {}, [{ dtype: x.dtype, shape: x.shape }])[0];
}

export function add(left: Operand, right: Operand): Value {
  const [a, b] = operands('Add', left, right);
  const [s, t] = [scalarOf(a), scalarOf(b)];
  if (s !== undefined && t !== undefined) return a.graph.constant(s + t);
  if (s === 0) return b;
  if (t === 0) return a;
  const [negatedB] = madeBy(b, 'Neg');
  if (negatedB) return sub(a, negatedB);
  const [negatedA] = madeBy(a, 'Neg');
  return negatedA ? sub(b, negatedA) : binary('Add', a, b);
}

export function sub(left: Operand, right: Operand): Value {
  const [a, b] = operands('Sub', left, right);
  const [s, t] = [scalarOf(a), scalarOf(b)];
  if (s !== undefined && t !== undefined) return a.graph.constant(s - t);
  if (t === 0) return a;
  if (s === 0) return neg(b);
  const [negatedB] = madeBy(b, 'Neg');
  return negatedB ? add(a, negatedB) : binary('Sub', a, b);
}

export function mul(left: Operand, right: Operand): Value {
  const [a, b] = operands('Mul', left, right);
  const [s, t] = [scalarOf(a), scalarOf(b)];
  if (s !== undefined && t !== undefined) return a.graph.constant(s * t);
  if (s !== undefined) return scale(b, s);
  if (t !== undefined) return scale(a, t);
  return binary('Mul', a, b);
}

/** `x · factor`, merged with a factor or a sign that x already carries. */
function scale(x: Value, factor: number): Value {
  if (factor === 1) return x;
  if (factor === -1) return neg(x);
  const [negated] = madeBy(x, 'Neg');
  if (negated) return scale(negated, -factor);
  const [scaled, known] = madeBy(x, 'Mul');
  const inner = known && scalarOf(known);
  if (inner !== undefined) return scale(scaled, inner * factor);
  return binary('Mul', x, factor);
}

export function div(left: Operand, right: Operand): Value {
  const [a, b] = operands('Div', left, right);
  const divisor = scalarOf(b);
  return divisor === undefined ? binary('Div', a, b) : mul(a, 1 / divisor);
}

export function neg(x: Value): Value {
  const known = scalarOf(x);
  if (known !== undefined) return x.graph.constant(-known);
  const [negated] = madeBy(x, 'Neg');
  if (negated) return negated;
  const [minuend, subtrahend] = madeBy(x, 'Sub');
  if (minuend) return sub(subtrahend, minuend);
  const [scaled, factor] = madeBy(x, 'Mul');
  return factor && scalarOf(factor) !== undefined ? scale(scaled, -scalarOf(factor)!) : unary('Neg', x);
}

export function square(x: Value): Value {
  return mul(x, x);
}

export const exp = (x: Value): Value => unary('Exp', x);
/** Natural logarithm. */
export const log = (x: Value): Value => unary('Log', x);
export const sqrt = (x: Value): Value => unary('Sqrt', x);
export const abs = (x: Value): Value => unary('Abs', x);
/** -1, 0 or 1 by the sign of x; its gradient is zero. */
export const sign = (x: Value): Value => unary('Sign', x);
export const tanh = (x: Value): Value => unary('Tanh', x);
export const sigmoid = (x: Value): Value => unary('Sigmoid', x);
/** log(1 + exp(x)), stable for large |x|. */
export const softplus = (x: Value): Value => unary('Softplus', x);
export const relu = (x: Value): Value => unary('Relu', x);
export const erf = (x: Value): Value => unary('Erf', x);

/** x · sigmoid(x), also called SiLU. */
export function swish(x: Value): Value {
  const s = sigmoid(x);
  const y = mul(x, s);
  // From the outputs: dy/dx = s + y (1 - s) = y + s (1 - y), four nodes with the cotangent.
  return withGradient(y, [x], (g) => [mul(g, add(y, mul(s, sub(1, y))))]);
}

/** x · Φ(x) with the exact error function (Hendrycks and Gimpel 2016). */
export function gelu(x: Value): Value {
  const cdf = mul(add(erf(mul(x, Math.SQRT1_2)), 1), 0.5);
  const density = () => mul(exp(mul(square(x), -0.5)), 1 / Math.sqrt(2 * Math.PI));
  return withGradient(mul(x, cdf), [x], (g) => [mul(g, add(cdf, mul(x, density())))]);
}

/** The smaller of two; where they are equal the gradient goes to `left`. */
export const minimum = (left: Operand, right: Operand): Value => binary('Min', left, right);
/** The larger of two; where they are equal the gradient goes to `left`. */
export const maximum = (left: Operand, right: Operand): Value => binary('Max', left, right);

/** x limited to [min, max]; the gradient is zero outside and one inside and on the borders. */
export function clip(x: Value, min: number, max: number): Value {
  const bounds = [min, max].map((bound) => x.graph.literal(x.dtype, [bound], []));
  return x.graph.add('Clip', [x, ...bounds], {}, [{ dtype: x.dtype, shape: x.shape }])[0];
}

/** `condition ? a : b`, element by element. */
export function where(condition: Value, left: Operand, right: Operand): Value {
  const [a, b] =
    left instanceof Value || right instanceof Value
      ? operands('Where', left, right)
      : [left, right].map((number) => condition.graph.constant(number as number));
  const branches = broadcast(a.shape, b.shape);
  const shape = branches && broadcast(condition.shape, branches);
  if (shape === undefined) throw a.graph.mismatch('Where', 'the shapes do not broadcast', [condition, a, b]);
  if (a.dtype !== b.dtype || condition.dtype !== 'bool') {
    throw a.graph.mismatch('Where', 'it takes a bool and two values of one type', [condition, a, b]);
  }
  return a.graph.add('Where', [condition, a, b], {}, [{ dtype: a.dtype, shape }])[0];
}

export const greater = (left: Operand, right: Operand): Value => binary('Greater', left, right, 'bool');
export const less = (left: Operand, right: Operand): Value => binary('Less', left, right, 'bool');
export const equal = (left: Operand, right: Operand): Value => binary('Equal', left, right, 'bool');
export const and = (a: Value, b: Value): Value => binary('And', a, b);
export const or = (a: Value, b: Value): Value => binary('Or', a, b);
export const not = (x: Value): Value => unary('Not', x);

/** x in another element type; no gradient flows through integers or bools. */
export function cast(x: Value, dtype: DType): Value {
  if (x.dtype === dtype) return x;
  return x.graph.add('Cast', [x], { to: ELEMENT_TYPE[dtype] }, [{ dtype, shape: x.shape }])[0];
}

/** x itself, through which no gradient flows. */
export function stopGradient(x: Value): Value {
  return unary('Identity', x);
}
