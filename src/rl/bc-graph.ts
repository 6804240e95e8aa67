// One minibatch step of behaviour cloning as a graph. theta is the policy.

import {
  adamStep,
  gather,
  gaussianLogProb,
  gradients,
  neg,
  ParamLayout,
  reduceMean,
  reduceSum,
  slice,
  square,
  sub,
  type TrainerSpec,
  type Value,
} from '../nn/index.js';
import type { BcConfig } from './config.js';
import { density } from './policy-density.js';
import { type PolicyNet, policyGaussian, policyParams } from './policy-net.js';

export function bcLayout(net: PolicyNet, config: BcConfig): ParamLayout {
  return new ParamLayout(policyParams(net, { logStd: config.initLogStd }));
}

/**
 * The trainer: state theta, m, v; input `rows` [n, obsDim + actionDim] (obs, then the action in [-1, 1] units or as a
 * class index); per step `indices` [batchSize] into it.
 */
export function bcTrainer(net: PolicyNet, config: BcConfig): TrainerSpec {
  const layout = bcLayout(net, config);
  const { size } = layout;
  const width = net.obsDim + net.actions.dim;
  return {
    name: 'bc',
    state: { theta: [size], m: [size], v: [size] },
    inputs: { rows: { dtype: 'float32', shape: ['rows', width] } },
    perStep: {
      indices: { dtype: 'int32', shape: [config.batchSize] },
      adamAlpha: { dtype: 'float32', shape: [] },
      adamEpsilon: { dtype: 'float32', shape: [] },
    },
    body({ state, inputs, perStep }) {
      const rows = gather(inputs.rows, perStep.indices, 0);
      const obs = slice(rows, 1, 0, net.obsDim);
      const action = slice(rows, 1, net.obsDim, width);
      const loss = cloningLoss(net, config, layout.unpack(state.theta), obs, action);
      const [grad] = gradients(loss, [state.theta]);
      const scalars = { alpha: perStep.adamAlpha, epsilon: perStep.adamEpsilon };
      const { theta, m, v } = state;
      return {
        state: { ...adamStep({ theta, m, v, grad, ...scalars, decay: config.weightDecay * config.lr }) },
        metrics: { loss },
      };
    },
  };
}

function cloningLoss(
  net: PolicyNet,
  config: BcConfig,
  params: Record<string, Value>,
  obs: Value,
  action: Value,
): Value {
  if (net.actions.type === 'discrete') return neg(reduceMean(density(net, params, obs, action).logProb));
  const { mean, logStd } = policyGaussian(net, params, obs);
  if (config.loss === 'nll') return neg(reduceMean(gaussianLogProb(action, mean, logStd)));
  return reduceMean(reduceSum(square(sub(mean, action)), [1]));
}
