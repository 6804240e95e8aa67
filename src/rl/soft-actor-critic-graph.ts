// Gradient steps of soft actor-critics as graphs. SAC (Haarnoja et al., 1812.05905) takes one step of critics, policy, temperature and
// targets together. REDQ (Chen et al. 2021, 2101.05982) and DroQ (Hiraoka et al. 2022, 2110.02034) take many steps of an ensemble of
// critics for one of policy and temperature. Both learn towards the same targets; TD3+BC has its critics from here, too.

import { gradients } from '../nn/autodiff.js';
import { Graph, type Value } from '../nn/graph.js';
import {
  abs,
  add,
  cast,
  concat,
  div,
  exp,
  gather,
  linear,
  minimum,
  mul,
  neg,
  reduceMean,
  reduceSum,
  relu,
  slice,
  split,
  square,
  squeeze,
  stopGradient,
  sub,
  swish,
  tanh,
} from '../nn/ops.js';
import {
  adamStep,
  layerNorm,
  type MlpInit,
  mlp,
  mlpSpecs,
  ParamLayout,
  residual,
  residualSizes,
  tanhNormalSample,
} from '../nn/parameters.js';
import {
  buildTrainer,
  nativeActorCriticTrainers,
  type Trainer,
  type TrainerSpec,
  type TrainingDevice,
} from '../nn/trainer.js';
import { type PolicyNet, policyGaussian, policyParams, standardised } from './policy-net.js';
import type { BoxActions } from './spaces.js';

type Values = Readonly<Record<string, Value>>;

const ACTIVATIONS = { relu, tanh, swish };
const SCALAR = { dtype: 'float32', shape: [] } as const;

/** What the soft actor-critics differ in, and the settings that they share. */
export interface Design {
  readonly hidden: readonly number[];
  /** Of critics and policy; that of PyTorch's layers unless given. */
  readonly initial?: MlpInit;
  readonly activation: 'relu' | 'tanh' | 'swish';
  readonly gamma: number;
  readonly tau: number;
  readonly batchSize: number;
  readonly targetEntropy: number;
  readonly initAlpha: number;
  readonly rewardScale: number;
  readonly criticLayerNorm: boolean;
  readonly critics: number;
  /** Of these, how many are drawn anew at each step for the least value a target goes by. */
  readonly drawn: number;
  /** Share of the critics' hidden units left out at a step. */
  readonly dropout: number;
  /** Critics of residual blocks, on observations scaled to those of the rows so far, as the policy sees them. */
  readonly isResidual?: true;
  /** Steps of the critics for each of policy and temperature; 0: all are one step, from the weights before it (SAC). */
  readonly policyEvery: number;
  /** Step size of Adam. */
  readonly lr: number;
}

export function layoutsOf(net: PolicyNet, { hidden, initial, isResidual, critics, initAlpha }: Design) {
  const input = net.obsDim + net.actions.dim;
  const sizes = isResidual ? residualSizes(input, hidden, 1) : [input, ...hidden, 1];
  const critic = mlpSpecs('critic', sizes, initial, critics);
  const policy = policyParams(net, { mlp: initial });
  const logAlpha = { name: 'logAlpha', shape: [1], init: { kind: 'constant', value: Math.log(initAlpha) } } as const;
  return {
    critics: new ParamLayout(critic),
    /** Policy and log temperature. */
    actor: new ParamLayout([...policy, logAlpha]),
    /** All of them, where they are one vector. */
    all: new ParamLayout([...critic, ...policy, logAlpha]),
    policySize: new ParamLayout(policy).size,
  };
}

/** How critics are built, whatever their number: parameters `critic.w0` [critics, in, out], `critic.b0`, … */
interface CriticShape extends Pick<Design, 'hidden' | 'activation' | 'criticLayerNorm' | 'isResidual'> {
  /** What follows each hidden layer's affine part, before its normalisation. */
  readonly dropout?: (x: Value, layer: number) => Value;
}

/** The critics' values, [critics, rows]. */
export function criticValues(shape: CriticShape, params: Values, obs: Value, action: Value): Value {
  const { hidden, activation, criticLayerNorm, isResidual, dropout } = shape;
  const input = concat([obs, action], 1);
  const layers = hidden.length;
  if (isResidual) return squeeze(residual(params, 'critic', input, layers, activation), [2]);
  if (!criticLayerNorm && dropout === undefined)
    return squeeze(mlp({ ...params }, 'critic', input, layers + 1, activation), [2]);
  let x = input;
  for (let layer = 0; layer < layers; layer++) {
    const affine = linear(x, params[`critic.w${layer}`], params[`critic.b${layer}`]);
    const kept = dropout === undefined ? affine : dropout(affine, layer);
    x = ACTIVATIONS[activation](criticLayerNorm ? layerNorm(kept) : kept);
  }
  return squeeze(linear(x, params[`critic.w${layers}`], params[`critic.b${layers}`]), [2]);
}

