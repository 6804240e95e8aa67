// Action distributions as graph nodes: diagonal Gaussian, tanh-squashed Gaussian, categorical.
// Noise is always fed, never drawn inside a graph. Actions lie along the last axis, which log-probabilities and entropies sum over.

import type { Value } from './graph.js';
import { add, exp, mul, neg, softplus, square, sub, tanh } from './ops-elementwise.js';
import { takeAlongAxis } from './ops-index.js';
import { logSoftmax, reduceSum } from './ops-reduce.js';
import { squeeze, unsqueeze } from './ops-shape.js';

const HALF_LOG_2PI = 0.5 * Math.log(2 * Math.PI);

/** Log-density [rows] of x [rows, dim] under independent normals; `logStd` may be [dim]. */
export function gaussianLogProb(x: Value, mean: Value, logStd: Value): Value {
  const z = mul(sub(x, mean), exp(neg(logStd)));
  return reduceSum(sub(sub(mul(square(z), -0.5), logStd), HALF_LOG_2PI), [-1]);
}

/** Entropy of independent normals, summed over the last axis of `logStd`. */
export function gaussianEntropy(logStd: Value): Value {
  return reduceSum(add(logStd, 0.5 + HALF_LOG_2PI), [-1]);
}

/** mean + exp(logStd) · noise, with standard normal noise. */
export function gaussianSample(mean: Value, logStd: Value, noise: Value): Value {
  return add(mean, mul(exp(logStd), noise));
}

/**
 * A sample of a Gaussian squashed by tanh, and its log-density [rows] (Haarnoja et al. 2018, appendix C).
 * log(1 - tanh(u)^2) is computed as 2 (log 2 - u - softplus(-2u)), which does not overflow for large |u|.
 * @param mean [rows, dim]
 * @param logStd [rows, dim]
 * @param noise standard normal [rows, dim]
 */
export function tanhNormalSample(
  mean: Value,
  logStd: Value,
  noise: Value,
): { action: Value; logProb: Value; preTanh: Value } {
  const preTanh = gaussianSample(mean, logStd, noise);
  const density = sub(mul(square(noise), -0.5), logStd);
  return { action: tanh(preTanh), preTanh, logProb: reduceSum(add(density, squashCorrection(preTanh)), [-1]) };
}

/** Log-density [rows] of tanh(preTanh) under a squashed Gaussian. */
export function tanhNormalLogProb(preTanh: Value, mean: Value, logStd: Value): Value {
  const z = mul(sub(preTanh, mean), exp(neg(logStd)));
  return reduceSum(add(sub(mul(square(z), -0.5), logStd), squashCorrection(preTanh)), [-1]);
}

/** -log(1 - tanh(u)^2) minus the Gaussian's constant, per element. */
function squashCorrection(u: Value): Value {
  return add(mul(add(u, softplus(mul(u, -2))), 2), -2 * Math.LN2 - HALF_LOG_2PI);
}

/** Log-probability [rows] of the chosen actions (int32 [rows]) under logits [rows, n]. */
export function categoricalLogProb(logits: Value, actions: Value): Value {
  return squeeze(takeAlongAxis(logSoftmax(logits), unsqueeze(actions, [-1]), -1), [-1]);
}

/** Entropy [rows] of logits [rows, n]. */
export function categoricalEntropy(logits: Value): Value {
  const logProbs = logSoftmax(logits);
  return neg(reduceSum(mul(exp(logProbs), logProbs), [-1]));
}
