// Soft actor-critic with an ensemble of critics (REDQ, Chen et al. 2021, 2101.05982; with dropout DroQ, Hiraoka et al. 2022,
// 2110.02034) as two graphs: a step of the critics and their targets, taken many times, and a step of policy and temperature,
// taken once in so many. Parameters are two vectors: critics, and theta = [policy | log temperature].

import { gradients } from '../../nn/autodiff.js';
import { Graph, type Value } from '../../nn/graph.js';
import {
  abs,
  add,
  cast,
  exp,
  gather,
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
import { adamStep, mlpSpecs, ParamLayout } from '../../nn/parameters.js';
import { nativeRedqTrainers, type Trainer, type TrainerSpec } from '../../nn/trainer.js';
import { type PolicyNet, policyParams } from '../policy-net.js';
import { criticValues, entropyTarget, normalisedActions, sampledAction } from '../sac/critics.js';
import type { BoxActions } from '../spaces.js';

/** What REDQ and DroQ differ in, and the settings that they share. */
export interface RedqDesign {
  readonly hidden: readonly number[];
  readonly activation: 'relu' | 'tanh' | 'swish';
  readonly gamma: number;
  readonly tau: number;
  readonly batchSize: number;
  readonly lr: number;
  readonly targetEntropy: number | 'auto';
  readonly initAlpha: number;
  readonly rewardScale: number;
  readonly criticLayerNorm: boolean;
  /** Critics. */
  readonly critics: number;
  /** Of these, how many are drawn anew at each step for the least value a target goes by. */
  readonly drawn: number;
  /** Share of hidden units left out. */
  readonly dropout: number;
  /** Steps of the critics for each of the policy. */
  readonly policyEvery: number;
}

type Values = Readonly<Record<string, Value>>;

export interface RedqLayout {
  readonly critics: ParamLayout;
  /** Policy and log temperature. */
  readonly theta: ParamLayout;
  readonly policySize: number;
}

export function redqLayout(net: PolicyNet, design: RedqDesign): RedqLayout {
  const sizes = [net.obsDim + net.actions.dim, ...design.hidden, 1];
  const policy = policyParams(net);
  const logAlpha = { kind: 'constant', value: Math.log(design.initAlpha) } as const;
  return {
    critics: new ParamLayout(mlpSpecs('critic', sizes, undefined, design.critics)),
    theta: new ParamLayout([...policy, { name: 'logAlpha', shape: [1], init: logAlpha }]),
    policySize: new ParamLayout(policy).size,
  };
}

/** Names of the dropout masks of one forward pass, a hidden layer each: 1 where a unit is kept; [members, rows, width]. */
export function maskNames(design: RedqDesign, pass: 'own' | 'next'): string[] {
  return design.dropout === 0 ? [] : design.hidden.map((_, layer) => `${pass}Mask${layer}`);
}

function maskSpecs(design: RedqDesign, pass: 'own' | 'next') {
  const members = pass === 'own' ? design.critics : design.drawn;
  return Object.fromEntries(
    maskNames(design, pass).map((name, layer) => {
      return [name, { dtype: 'uint8' as const, shape: [members, design.batchSize, design.hidden[layer]] }];
    }),
  );
}

/** A critic's shape with the dropout of one pass: kept units are scaled up, so that none is missed on average. */
function shapeOf(design: RedqDesign, pass: 'own' | 'next' | 'none', perStep: Values) {
  const names = pass === 'none' ? [] : maskNames(design, pass);
  const { hidden, activation, criticLayerNorm } = design;
  if (names.length === 0) return { hidden, activation, criticLayerNorm };
  const scale = 1 / (1 - design.dropout);
  const dropout = (x: Value, layer: number) => mul(mul(x, scale), cast(perStep[names[layer]], 'float32'));
  return { hidden, activation, criticLayerNorm, dropout };
}

const scalar = { dtype: 'float32' as const, shape: [] };

function columns(net: PolicyNet, rows: number) {
  const matrix = (width: number) => ({ dtype: 'float32' as const, shape: [rows, width] });
  const column = { dtype: 'float32' as const, shape: [rows] };
  return { obs: matrix(net.obsDim), action: matrix(net.actions.dim), column };
}

/**
 * Steps of the critics: state critics, m, v, target [size]; input theta; per step a batch as in SAC's trainer, the members
 * drawn [drawn] and the masks of both passes.
 */
export function criticTrainer(net: PolicyNet, design: RedqDesign): TrainerSpec {
  const layout = redqLayout(net, design);
  const { size } = layout.critics;
  const { obs, action, column } = columns(net, design.batchSize);
  return {
    name: 'critic ensemble',
    state: { critics: [size], m: [size], v: [size], target: [size] },
    inputs: { theta: { dtype: 'float32', shape: [layout.theta.size] } },
    perStep: {
      ...{ obs, action, reward: column, discount: column, nextObs: obs, weight: column, nextNoise: action },
      drawn: { dtype: 'int32', shape: [design.drawn] },
      ...maskSpecs(design, 'own'),
      ...maskSpecs(design, 'next'),
      ...{ adamAlpha: scalar, adamEpsilon: scalar },
    },
    body: ({ state, inputs, perStep }) => {
      const batch: Values = { ...perStep, action: normalisedActions(perStep.action, net.actions as BoxActions) };
      const target = layout.critics.unpack(state.target);
      const y = stopGradient(softTarget(net, design, layout.theta.unpack(inputs.theta), target, batch));
      const shape = shapeOf(design, 'own', batch);
      const q = criticValues(shape, layout.critics.unpack(state.critics), batch.obs, batch.action);
      const loss = reduceMean(mul(batch.weight, mul(0.5, reduceSum(square(sub(q, y)), [0]))));
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

/** y = r + discount * (min over the drawn Q'(s', a') - alpha log pi(a'|s')), [rows]; only the drawn are computed. */
function softTarget(net: PolicyNet, design: RedqDesign, params: Values, target: Values, batch: Values): Value {
  const { action, logProb } = sampledAction(net, params as Record<string, Value>, batch.nextObs, batch.nextNoise);
  const drawn = Object.fromEntries(Object.entries(target).map(([name, w]) => [name, gather(w, batch.drawn, 0)]));
  const q = criticValues(shapeOf(design, 'next', batch), drawn, batch.nextObs, action);
  const members = split(q, 0, Array<number>(design.drawn).fill(1));
  const least = squeeze(
    members.reduce((a, b) => minimum(a, b)),
    [0],
  );
  const reward = design.rewardScale === 1 ? batch.reward : mul(batch.reward, design.rewardScale);
  return add(reward, mul(batch.discount, sub(least, mul(exp(params.logAlpha), logProb))));
}

/** A step of policy and temperature: state theta, m, v [size]; input critics; per step observations, noise and masks. */
export function policyTrainer(net: PolicyNet, design: RedqDesign): TrainerSpec {
  const layout = redqLayout(net, design);
  const { size } = layout.theta;
  const { obs, action } = columns(net, design.batchSize);
  return {
    name: 'policy of a critic ensemble',
    state: { theta: [size], m: [size], v: [size] },
    inputs: { critics: { dtype: 'float32', shape: [layout.critics.size] } },
    perStep: { obs, noise: action, ...maskSpecs(design, 'own'), adamAlpha: scalar, adamEpsilon: scalar },
    body: ({ state, inputs, perStep }) => {
      const params = layout.theta.unpack(state.theta);
      const alpha = stopGradient(exp(params.logAlpha));
      const { action: chosen, logProb } = sampledAction(net, params, perStep.obs, perStep.noise);
      const critics = layout.critics.unpack(inputs.critics);
      // The mean of all critics, not the least: algorithm 1 of both papers.
      const q = reduceMean(criticValues(shapeOf(design, 'own', perStep), critics, perStep.obs, chosen), [0]);
      const policy = reduceMean(sub(mul(alpha, logProb), q));
      const entropyGap = stopGradient(reduceMean(add(logProb, entropyTarget(net, design))));
      const [grad] = gradients(sub(policy, reduceSum(mul(params.logAlpha, entropyGap))), [state.theta]);
      const next = adamStep({ ...(state as Adam), grad, alpha: perStep.adamAlpha, epsilon: perStep.adamEpsilon });
      const logAlpha = slice(state.theta, 0, size - 1, size);
      const metrics = { policyLoss: policy, alpha: reduceSum(exp(logAlpha)), entropy: neg(reduceMean(logProb)) };
      return { state: next, metrics };
    },
  };
}

/**
 * Both by vector code of our own (native/cuda/processor/redq-update.cc): equal but for the order of sums, and the same bytes on every
 * processor. Throws DEVICE_UNAVAILABLE without the addon.
 */
export function nativeTrainersOf(net: PolicyNet, design: RedqDesign): { critics: Trainer; policy: Trainer } {
  const { hidden, activation, criticLayerNorm, batchSize, tau, rewardScale, critics, drawn, dropout } = design;
  const { scale, bias, dim } = net.actions as BoxActions;
  const specs = { critics: criticTrainer(net, design), policy: policyTrainer(net, design) };
  return nativeRedqTrainers(specs, {
    ...{ obsDim: net.obsDim, actionDim: dim, batchSize, hidden, activation, criticLayerNorm, tau, rewardScale },
    ...{ targetEntropy: entropyTarget(net, design), critics, drawn, dropout },
    ...{ scale: Float32Array.from(scale), bias: Float32Array.from(bias) },
  });
}

type Adam = { theta: Value; m: Value; v: Value };

/** |Q - y| of given rows, mean over all critics, without dropout: inputs critics, target, theta and a batch; output tdError [batch]. */
export function redqErrorModel(net: PolicyNet, design: RedqDesign): Uint8Array {
  const graph = new Graph('ensemble td error');
  const layout = redqLayout(net, design);
  const vector = (name: string, size: number) => graph.input(name, 'float32', [size]);
  const critics = layout.critics.unpack(vector('critics', layout.critics.size));
  const target = layout.critics.unpack(vector('target', layout.critics.size));
  const theta = layout.theta.unpack(vector('theta', layout.theta.size));
  const matrix = (name: string, width: number) => graph.input(name, 'float32', ['batch', width]);
  const column = (name: string) => graph.input(name, 'float32', ['batch']);
  const batch = {
    obs: matrix('obs', net.obsDim),
    action: normalisedActions(matrix('action', net.actions.dim), net.actions as BoxActions),
    reward: column('reward'),
    discount: column('discount'),
    nextObs: matrix('nextObs', net.obsDim),
    nextNoise: matrix('nextNoise', net.actions.dim),
    drawn: graph.input('drawn', 'int32', [design.drawn]),
  };
  const still = { ...design, dropout: 0 };
  const y = softTarget(net, still, theta, target, batch);
  const q = criticValues(shapeOf(still, 'none', batch), critics, batch.obs, batch.action);
  graph.output('tdError', reduceMean(abs(sub(q, y)), [0]));
  return graph.toModel();
}
