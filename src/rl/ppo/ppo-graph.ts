// One minibatch step of PPO as a graph, and its value network. theta = [policy | value].

import { gradients } from '../../nn/autodiff.js';
import { Graph, type Value } from '../../nn/graph.js';
import {
  add,
  cast,
  clip,
  div,
  exp,
  gather,
  greater,
  maximum,
  minimum,
  mul,
  neg,
  reduceMean,
  slice,
  sqrt,
  square,
  squeeze,
  sub,
} from '../../nn/ops.js';
import {
  adamStep,
  clipByGlobalNorm,
  type MlpInit,
  mlp,
  mlpSpecs,
  ParamLayout,
  type ParamSpec,
} from '../../nn/parameters.js';
import type { TrainerSpec } from '../../nn/trainer.js';
import type { PpoConfig } from '../config.js';
import { density } from '../policy-density.js';
import { type PolicyNet, policyParams } from '../policy-net.js';

type Params = Record<string, Value>;

export interface PpoLayout {
  readonly all: ParamLayout;
  readonly policy: ParamLayout;
  readonly value: ParamLayout;
}

/** Orthogonal, as in CleanRL: a nearly uniform policy at first. */
const initialised = (outputGain: number): MlpInit => ({ kind: 'orthogonal', gain: Math.SQRT2, outputGain });

export function ppoLayout(net: PolicyNet, config: PpoConfig): PpoLayout {
  const policy = policyParams(net, { mlp: initialised(0.01), logStd: config.initLogStd });
  const value = valueParams(net);
  return {
    all: new ParamLayout([...policy, ...value]),
    policy: new ParamLayout(policy),
    value: new ParamLayout(value),
  };
}

function valueParams(net: PolicyNet): ParamSpec[] {
  return mlpSpecs('value', [net.obsDim, ...net.hidden, 1], initialised(1));
}

function stateValue(net: PolicyNet, params: Params, obs: Value): Value {
  return squeeze(mlp(params, 'value', obs, net.hidden.length + 1, net.activation), [1]);
}

/** V(obs): inputs theta [value size], obs [batch, obsDim]; output value [batch]. */
export function valueModel(net: PolicyNet): Uint8Array {
  const graph = new Graph('value');
  const layout = new ParamLayout(valueParams(net));
  const params = layout.unpack(graph.input('theta', 'float32', [layout.size]));
  graph.output('value', stateValue(net, params, graph.input('obs', 'float32', ['batch', net.obsDim])));
  return graph.toModel();
}

/** Columns of the matrix a PPO update gathers its minibatches from. */
export const PPO_SCALARS = ['logProb', 'advantage', 'returns', 'value'] as const;

/**
 * The trainer: state theta, m, v; input `rows` [n, obsDim + actionDim + 4] (obs, raw action, then PPO_SCALARS);
 * per step `indices` [batchSize] into it.
 */
export function ppoTrainer(net: PolicyNet, config: PpoConfig): TrainerSpec {
  const layout = ppoLayout(net, config);
  const width = net.obsDim + net.actions.dim + PPO_SCALARS.length;
  const { size } = layout.all;
  return {
    name: 'ppo',
    state: { theta: [size], m: [size], v: [size] },
    inputs: { rows: { dtype: 'float32', shape: ['rows', width] } },
    perStep: {
      indices: { dtype: 'int32', shape: [config.batchSize] },
      adamAlpha: { dtype: 'float32', shape: [] },
      adamEpsilon: { dtype: 'float32', shape: [] },
    },
    body({ state, inputs, perStep }) {
      const params = layout.all.unpack(state.theta);
      const { loss, metrics } = ppoLoss(net, config, params, minibatch(net, gather(inputs.rows, perStep.indices, 0)));
      const [gradient] = gradients(loss, [state.theta]);
      const grad = clipByGlobalNorm(gradient, config.maxGradNorm);
      const { theta, m, v } = state;
      const next = adamStep({ theta, m, v, grad, alpha: perStep.adamAlpha, epsilon: perStep.adamEpsilon });
      return { state: { ...next }, metrics };
    },
  };
}

interface Minibatch {
  readonly obs: Value;
  readonly action: Value;
  readonly logProb: Value;
  readonly advantage: Value;
  readonly returns: Value;
  readonly value: Value;
}

function minibatch(net: PolicyNet, rows: Value): Minibatch {
  const start = net.obsDim + net.actions.dim;
  const [logProb, advantage, returns, value] = PPO_SCALARS.map((_, i) =>
    squeeze(slice(rows, 1, start + i, start + i + 1), [1]),
  );
  return {
    obs: slice(rows, 1, 0, net.obsDim),
    action: slice(rows, 1, net.obsDim, start),
    logProb,
    advantage,
    returns,
    value,
  };
}

/** Clipped surrogate (1707.06347, eq. 7) + value loss - entropy bonus, and what to watch. */
export function ppoLoss(net: PolicyNet, config: PpoConfig, params: Params, batch: Minibatch) {
  const { logProb, entropy } = density(net, params, batch.obs, batch.action);
  const logRatio = sub(logProb, batch.logProb);
  const ratio = exp(logRatio);
  const advantage = config.normaliseAdvantage ? standardised(batch.advantage) : batch.advantage;
  const clipped = clip(ratio, 1 - config.clipRatio, 1 + config.clipRatio);
  const policyLoss = neg(reduceMean(minimum(mul(ratio, advantage), mul(clipped, advantage))));
  const valueLoss = ppoValueLoss(config, stateValue(net, params, batch.obs), batch);
  const bonus = mul(config.entropyCoefficient, entropy);
  const loss = sub(add(policyLoss, mul(config.valueCoefficient, valueLoss)), bonus);
  const outside = greater(mul(sub(ratio, 1), sub(ratio, 1)), config.clipRatio ** 2);
  // The k3 estimator of KL(old || new): unbiased and never negative.
  const approxKl = reduceMean(sub(sub(ratio, 1), logRatio));
  const clipFraction = reduceMean(cast(outside, 'float32'));
  return { loss, metrics: { policyLoss, valueLoss, entropy, approxKl, clipFraction } };
}

function ppoValueLoss(config: PpoConfig, value: Value, batch: Minibatch): Value {
  const error = square(sub(value, batch.returns));
  if (!config.clipValue) return mul(0.5, reduceMean(error));
  const moved = clip(sub(value, batch.value), -config.clipRatio, config.clipRatio);
  const clippedError = square(sub(add(batch.value, moved), batch.returns));
  return mul(0.5, reduceMean(maximum(error, clippedError)));
}

function standardised(x: Value): Value {
  const centred = sub(x, reduceMean(x));
  return div(centred, add(sqrt(reduceMean(square(centred))), 1e-8));
}
