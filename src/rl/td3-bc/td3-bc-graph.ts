// One gradient step of TD3+BC as a graph: twin critics on smoothed targets (TD3, Fujimoto et al. 2018, 1802.09477, algorithm 1), and a
// policy that follows the first of them and stays near the actions of the data (Fujimoto & Gu 2021, 2106.06860, equation 3). All
// parameters are one vector theta = [critics | policy], with one Adam over it; the policy's part moves once in so many steps.

import { gradients } from '../../nn/autodiff.js';
import { Graph, type Value } from '../../nn/graph.js';
import {
  abs,
  add,
  cast,
  clip,
  div,
  greater,
  minimum,
  mul,
  reduceMean,
  reduceSum,
  split,
  square,
  squeeze,
  stopGradient,
  sub,
  where,
} from '../../nn/ops.js';
import { adamStep, mlpSpecs, ParamLayout, type ParamSpec } from '../../nn/parameters.js';
import type { TrainerSpec } from '../../nn/trainer.js';
import type { Td3BcConfig } from '../config.js';
import { type PolicyNet, policyGaussian, policyParams } from '../policy-net.js';
import { criticValues, normalisedActions } from '../sac/critics.js';
import type { BoxActions } from '../spaces.js';

type Params = Record<string, Value>;

export interface Td3BcLayout {
  readonly all: ParamLayout;
  readonly critic: ParamLayout;
  readonly policy: ParamLayout;
}

export function td3BcLayout(net: PolicyNet, config: Td3BcConfig): Td3BcLayout {
  const critic: ParamSpec[] = mlpSpecs('critic', [net.obsDim + net.actions.dim, ...config.hidden, 1], undefined, 2);
  const policy = policyParams(net, { logStd: Math.log(config.explorationNoise) });
  return {
    all: new ParamLayout([...critic, ...policy]),
    critic: new ParamLayout(critic),
    policy: new ParamLayout(policy),
  };
}

/**
 * The trainer: state theta, m, v and target [size]; per step a batch of `config.batchSize` rows. `discount` is gamma, or 0 where
 * terminated; `weight` the importance weight; `policyStep` 1 where the policy and all targets move, else 0.
 */
export function td3BcTrainer(net: PolicyNet, config: Td3BcConfig): TrainerSpec {
  const { size } = td3BcLayout(net, config).all;
  const rows = config.batchSize;
  const matrix = (width: number) => ({ dtype: 'float32' as const, shape: [rows, width] });
  const column = { dtype: 'float32' as const, shape: [rows] };
  const scalar = { dtype: 'float32' as const, shape: [] };
  return {
    name: 'td3-bc',
    state: { theta: [size], m: [size], v: [size], target: [size] },
    inputs: {},
    perStep: {
      ...{ obs: matrix(net.obsDim), action: matrix(net.actions.dim), reward: column, discount: column },
      ...{ nextObs: matrix(net.obsDim), weight: column, nextNoise: matrix(net.actions.dim) },
      ...{ adamAlpha: scalar, adamEpsilon: scalar, policyAlpha: scalar, policyEpsilon: scalar, policyStep: scalar },
    },
    body: ({ state, perStep }) => step(net, config, state, perStep),
  };
}

function step(net: PolicyNet, config: Td3BcConfig, state: Params, perStep: Params) {
  const layout = td3BcLayout(net, config);
  const { theta, m, v, target } = state;
  const batch = { ...perStep, action: normalisedActions(perStep.action, net.actions as BoxActions) } as Params;
  const params = layout.all.unpack(theta);
  const q = criticValues(shapeOf(config), params, batch.obs, batch.action);
  const error = sub(q, stopGradient(smoothedTarget(net, config, layout.all.unpack(target), batch)));
  const critic = reduceMean(mul(batch.weight, mul(0.5, reduceSum(square(error), [0]))));
  const { loss: policy, cloning } = policyLoss(net, config, params, batch);
  const [grad] = gradients(add(critic, policy), [theta]);

  const isPolicy = ofPolicy(theta, layout);
  const each = (forPolicy: Value, forCritics: Value) => where(isPolicy, forPolicy, forCritics);
  const next = adamStep({
    ...{ theta, m, v, grad },
    alpha: each(perStep.policyAlpha, perStep.adamAlpha),
    epsilon: each(perStep.policyEpsilon, perStep.adamEpsilon),
  });
  const isMoved = greater(add(perStep.policyStep, where(isPolicy, 0, 1)), 0.5);
  const moved = where(isMoved, next.theta, theta);
  return {
    state: {
      ...{ theta: moved, m: where(isMoved, next.m, m), v: where(isMoved, next.v, v) },
      target: add(target, mul(mul(perStep.policyStep, config.tau), sub(moved, target))),
    },
    metrics: { criticLoss: critic, policyLoss: policy, cloningLoss: cloning, q: reduceMean(q) },
  };
}

