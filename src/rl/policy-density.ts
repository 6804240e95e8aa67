// How likely a policy was to act as it did, for learners that raise or lower that.

import type { Value } from '../nn/graph.js';
import { equal, exp, logSoftmax, mul, neg, reduceMean, reduceSum, sub, where } from '../nn/ops.js';
import { gaussianEntropy, gaussianLogProb } from '../nn/parameters.js';
import { type PolicyNet, policyGaussian, policyTrunk } from './policy-net.js';

export interface Density {
  /** [rows], over the environment's units, as the acting policy answers it. */
  readonly logProb: Value;
  /** Mean over rows, scalar; of a Gaussian over [-1, 1] units. */
  readonly entropy: Value;
}

/** Density of raw actions (indices for a Discrete, [-1, 1] units for a Box) under the policy of `params`. */
export function density(net: PolicyNet, params: Record<string, Value>, obs: Value, action: Value): Density {
  if (net.actions.type === 'discrete') {
    const logits = logSoftmax(policyTrunk(net, params, obs), 1);
    const classes = obs.graph.constant([...Array(net.actions.n).keys()], [1, net.actions.n]);
    const logProb = reduceSum(where(equal(classes, action), logits, 0), [1]);
    return { logProb, entropy: neg(reduceMean(reduceSum(mul(exp(logits), logits), [1]))) };
  }
  const { mean, logStd } = policyGaussian(net, params, obs);
  const logScale = net.actions.scale.reduce((sum, s) => sum + Math.log(s), 0);
  return { logProb: sub(gaussianLogProb(action, mean, logStd), logScale), entropy: reduceSum(gaussianEntropy(logStd)) };
}
