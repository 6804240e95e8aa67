// TD3+BC (Fujimoto & Gu 2021, 2106.06860): what TD3 learns, held near the actions of the data, so that it can be learned from records
// alone, whose observations are then scaled by mean and deviation. The policy is a Gaussian of fixed width, TD3's exploration noise; its
// mode is clipped to the space where the paper's is squashed.

import type { z } from 'zod';
import type { Rng } from '../core/rng.js';
import { mean } from '../core/statistics.js';
import { gradients } from '../nn/autodiff.js';
import type { Value } from '../nn/graph.js';
import {
  abs,
  add,
  cast,
  clip,
  div,
  greater,
  mul,
  reduceMean,
  split,
  square,
  stopGradient,
  sub,
  where,
} from '../nn/ops.js';
import { adamScalars, adamStep, mlpSpecs, ParamLayout, type ParamSpec } from '../nn/parameters.js';
import { buildTrainer, type TrainerSpec } from '../nn/trainer.js';
import type { TransitionBatch } from '../replay/transition.js';
import { type Td3BcConfig, td3BcConfigSchema } from './config.js';
import { parseConfig, type ReplayLearner } from './learner.js';
import { CriticLearner, noteMoments, withMoments } from './network-learner.js';
import { actingSession, type PolicyNet, policyGaussian, policyNet, policyParams, standardised } from './policy-net.js';
import { batchInputs, criticLoss, criticValues, leastOf, normalised } from './soft-actor-critic-graph.js';
import { boxActions, type Spaces } from './spaces.js';

/** As in the paper, in units of the action normalised to [-1, 1]: what it explores with, and what smooths the actions of targets. */
const [EXPLORATION_NOISE, TARGET_NOISE, TARGET_NOISE_CLIP] = [0.1, 0.2, 0.5];

/** Of an update, means over its steps. `cloningLoss`: mean squared distance to the actions of the data, in [-1, 1] units. */
const FIGURES = ['criticLoss', 'policyLoss', 'cloningLoss', 'q'] as const;

/**
 * A fresh TD3+BC learner; its initial weights come from `rng`.
 * Throws SETTING_INVALID, SCENARIO_UNFIT unless actions are a Box with finite bounds, or DEVICE_UNAVAILABLE.
 */
export async function makeTd3Bc(config: z.input<typeof td3BcConfigSchema>, spaces: Spaces, rng: Rng): Promise<Td3Bc> {
  const settings = parseConfig('TD3+BC learner', td3BcConfigSchema, config, spaces);
  const actions = boxActions(spaces.actionSpace, 'TD3+BC learner');
  const net: PolicyNet = { ...policyNet(spaces, settings, actions, 'gaussian'), standardises: true };
  const layout = layoutOf(net, settings);
  const theta = layout.all.init(rng);
  return new Td3Bc({
    config: settings,
    spaces,
    net,
    trainer: await buildTrainer(trainerOf(net, settings)),
    session: await actingSession(net),
    arrays: { ...withMoments(theta), target: theta.slice() },
    policyStart: layout.critic.size,
    policySize: layout.policy.size,
  });
}

/** Use `makeTd3Bc`. */
class Td3Bc extends CriticLearner<Td3BcConfig> implements ReplayLearner {
  readonly kind = 'td3-bc';

  /**
   * `steps` gradient steps, the i-th on rows [i * batchSize, (i + 1) * batchSize) of `batch`.
   * @param weights importance weight per row (prioritised replay); 1 if absent
   * Throws DATA_MISMATCH or NON_FINITE_VALUE; the learner is then as before the call.
   */
  async update(batch: TransitionBatch, steps: number, rng: Rng, weights?: Float32Array) {
    const columns = this.columnsOf(batch, steps, weights);
    const nextNoise = this.normal(steps * this.config.batchSize, rng);
    const perStep = { ...columns, nextNoise, ...this.policySchedule(steps) };
    const metrics = await this.train({}, perStep, steps, this.config.lr);
    return Object.fromEntries(FIGURES.map((name) => [name, mean(metrics[name])]));
  }

  standardise(obs: Float32Array): void {
    const { all } = layoutOf(this.net, this.config);
    const [theta, target] = [this.current.theta.slice(), this.current.target.slice()];
    for (const weights of [theta, target])
      noteMoments(obs, 0, all.view(weights, 'policy.obsMean'), all.view(weights, 'policy.obsScale'));
    this.replace({ theta, target }, this.gradientSteps);
  }

  protected get replayed(): Td3BcConfig {
    return this.config;
  }