/** Names of the dropout masks of one forward pass, a hidden layer each: 1 where a unit is kept; [members, rows, width]. */
export function maskNames({ dropout, hidden }: Design, pass: 'own' | 'next'): string[] {
  return dropout === 0 ? [] : hidden.map((_, layer) => `${pass}Mask${layer}`);
}

function maskSpecs(design: Design, pass: 'own' | 'next') {
  const members = pass === 'own' ? design.critics : design.drawn;
  const shape = (layer: number) => [members, design.batchSize, design.hidden[layer]];
  return Object.fromEntries(
    maskNames(design, pass).map((name, layer) => [name, { dtype: 'uint8' as const, shape: shape(layer) }]),
  );
}

/** A critic's shape with the dropout of one pass: kept units are scaled up, so that none is missed on average. */
function shapeOf(design: Design, pass: 'own' | 'next', masks: Values): CriticShape {
  const names = maskNames(design, pass);
  if (names.length === 0) return { ...design, dropout: undefined };
  const scale = 1 / (1 - design.dropout);
  const dropout = (x: Value, layer: number) => mul(mul(x, scale), cast(masks[names[layer]], 'float32'));
  return { ...design, dropout };
}

/** An action of the policy [rows, dim] in [-1, 1] units and its log-density [rows]. */
function sampledAction(net: PolicyNet, params: Values, obs: Value, noise: Value) {
  const { mean, logStd } = policyGaussian(net, { ...params }, obs);
  return tanhNormalSample(mean, logStd, noise);
}

/** Actions in [-1, 1] units. */
function normalisedActions(action: Value, { scale, bias }: BoxActions): Value {
  if (scale.every((s) => s === 1) && bias.every((b) => b === 0)) return action;
  const row = (values: readonly number[]) => action.graph.constant(values, [1, values.length]);
  return div(sub(action, row(bias)), row(scale));
}

/** A batch with its actions in the units that networks see. */
export function normalised<B extends Values>(net: PolicyNet, batch: B): B {
  return { ...batch, action: normalisedActions(batch.action, net.actions as BoxActions) };
}

/** What a step of critics is fed: `discount` is gamma, or 0 where terminated; `weight` the importance weight. */
export function batchInputs(net: PolicyNet, rows: number) {
  const matrix = (width: number) => ({ dtype: 'float32' as const, shape: [rows, width] });
  const column = { dtype: 'float32' as const, shape: [rows] };
  const [obs, action] = [matrix(net.obsDim), matrix(net.actions.dim)];
  return {
    ...{ obs, action, reward: column, discount: column, nextObs: obs, weight: column, nextNoise: action },
    ...{ adamAlpha: SCALAR, adamEpsilon: SCALAR },
  };
}

/** The smallest of the members' values, [rows]. */
export function leastOf(q: Value, members: number): Value {
  const least = split(q, 0, Array<number>(members).fill(1)).reduce((a, b) => minimum(a, b));
  return squeeze(least, [0]);
}

/** Half the squared error, summed over the critics, as a weighted mean over the rows. */
export function criticLoss(q: Value, y: Value, weight: Value): Value {
  return reduceMean(mul(weight, mul(0.5, reduceSum(square(sub(q, y)), [0]))));
}

/**
 * |Q - y| of given rows, mean over the critics, without dropout: inputs are vectors theta, target and, where they are apart from theta,
 * critics; a batch without weight; and the members drawn; output tdError [batch].
 */
export function softErrorModel(net: PolicyNet, design: Design): Uint8Array {
  const { all, critics, actor } = layoutsOf(net, design);
  const still = { ...design, dropout: 0 };
  const isJoint = design.policyEvery === 0;
  const graph = new Graph(`${isJoint ? 'sac' : 'ensemble'} td error`);
  const vector = (name: string, layout: ParamLayout) => layout.unpack(graph.input(name, 'float32', [layout.size]));
  const params = vector('theta', isJoint ? all : actor);
  const target = vector('target', critics);
  const members = isJoint ? params : vector('critics', critics);
  const matrix = (column: string, width: number) => graph.input(column, 'float32', ['batch', width]);
  const batch = normalised(net, {
    ...{ obs: matrix('obs', net.obsDim), action: matrix('action', net.actions.dim) },
    ...{ reward: graph.input('reward', 'float32', ['batch']), discount: graph.input('discount', 'float32', ['batch']) },
    ...{ nextObs: matrix('nextObs', net.obsDim), nextNoise: matrix('nextNoise', net.actions.dim) },
    ...(isJoint ? {} : { drawn: graph.input('drawn', 'int32', [design.drawn]) }),
  });
  const y = softTarget(net, still, params, target, batch);
  const q = criticValues(shapeOf(still, 'own', {}), members, standardised(net, params, batch.obs), batch.action);
  graph.output('tdError', reduceMean(abs(sub(q, y)), [0]));
  return graph.toModel();
}

