// One gradient step of SAC as a graph: critics, policy, temperature and targets together, so that K of them run in one
// ONNX Loop. All parameters are one vector theta = [critics | policy | log temperature], with one Adam over it.

import { gradients } from '../../nn/autodiff.js';
import { Graph, type Value } from '../../nn/graph.js';
import {
  abs,
  add,
  exp,
  minimum,
  mul,
  neg,
  reduceMean,
  reduceSum,
  slice,
  split,
  square,
  squeeze,
  stopGradient,
  sub,
} from '../../nn/ops.js';
import { adamStep, mlpSpecs, ParamLayout, type ParamSpec } from '../../nn/parameters.js';
import { nativeSacTrainer, type Trainer, type TrainerSpec } from '../../nn/trainer.js';
import type { SacConfig } from '../config.js';
import { type PolicyNet, policyParams } from '../policy-net.js';
import type { BoxActions } from '../spaces.js';
import { criticValues, entropyTarget, normalisedActions, sampledAction } from './critics.js';

type Params = Record<string, Value>;

/** Both critics as an ensemble of two. */
function criticParams(net: PolicyNet, config: SacConfig): ParamSpec[] {
  return mlpSpecs('critic', [net.obsDim + net.actions.dim, ...config.hidden, 1], undefined, 2);
}

export interface SacLayout {
  readonly all: ParamLayout;
  readonly critic: ParamLayout;
  readonly policy: ParamLayout;
}

export function sacLayout(net: PolicyNet, config: SacConfig): SacLayout {
  const critic = criticParams(net, config);
  const policy = policyParams(net);
  const logAlpha: ParamSpec = {
    name: 'logAlpha',
    shape: [1],
    init: { kind: 'constant', value: Math.log(config.initAlpha) },
  };
  return {
    all: new ParamLayout([...critic, ...policy, logAlpha]),
    critic: new ParamLayout(critic),
    policy: new ParamLayout(policy),
  };
}

interface Step {
  readonly obs: Value;
  /** In [-1, 1] units. */
  readonly action: Value;
  readonly reward: Value;
  readonly discount: Value;
  readonly nextObs: Value;
  readonly weight: Value;
  readonly noise: Value;
  readonly nextNoise: Value;
}

type Bootstrap = Pick<Step, 'reward' | 'discount' | 'nextObs' | 'nextNoise'>;

interface Losses {
  readonly critic: Value;
  readonly policy: Value;
  readonly alpha: Value;
  readonly logProb: Value;
  readonly q: Value;
}

/**
 * The trainer: state theta, m, v [size] and target [critic size]; per step a batch of `config.batchSize` rows.
 * `discount` is gamma, or 0 where terminated; `weight` the importance weight.
 * All four updates use the parameters of before the step, as in softlearning's implementation of SAC.
 */
export function sacTrainer(net: PolicyNet, config: SacConfig): TrainerSpec {
  const layout = sacLayout(net, config);
  const rows = config.batchSize;
  const { obsDim } = net;
  const actionDim = net.actions.dim;
  const matrix = (width: number) => ({ dtype: 'float32' as const, shape: [rows, width] });
  const column = { dtype: 'float32' as const, shape: [rows] };
  const scalar = { dtype: 'float32' as const, shape: [] };
  return {
    name: 'sac',
    state: { theta: [layout.all.size], m: [layout.all.size], v: [layout.all.size], target: [layout.critic.size] },
    inputs: {},
    perStep: {
      obs: matrix(obsDim),
      action: matrix(actionDim),
      reward: column,
      discount: column,
      nextObs: matrix(obsDim),
      weight: column,
      noise: matrix(actionDim),
      nextNoise: matrix(actionDim),
      adamAlpha: scalar,
      adamEpsilon: scalar,
    },
    body: ({ state, perStep }) => sacStep(net, config, layout, state, perStep),
  };
}

/**
 * The same by vector code of our own (native/cuda/processor/sac-update.cc): equal but for the order of sums, and the same bytes on
 * every processor. Throws DEVICE_UNAVAILABLE without the addon.
 */
export function nativeTrainerOf(net: PolicyNet, config: SacConfig): Trainer {
  const { hidden, activation, criticLayerNorm, batchSize, tau, rewardScale, actorLr, criticLr, alphaLr } = config;
  const { scale, bias, dim } = net.actions as BoxActions;
  return nativeSacTrainer(sacTrainer(net, config), {
    ...{ obsDim: net.obsDim, actionDim: dim, batchSize, hidden, activation, criticLayerNorm, tau, rewardScale },
    ...{
      targetEntropy: entropyTarget(net, config),
      actorRate: actorLr / criticLr,
      temperatureRate: alphaLr / criticLr,
    },
    ...{ scale: Float32Array.from(scale), bias: Float32Array.from(bias) },
  });
}

