// The networks that act, as graphs: one description, used for training, for acting and for the exported policy.onnx.

import { createHash } from 'node:crypto';
import type { PolicyNetwork } from '../core/policy.js';
import { type Dim, Graph, type Value } from '../nn/graph.js';
import {
  add,
  clip,
  concat,
  equal,
  exp,
  log,
  logSoftmax,
  maximum,
  minimum,
  mul,
  neg,
  reduceMax,
  reduceMean,
  reduceSum,
  slice,
  sub,
  tanh,
  unsqueeze,
  where,
} from '../nn/ops.js';
import {
  gaussianEntropy,
  gaussianLogProb,
  gaussianSample,
  type Init,
  type MlpInit,
  mlp,
  mlpSpecs,
  ParamLayout,
  type ParamSpec,
  tanhNormalSample,
} from '../nn/parameters.js';
import { type Actions, type Spaces, spaceDim } from './spaces.js';

type Activation = 'relu' | 'tanh' | 'swish';

/**
 * How outputs become actions. `squashed`: tanh of a Gaussian whose mean and log standard deviation depend on the
 * observation (SAC). `gaussian`: mean from the network, log standard deviation a parameter, clipped to the Box
 * (PPO, cloning). `categorical`: logits over a Discrete.
 */
type PolicyHead = 'squashed' | 'gaussian' | 'categorical';

/** JSON-safe description of a policy network; with its parameters it is the policy. */
export interface PolicyNet {
  readonly head: PolicyHead;
  readonly obsDim: number;
  readonly hidden: readonly number[];
  readonly activation: Activation;
  readonly actions: Actions;
}

/** A network between these spaces, for `actions` in the form of the learner; `head` unless actions say which. */
export function policyNet(
  { observationSpace }: Spaces,
  { hidden, activation }: Pick<PolicyNet, 'hidden' | 'activation'>,
  actions: Actions,
  head: PolicyHead = actions.type === 'box' ? 'gaussian' : 'categorical',
): PolicyNet {
  return { head, obsDim: spaceDim(observationSpace), hidden, activation, actions };
}

/** Initial values: of the MLP, and of the `gaussian` head's log standard deviation. */
interface PolicyInit {
  readonly mlp?: MlpInit;
  readonly logStd?: number;
}

interface PolicyOutputs {
  /** [rows, actionDim] in the environment's units: sampled, and the mode. */
  readonly action: Value;
  readonly mean: Value;
  /** [rows] density of `action` (before clipping, for `gaussian`) in the environment's units. */
  readonly logProb: Value;
  /** [rows, actionDim] what was sampled before clipping, in [-1, 1] units; an index for `categorical`. */
  readonly raw: Value;
}

const LOG_STD_MIN = -10;
const LOG_STD_MAX = 2;

/** Columns of noise a row needs: standard normals for a Box, uniforms in (0, 1) for a Discrete. */
export function noiseDim(net: PolicyNet): number {
  return net.actions.type === 'box' ? net.actions.dim : net.actions.n;
}

export function policyParams(net: PolicyNet, init: PolicyInit = {}): ParamSpec[] {
  const specs = mlpSpecs('policy', [net.obsDim, ...net.hidden, outputDim(net)], init.mlp);
  if (net.head !== 'gaussian') return specs;
  const logStd: Init = { kind: 'constant', value: init.logStd ?? 0 };
  return [...specs, { name: 'policy.logStd', shape: [1, net.actions.dim], init: logStd }];
}

/** Output of the MLP: [rows, outputDim]. */
function policyTrunk(net: PolicyNet, params: Record<string, Value>, obs: Value): Value {
  return mlp(params, 'policy', obs, net.hidden.length + 1, net.activation);
}

export interface Gaussian {
  readonly mean: Value;
  readonly logStd: Value;
}