/** Which elements of theta are the policy's, as booleans. */
function ofPolicy(theta: Value, layout: Td3BcLayout): Value {
  const part = new Float32Array(layout.all.size).fill(1, layout.critic.size);
  return cast(theta.graph.initializer('policyPart', [layout.all.size], part), 'bool');
}

function shapeOf({ hidden, activation }: Td3BcConfig) {
  return { hidden, activation, criticLayerNorm: false };
}

/** The policy's mode in [-1, 1] units before it is clipped, [rows, dim]. */
function modeOf(net: PolicyNet, params: Params, obs: Value): Value {
  return policyGaussian(net, params, obs).mean;
}

/** y = r + discount * the lesser of Q'(s', clip(pi'(s') + clipped noise)), [rows]. */
function smoothedTarget(net: PolicyNet, config: Td3BcConfig, target: Params, batch: Params): Value {
  const { targetNoise, targetNoiseClip, rewardScale } = config;
  const noise = clip(mul(batch.nextNoise, targetNoise), -targetNoiseClip, targetNoiseClip);
  const action = clip(add(clip(modeOf(net, target, batch.nextObs), -1, 1), noise), -1, 1);
  const [first, second] = split(criticValues(shapeOf(config), target, batch.nextObs, action), 0, [1, 1]);
  const reward = rewardScale === 1 ? batch.reward : mul(batch.reward, rewardScale);
  return add(reward, mul(batch.discount, squeeze(minimum(first, second), [0])));
}

/** - alpha Q1(s, pi(s)) / mean |Q1| + (pi(s) - a)²: the scale of rewards does not matter. */
function policyLoss(net: PolicyNet, config: Td3BcConfig, params: Params, { obs, action }: Params) {
  const mode = modeOf(net, params, obs);
  const frozen = Object.fromEntries(Object.entries(params).map(([name, value]) => [name, stopGradient(value)]));
  const [first] = split(criticValues(shapeOf(config), frozen, obs, clip(mode, -1, 1)), 0, [1, 1]);
  const scale = add(stopGradient(reduceMean(abs(first))), 1e-6);
  const cloning = reduceMean(square(sub(mode, action)));
  return { loss: sub(cloning, div(mul(config.alpha, reduceMean(first)), scale)), cloning };
}

/** |Q - y| of given rows, mean over the twins: inputs theta, target and a batch without weight; output tdError [batch]. */
export function td3BcErrorModel(net: PolicyNet, config: Td3BcConfig): Uint8Array {
  const graph = new Graph('td3-bc td error');
  const { all } = td3BcLayout(net, config);
  const params = all.unpack(graph.input('theta', 'float32', [all.size]));
  const target = all.unpack(graph.input('target', 'float32', [all.size]));
  const matrix = (name: string, width: number) => graph.input(name, 'float32', ['batch', width]);
  const column = (name: string) => graph.input(name, 'float32', ['batch']);
  const batch = {
    obs: matrix('obs', net.obsDim),
    action: normalisedActions(matrix('action', net.actions.dim), net.actions as BoxActions),
    ...{ reward: column('reward'), discount: column('discount') },
    ...{ nextObs: matrix('nextObs', net.obsDim), nextNoise: matrix('nextNoise', net.actions.dim) },
  };
  const q = criticValues(shapeOf(config), params, batch.obs, batch.action);
  graph.output('tdError', reduceMean(abs(sub(q, smoothedTarget(net, config, target, batch))), [0]));
  return graph.toModel();
}