/** y = r + discount * (min over the drawn Q'(s', a') - alpha log pi(a'|s')), [rows]; only the drawn are computed. */
function softTarget(net: PolicyNet, design: Design, params: Values, target: Values, batch: Values): Value {
  const { action, logProb } = sampledAction(net, params, batch.nextObs, batch.nextNoise);
  const { drawn: members } = batch;
  const drawn = members
    ? Object.fromEntries(Object.entries(target).map(([name, w]) => [name, gather(w, members, 0)]))
    : target;
  const nextObs = standardised(net, params, batch.nextObs);
  const least = leastOf(criticValues(shapeOf(design, 'next', batch), drawn, nextObs, action), design.drawn);
  const reward = design.rewardScale === 1 ? batch.reward : mul(batch.reward, design.rewardScale);
  return add(reward, mul(batch.discount, sub(least, mul(exp(params.logAlpha), logProb))));
}

/** What policy and temperature are taught, by the value [rows] of the policy's own actions. */
function actorLosses(
  net: PolicyNet,
  design: Design,
  params: Values,
  { obs, noise }: Values,
  worth: (action: Value) => Value,
) {
  const alpha = stopGradient(exp(params.logAlpha));
  const { action, logProb } = sampledAction(net, params, obs, noise);
  const policy = reduceMean(sub(mul(alpha, logProb), worth(action)));
  const entropyGap = stopGradient(reduceMean(add(logProb, design.targetEntropy)));
  const temperature = neg(reduceSum(mul(params.logAlpha, entropyGap)));
  return { policy, temperature, logProb };
}

/**
 * SAC's trainer: state theta = [critics | policy | log temperature], m, v [size] and target [critic size], with one Adam over theta. All
 * updates use the parameters of before the step, as in softlearning's implementation of SAC.
 */
function jointTrainer(net: PolicyNet, design: Design): TrainerSpec {
  const { all, critics } = layoutsOf(net, design);
  const batch = batchInputs(net, design.batchSize);
  const shape = shapeOf(design, 'own', {});
  return {
    name: 'sac',
    state: { theta: [all.size], m: [all.size], v: [all.size], target: [critics.size] },
    inputs: {},
    perStep: { ...batch, noise: batch.action },
    body: ({ state, perStep }) => {
      const { theta, m, v, target } = state;
      const step = normalised(net, perStep);
      const params = all.unpack(theta);
      // `stopGradient` keeps each loss to its own parameters, so their sum has one gradient for all.
      const y = stopGradient(softTarget(net, design, params, critics.unpack(target), step));
      const q = criticValues(shape, params, step.obs, step.action);
      const critic = criticLoss(q, y, step.weight);
      const frozen = Object.fromEntries(Object.entries(params).map(([name, value]) => [name, stopGradient(value)]));
      const { policy, temperature, logProb } = actorLosses(net, design, params, step, (action) =>
        leastOf(criticValues(shape, frozen, step.obs, action), design.critics),
      );
      const [grad] = gradients(add(add(critic, policy), temperature), [theta]);
      const next = adamStep({ theta, m, v, grad, alpha: perStep.adamAlpha, epsilon: perStep.adamEpsilon });
      const moved = slice(next.theta, 0, 0, critics.size);
      const logAlpha = slice(theta, 0, all.size - 1, all.size);
      return {
        state: { ...next, target: add(target, mul(design.tau, sub(moved, target))) },
        metrics: {
          ...{ criticLoss: critic, policyLoss: policy, alpha: reduceSum(exp(logAlpha)) },
          ...{ entropy: neg(reduceMean(logProb)), q: reduceMean(q) },
        },
      };
    },
  };
}

/**
 * Steps of the critics of an ensemble: state critics, m, v, target [size]; input theta; per step a batch, the members drawn [drawn] and
 * the masks of both passes.
 */