/** Gaussian over (pre-squash) actions in [-1, 1] units; logStd is [rows, dim], or [1, dim] for `gaussian`. */
export function policyGaussian(net: PolicyNet, params: Record<string, Value>, obs: Value): Gaussian {
  const out = policyTrunk(net, params, obs);
  if (net.head === 'gaussian') return { mean: out, logStd: params['policy.logStd'] };
  const dim = net.actions.dim;
  return { mean: slice(out, 1, 0, dim), logStd: clip(slice(out, 1, dim, 2 * dim), LOG_STD_MIN, LOG_STD_MAX) };
}

/** Everything a policy answers, from obs [rows, obsDim] and noise [rows, noiseDim]. */
function policyOutputs(net: PolicyNet, params: Record<string, Value>, obs: Value, noise: Value): PolicyOutputs {
  if (net.actions.type === 'discrete') return categoricalOutputs(net, params, obs, noise, net.actions.start);
  const gaussian = policyGaussian(net, params, obs);
  const { scale, bias, low, high } = net.actions;
  const row = (values: readonly number[]) => obs.graph.constant(values, [1, values.length]);
  const isIdentity = scale.every((s) => s === 1) && bias.every((b) => b === 0);
  const scaled = (value: Value) => (isIdentity ? value : add(mul(value, row(scale)), row(bias)));
  // A float32 tanh, and the scaling, can round to just beyond the bounds, where no environment takes the action.
  const toEnv = (value: Value) => minimum(maximum(scaled(value), row(low)), row(high));
  const logScale = scale.reduce((sum, s) => sum + Math.log(s), 0);
  if (net.head === 'squashed') {
    const { action, logProb } = tanhNormalSample(gaussian.mean, gaussian.logStd, noise);
    return { action: toEnv(action), mean: toEnv(tanh(gaussian.mean)), logProb: sub(logProb, logScale), raw: action };
  }
  const raw = gaussianSample(gaussian.mean, gaussian.logStd, noise);
  const logProb = sub(gaussianLogProb(raw, gaussian.mean, gaussian.logStd), logScale);
  return { action: toEnv(clip(raw, -1, 1)), mean: toEnv(clip(gaussian.mean, -1, 1)), logProb, raw };
}

interface Density {
  /** [rows], over the environment's units, as the acting policy answers it. */
  readonly logProb: Value;
  /** Mean over rows, scalar; of a Gaussian over [-1, 1] units. */
  readonly entropy: Value;
}

/** Density of raw actions (indices for a Discrete, [-1, 1] units for a Box) under the policy of `params`. */
export function density(net: PolicyNet, params: Record<string, Value>, obs: Value, action: Value): Density {
  if (net.actions.type === 'discrete') {
    const logits = logSoftmax(policyTrunk(net, params, obs), 1);
    const classes = classRow(obs.graph, net.actions.n);
    const logProb = reduceSum(where(equal(classes, action), logits, 0), [1]);
    return { logProb, entropy: neg(reduceMean(reduceSum(mul(exp(logits), logits), [1]))) };
  }
  const { mean, logStd } = policyGaussian(net, params, obs);
  const logScale = net.actions.scale.reduce((sum, s) => sum + Math.log(s), 0);
  return { logProb: sub(gaussianLogProb(action, mean, logStd), logScale), entropy: reduceSum(gaussianEntropy(logStd)) };
}

/** Short hash of an architecture and its parameters: equal versions act equally. */
export function weightsVersion(net: PolicyNet, theta: Float32Array): string {
  const bytes = new Uint8Array(theta.buffer, theta.byteOffset, theta.byteLength);
  return createHash('sha256').update(JSON.stringify(net)).update(bytes).digest('hex').slice(0, 12);
}

