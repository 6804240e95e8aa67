// Adam and AdamW with scaled moments, and clipping by global norm, as graph nodes.
// The moments carried are M = m / (1 - beta1) and V = v / (1 - beta2), which saves two passes over the parameters a step;
// all bias correction lies in two scalars that the host computes (`adamScalars`).

import type { Value } from './graph.js';
import { add, div, minimum, mul, type Operand, sqrt, square, sub } from './ops-elementwise.js';
import { reduceSum } from './ops-reduce.js';

export interface AdamArguments {
  readonly theta: Value;
  /** Scaled first moment, zeros at first. */
  readonly m: Value;
  /** Scaled second moment, zeros at first. */
  readonly v: Value;
  readonly grad: Value;
  /** From `adamScalars` of this step. */
  readonly alpha: Operand;
  /** From `adamScalars` of this step. */
  readonly epsilon: Operand;
  readonly beta1?: number;
  readonly beta2?: number;
  /** Decoupled weight decay (Loshchilov and Hutter 2019): the fraction of theta lost this step, lr · lambda; a value may give one per parameter. */
  readonly decay?: Operand;
}

/** One Adam step (Kingma and Ba 2015): the new theta, m and v. */
export function adamStep(step: AdamArguments): { theta: Value; m: Value; v: Value } {
  const { theta, grad, beta1 = 0.9, beta2 = 0.999, decay = 0 } = step;
  const m = add(mul(step.m, beta1), grad);
  const v = add(mul(step.v, beta2), square(grad));
  const update = div(mul(m, step.alpha), add(sqrt(v), step.epsilon));
  const kept = decay === 0 ? theta : mul(theta, sub(theta.graph.constant(1), decay));
  return { theta: sub(kept, update), m, v };
}

/**
 * Step size and epsilon of Adam's step number `step` (from 1) for scaled moments; feed them per step.
 * @param lr learning rate
 */
export function adamScalars(
  step: number,
  lr: number,
  beta1 = 0.9,
  beta2 = 0.999,
  eps = 1e-8,
): { alpha: number; epsilon: number } {
  const correction = Math.sqrt(1 - beta2 ** step) / Math.sqrt(1 - beta2);
  return { alpha: ((lr * (1 - beta1)) / (1 - beta1 ** step)) * correction, epsilon: eps * correction };
}

/** Euclidean norm of all elements. */
export function globalNorm(grad: Value): Value {
  return sqrt(reduceSum(square(grad)));
}

/** The gradient, shrunk to norm `maxNorm` if it is longer. */
export function clipByGlobalNorm(grad: Value, maxNorm: number): Value {
  return mul(grad, minimum(div(maxNorm, add(globalNorm(grad), 1e-6)), 1));
}