function criticTrainer(net: PolicyNet, design: Design): TrainerSpec {
  const { critics, actor } = layoutsOf(net, design);
  const { size } = critics;
  return {
    name: 'critic ensemble',
    state: { critics: [size], m: [size], v: [size], target: [size] },
    inputs: { theta: { dtype: 'float32', shape: [actor.size] } },
    perStep: {
      ...batchInputs(net, design.batchSize),
      drawn: { dtype: 'int32', shape: [design.drawn] },
      ...maskSpecs(design, 'own'),
      ...maskSpecs(design, 'next'),
    },
    body: ({ state, inputs, perStep }) => {
      const batch: Values = normalised(net, perStep);
      const params = actor.unpack(inputs.theta);
      const y = stopGradient(softTarget(net, design, params, critics.unpack(state.target), batch));
      const obs = standardised(net, params, batch.obs);
      const q = criticValues(shapeOf(design, 'own', batch), critics.unpack(state.critics), obs, batch.action);
      const loss = criticLoss(q, y, batch.weight);
      const [grad] = gradients(loss, [state.critics]);
      const adam = { alpha: perStep.adamAlpha, epsilon: perStep.adamEpsilon };
      const next = adamStep({ theta: state.critics, m: state.m, v: state.v, grad, ...adam });
      return {
        state: {
          ...{ critics: next.theta, m: next.m, v: next.v },
          target: add(state.target, mul(design.tau, sub(next.theta, state.target))),
        },
        metrics: { criticLoss: loss, q: reduceMean(q) },
      };
    },
  };
}

/** A step of policy and temperature: state theta, m, v [size]; input critics; per step observations, noise and masks. */
function policyTrainer(net: PolicyNet, design: Design): TrainerSpec {
  const { critics, actor } = layoutsOf(net, design);
  const { size } = actor;
  const { obs, action } = batchInputs(net, design.batchSize);
  return {
    name: 'policy of a critic ensemble',
    state: { theta: [size], m: [size], v: [size] },
    inputs: { critics: { dtype: 'float32', shape: [critics.size] } },
    perStep: { obs, noise: action, ...maskSpecs(design, 'own'), adamAlpha: SCALAR, adamEpsilon: SCALAR },
    body: ({ state, inputs, perStep }) => {
      const { theta, m, v } = state;
      const members = critics.unpack(inputs.critics);
      const params = actor.unpack(theta);
      const seen = standardised(net, params, perStep.obs);
      // The mean of all critics, not the least: algorithm 1 of REDQ's paper and of DroQ's. SimBa leaves SAC's objective as it is.
      const worth = (chosen: Value) => {
        const values = criticValues(shapeOf(design, 'own', perStep), members, seen, chosen);
        return design.isResidual ? leastOf(values, design.critics) : reduceMean(values, [0]);
      };
      const { policy, temperature, logProb } = actorLosses(net, design, params, perStep, worth);
      const [grad] = gradients(add(policy, temperature), [theta]);
      const next = adamStep({ theta, m, v, grad, alpha: perStep.adamAlpha, epsilon: perStep.adamEpsilon });
      const logAlpha = slice(theta, 0, size - 1, size);
      const metrics = { policyLoss: policy, alpha: reduceSum(exp(logAlpha)), entropy: neg(reduceMean(logProb)) };
      return { state: { ...next }, metrics };
    },
  };
}

/**
 * The steps; `critics` is absent where one step does everything. `native`: by vector code of our own (native/cuda/processor), equal but
 * for the order of sums, and the same bytes on every processor. Throws DEVICE_UNAVAILABLE without the addon.
 */
export async function trainersOf(
  net: PolicyNet,
  design: Design,
  device: TrainingDevice,
): Promise<{ readonly policy: Trainer; readonly critics?: Trainer }> {
  const isJoint = design.policyEvery === 0;
  if (device !== 'native') {
    if (isJoint) return { policy: await buildTrainer(jointTrainer(net, design)) };
    const policy = await buildTrainer(policyTrainer(net, design));
    return { policy, critics: await buildTrainer(criticTrainer(net, design)) };
  }
  const { hidden, activation, criticLayerNorm, isResidual = false, batchSize, tau, rewardScale } = design;
  const { critics, drawn, dropout } = design;
  const { scale, bias, dim } = net.actions as BoxActions;
  const shape = {
    isJoint,
    ...{ obsDim: net.obsDim, actionDim: dim, batchSize, hidden, activation, criticLayerNorm },
    ...{ isResidual, tau, rewardScale },
    ...{ targetEntropy: design.targetEntropy, critics, drawn, dropout },
    ...{ scale: Float32Array.from(scale), bias: Float32Array.from(bias) },
  };
  if (isJoint) return { policy: nativeActorCriticTrainers({ joint: jointTrainer(net, design) }, shape).joint };
  const specs = { critics: criticTrainer(net, design), policy: policyTrainer(net, design) };
  return nativeActorCriticTrainers(specs, shape);
}