/** A policy as plain layers. */
export function policyNetwork(net: PolicyNet, theta: Float32Array): PolicyNetwork {
  const layout = new ParamLayout(policyParams(net));
  const { head, activation, actions } = net;
  const sizes = [net.obsDim, ...net.hidden, outputDim(net)];
  const layers = sizes.slice(1).map((out, layer) => ({
    in: sizes[layer],
    out,
    w: layout.view(theta, `policy.w${layer}`).slice(),
    b: layout.view(theta, `policy.b${layer}`).slice(),
  }));
  const logStd = head === 'gaussian' ? layout.view(theta, 'policy.logStd').slice() : undefined;
  return { head, activation, layers, actions, ...(logStd && { logStd }) };
}

/**
 * A policy as an ordinary .onnx file. Inputs obs [batch, obsDim], noise [batch, noiseDim]; outputs action and mean
 * [batch, actionDim] in the environment's units, logProb [batch]. Weights are initializers.
 */
export function policyModel(net: PolicyNet, theta: Float32Array, version: string): Uint8Array {
  const graph = new Graph('policy');
  const layout = new ParamLayout(policyParams(net));
  const params: Record<string, Value> = {};
  for (const spec of policyParams(net)) {
    params[spec.name] = graph.initializer(spec.name, spec.shape, layout.view(theta, spec.name).slice());
  }
  const outputs = actingOutputs(graph, net, params, 'batch');
  for (const name of ['action', 'mean', 'logProb'] as const) graph.output(name, outputs[name]);
  return graph.toModel({
    'reverie.kind': 'policy',
    'reverie.version': version,
    'reverie.net': JSON.stringify(net),
    'reverie.noise': net.actions.type === 'box' ? 'standard normal' : 'uniform in (0, 1)',
  });
}

/**
 * The same with the parameters as one input `theta` [size], for acting while they still change. One output `acted`
 * [batch, 3 actionDim + 1], columns action, mean, raw, logProb: every further output would cost a call 3 microseconds.
 */
export function actingModel(net: PolicyNet): Uint8Array {
  const graph = new Graph('acting');
  const layout = new ParamLayout(policyParams(net));
  const params = layout.unpack(graph.input('theta', 'float32', [layout.size]));
  const { action, mean, raw, logProb } = actingOutputs(graph, net, params, 'batch');
  graph.output('acted', concat([action, mean, raw, unsqueeze(logProb, [1])], 1));
  return graph.toModel();
}

function actingOutputs(graph: Graph, net: PolicyNet, params: Record<string, Value>, batch: Dim): PolicyOutputs {
  const obs = graph.input('obs', 'float32', [batch, net.obsDim]);
  const noise = graph.input('noise', 'float32', [batch, noiseDim(net)]);
  return policyOutputs(net, params, obs, noise);
}

/** Gumbel-max sampling; the first of equal maxima wins, as in an argmax. */
function categoricalOutputs(
  net: PolicyNet,
  params: Record<string, Value>,
  obs: Value,
  noise: Value,
  start: number,
): PolicyOutputs {
  const logits = logSoftmax(policyTrunk(net, params, obs), 1);
  const gumbel = neg(log(neg(log(noise))));
  const index = firstMaximum(add(logits, gumbel));
  const chosen = equal(classRow(obs.graph, noiseDim(net)), index);
  const logProb = reduceSum(where(chosen, logits, 0), [1]);
  return { action: add(index, start), mean: add(firstMaximum(logits), start), logProb, raw: index };
}

/** Column of the first maximum of each row, as float [rows, 1]. */
function firstMaximum(x: Value): Value {
  const n = x.shape[1] as number;
  const isMaximum = equal(x, reduceMax(x, [1], true));
  return neg(reduceMax(where(isMaximum, neg(classRow(x.graph, n)), -n), [1], true));
}

function classRow(graph: Graph, n: number): Value {
  return graph.constant(
    Array.from({ length: n }, (_, i) => i),
    [1, n],
  );
}

function outputDim(net: PolicyNet): number {
  if (net.actions.type === 'discrete') return net.actions.n;
  return net.head === 'squashed' ? 2 * net.actions.dim : net.actions.dim;
}