function sacStep(net: PolicyNet, config: SacConfig, layout: SacLayout, state: Params, perStep: Params) {
  const { theta, m, v, target } = state;
  const actions = net.actions as BoxActions;
  const step = { ...perStep, action: normalisedActions(perStep.action, actions) } as unknown as Step;
  const losses = sacLosses(net, config, layout.all.unpack(theta), layout.critic.unpack(target), step);
  const [grad] = gradients(add(add(losses.critic, losses.policy), losses.alpha), [theta]);
  const alpha = mul(perStep.adamAlpha, learningRates(theta, config, layout));
  const next = adamStep({ theta, m, v, grad, alpha, epsilon: perStep.adamEpsilon });
  const critics = slice(next.theta, 0, 0, layout.critic.size);
  const logAlpha = slice(theta, 0, layout.all.size - 1, layout.all.size);
  return {
    state: { ...next, target: add(target, mul(config.tau, sub(critics, target))) },
    metrics: {
      criticLoss: losses.critic,
      policyLoss: losses.policy,
      alpha: reduceSum(exp(logAlpha)),
      entropy: neg(reduceMean(losses.logProb)),
      q: reduceMean(losses.q),
    },
  };
}

/**
 * |Q - y| of given rows, mean over the twins: inputs theta, target, and a batch as in `sacTrainer` (without weight and
 * noise); output tdError [batch].
 */
export function tdErrorModel(net: PolicyNet, config: SacConfig): Uint8Array {
  const graph = new Graph('sac td error');
  const layout = sacLayout(net, config);
  const params = layout.all.unpack(graph.input('theta', 'float32', [layout.all.size]));
  const target = layout.critic.unpack(graph.input('target', 'float32', [layout.critic.size]));
  const matrix = (name: string, width: number) => graph.input(name, 'float32', ['batch', width]);
  const column = (name: string) => graph.input(name, 'float32', ['batch']);
  const actionDim = net.actions.dim;
  const step = {
    obs: matrix('obs', net.obsDim),
    action: normalisedActions(matrix('action', actionDim), net.actions as BoxActions),
    reward: column('reward'),
    discount: column('discount'),
    nextObs: matrix('nextObs', net.obsDim),
    nextNoise: matrix('nextNoise', actionDim),
  };
  const y = softTarget(net, config, params, target, step, exp(params.logAlpha));
  graph.output('tdError', reduceMean(abs(sub(criticValues(config, params, step.obs, step.action), y)), [0]));
  return graph.toModel();
}

/** The three losses; `stopGradient` keeps each to its own parameters, so their sum has one gradient for all. */
function sacLosses(net: PolicyNet, config: SacConfig, params: Params, target: Params, step: Step): Losses {
  const alpha = stopGradient(exp(params.logAlpha));
  const y = stopGradient(softTarget(net, config, params, target, step, alpha));
  const q = criticValues(config, params, step.obs, step.action);
  const error = sub(q, y);
  const critic = reduceMean(mul(step.weight, mul(0.5, reduceSum(square(error), [0]))));
  const { action, logProb } = sampledAction(net, params, step.obs, step.noise);
  const frozen = Object.fromEntries(Object.entries(params).map(([name, value]) => [name, stopGradient(value)]));
  const qPolicy = criticValues(config, frozen, step.obs, action);
  const policy = reduceMean(sub(mul(alpha, logProb), smaller(qPolicy)));
  const entropyGap = stopGradient(reduceMean(add(logProb, entropyTarget(net, config))));
  const alphaLoss = neg(reduceSum(mul(params.logAlpha, entropyGap)));
  return { critic, policy, alpha: alphaLoss, logProb, q };
}

/** y = r + discount * (min Q'(s', a') - alpha log pi(a'|s')), [rows]. */
function softTarget(
  net: PolicyNet,
  config: SacConfig,
  params: Params,
  target: Params,
  step: Bootstrap,
  alpha: Value,
): Value {
  const { action, logProb } = sampledAction(net, params, step.nextObs, step.nextNoise);
  const value = sub(smaller(criticValues(config, target, step.nextObs, action)), mul(alpha, logProb));
  const reward = config.rewardScale === 1 ? step.reward : mul(step.reward, config.rewardScale);
  return add(reward, mul(step.discount, value));
}

/** The smaller of the twins, [rows]. */
function smaller(q: Value): Value {
  const [first, second] = split(q, 0, [1, 1]);
  return squeeze(minimum(first, second), [0]);
}

/** Adam's step size relative to the critics', per element of theta; the number 1 if all are equal. */
function learningRates(theta: Value, config: SacConfig, layout: SacLayout): Value | number {
  const { actorLr, criticLr, alphaLr } = config;
  if (actorLr === criticLr && alphaLr === criticLr) return 1;
  const ratios = new Float32Array(layout.all.size).fill(1, 0, layout.critic.size);
  ratios.fill(actorLr / criticLr, layout.critic.size, layout.all.size - 1);
  ratios[layout.all.size - 1] = alphaLr / criticLr;
  return theta.graph.initializer('learningRates', [layout.all.size], ratios);
}