  /** At which steps the policy moves, and Adam's scalars by the number of its own steps. */
  private policySchedule(steps: number) {
    const { policyEvery, lr } = this.config;
    const policyStep = new Float32Array(steps);
    const policyAlpha = new Float32Array(steps);
    const policyEpsilon = new Float32Array(steps);
    for (let i = 0; i < steps; i++) {
      const step = this.gradientSteps + i + 1;
      const own = adamScalars(Math.max(1, Math.floor(step / policyEvery)), lr);
      policyStep[i] = step % policyEvery === 0 ? 1 : 0;
      policyAlpha[i] = own.alpha;
      policyEpsilon[i] = own.epsilon;
    }
    return { policyStep, policyAlpha, policyEpsilon };
  }
}

// One gradient step as a graph: twin critics on smoothed targets (TD3, Fujimoto et al. 2018, 1802.09477, algorithm 1), and a policy that
// follows the first of them and stays near the actions of the data (equation 3). All parameters are one vector theta =
// [critics | policy], with one Adam over it; the policy's part moves once in so many steps.

type Params = Readonly<Record<string, Value>>;

function layoutOf(net: PolicyNet, config: Td3BcConfig) {
  const critic: ParamSpec[] = mlpSpecs('critic', [net.obsDim + net.actions.dim, ...config.hidden, 1], undefined, 2);
  const policy = policyParams(net, { logStd: Math.log(EXPLORATION_NOISE) });
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
function trainerOf(net: PolicyNet, config: Td3BcConfig): TrainerSpec {
  const { size } = layoutOf(net, config).all;
  const scalar = { dtype: 'float32' as const, shape: [] };
  return {
    name: 'td3-bc',
    state: { theta: [size], m: [size], v: [size], target: [size] },
    inputs: {},
    perStep: {
      ...batchInputs(net, config.batchSize),
      ...{ policyAlpha: scalar, policyEpsilon: scalar, policyStep: scalar },
    },
    body: ({ state, perStep }) => step(net, config, state, perStep),
  };
}

function step(net: PolicyNet, config: Td3BcConfig, state: Params, perStep: Params) {
  const layout = layoutOf(net, config);
  const { theta, m, v, target } = state;
  const batch = normalised(net, perStep);
  const params = layout.all.unpack(theta);
  const q = valuesOf(net, config, params, batch.obs, batch.action);
  const y = stopGradient(smoothedTarget(net, config, layout.all.unpack(target), batch));
  const critic = criticLoss(q, y, batch.weight);
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
function ofPolicy(theta: Value, layout: ReturnType<typeof layoutOf>): Value {
  const part = new Float32Array(layout.all.size).fill(1, layout.critic.size);
  return cast(theta.graph.initializer('policyPart', [layout.all.size], part), 'bool');
}

function shapeOf({ hidden, activation }: Td3BcConfig) {
  return { hidden, activation, criticLayerNorm: false };
}

/** The critics' values, [2, rows]. */
function valuesOf(net: PolicyNet, config: Td3BcConfig, params: Params, obs: Value, action: Value): Value {
  return criticValues(shapeOf(config), params, standardised(net, params, obs), action);
}

/** The policy's mode in [-1, 1] units before it is clipped, [rows, dim]. */
function modeOf(net: PolicyNet, params: Params, obs: Value): Value {
  return policyGaussian(net, { ...params }, obs).mean;
}

/** y = r + discount * the lesser of Q'(s', clip(pi'(s') + clipped noise)), [rows]. */
function smoothedTarget(net: PolicyNet, config: Td3BcConfig, target: Params, batch: Params): Value {
  const { rewardScale } = config;
  const noise = clip(mul(batch.nextNoise, TARGET_NOISE), -TARGET_NOISE_CLIP, TARGET_NOISE_CLIP);
  const action = clip(add(clip(modeOf(net, target, batch.nextObs), -1, 1), noise), -1, 1);
  const least = leastOf(valuesOf(net, config, target, batch.nextObs, action), 2);
  const reward = rewardScale === 1 ? batch.reward : mul(batch.reward, rewardScale);
  return add(reward, mul(batch.discount, least));
}

/** - alpha Q1(s, pi(s)) / mean |Q1| + (pi(s) - a)²: the scale of rewards does not matter. */
function policyLoss(net: PolicyNet, config: Td3BcConfig, params: Params, { obs, action }: Params) {
  const mode = modeOf(net, params, obs);
  const frozen = Object.fromEntries(Object.entries(params).map(([name, value]) => [name, stopGradient(value)]));
  const [first] = split(valuesOf(net, config, frozen, obs, clip(mode, -1, 1)), 0, [1, 1]);
  const scale = add(stopGradient(reduceMean(abs(first))), 1e-6);
  const cloning = reduceMean(square(sub(mode, action)));
  return { loss: sub(cloning, div(mul(config.alpha, reduceMean(first)), scale)), cloning };
}
