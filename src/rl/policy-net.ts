// The networks that act, as graphs: one description, used for training, for acting and for the exported policy.onnx.

import { createHash } from 'node:crypto';
import { sha256 } from '../core/canonical-json.js';
import type { VectorSpace } from '../core/environment.js';
import { reverieError } from '../core/errors.js';
import type { ActOptions, Policy, PolicyAction, PolicyNetwork, PolicySnapshot } from '../core/policy.js';
import type { Rng } from '../core/rng.js';
import { compiledUrl } from '../core/threads.js';
import { type Dim, float32, Graph, type Value } from '../nn/graph.js';
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
  stopGradient,
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
import { InferenceSession } from '../nn/runtime.js';
import { type Actions, actionsOf, type Spaces, spaceDim } from './spaces.js';

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
  /** Observations are shifted and scaled first, by numbers that stand among the parameters and no gradient moves. */
  readonly standardises?: true;
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

interface PolicyOutputs {
  /** [rows, actionDim] in the environment's units: sampled, and the mode. */
  readonly action: Value;
  readonly mean: Value;
  /** [rows] density of `action` (before clipping, for `gaussian`) in the environment's units. */
  readonly logProb: Value;
  /** [rows, actionDim] what was sampled before clipping, in [-1, 1] units; an index for `categorical`. */
  readonly raw: Value;
}

const LOG_STD = [-10, 2] as const;
/** A column of a larger scale does not vary: see `noteMoments`. */
const MOST_SCALE = 999;

/** Columns of noise a row needs: standard normals for a Box, uniforms in (0, 1) for a Discrete. */
export function noiseDim(net: PolicyNet): number {
  return net.actions.type === 'box' ? net.actions.dim : net.actions.n;
}

/** `init`: initial values of the MLP, and of the `gaussian` head's log standard deviation. */
export function policyParams(net: PolicyNet, init: { mlp?: MlpInit; logStd?: number } = {}): ParamSpec[] {
  const mlp = mlpSpecs('policy', [net.obsDim, ...net.hidden, outputDim(net)], init.mlp);
  const scaling = (name: string, value: number): ParamSpec => {
    return { name: `policy.obs${name}`, shape: [1, net.obsDim], init: { kind: 'constant', value } };
  };
  const specs = net.standardises ? [...mlp, scaling('Mean', 0), scaling('Scale', 1)] : mlp;
  if (net.head !== 'gaussian') return specs;
  const logStd: Init = { kind: 'constant', value: init.logStd ?? 0 };
  return [...specs, { name: 'policy.logStd', shape: [1, net.actions.dim], init: logStd }];
}

/** Output of the MLP: [rows, outputDim]. */
function policyTrunk(net: PolicyNet, params: Record<string, Value>, obs: Value): Value {
  return mlp(params, 'policy', standardised(net, params, obs), net.hidden.length + 1, net.activation);
}

/** Observations as the networks of a learner see them. */
export function standardised(net: PolicyNet, params: Readonly<Record<string, Value>>, obs: Value): Value {
  if (!net.standardises) return obs;
  return mul(sub(obs, stopGradient(params['policy.obsMean'])), stopGradient(params['policy.obsScale']));
}

/** Gaussian over (pre-squash) actions in [-1, 1] units; logStd is [rows, dim], or [1, dim] for `gaussian`. */
export function policyGaussian(net: PolicyNet, params: Record<string, Value>, obs: Value) {
  const out = policyTrunk(net, params, obs);
  if (net.head === 'gaussian') return { mean: out, logStd: params['policy.logStd'] };
  const dim = net.actions.dim;
  return { mean: slice(out, 1, 0, dim), logStd: clip(slice(out, 1, dim, 2 * dim), ...LOG_STD) };
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

/**
 * Density of raw actions (indices for a Discrete, [-1, 1] units for a Box) under the policy of `params`: `logProb` [rows] over the
 * environment's units, and the mean `entropy`, of a Gaussian over [-1, 1] units.
 */
export function density(net: PolicyNet, params: Record<string, Value>, obs: Value, action: Value) {
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
function policyNetwork(net: PolicyNet, theta: Float32Array): PolicyNetwork {
  const layout = new ParamLayout(policyParams(net));
  const { head, activation, actions } = net;
  const sizes = [net.obsDim, ...net.hidden, outputDim(net)];
  const layers = sizes.slice(1).map((out, layer) => ({
    in: sizes[layer],
    out,
    w: layout.view(theta, `policy.w${layer}`).slice(),
    b: layout.view(theta, `policy.b${layer}`).slice(),
  }));
  if (net.standardises) {
    // In one with the first layer. What never varied is at its mean: large numbers would not cancel in float32.
    const { w, b, out } = layers[0];
    const [mean, scale] = ['policy.obsMean', 'policy.obsScale'].map((name) => layout.view(theta, name));
    for (let i = 0; i < w.length; i++) {
      const column = Math.floor(i / out);
      w[i] *= scale[column] > MOST_SCALE ? 0 : scale[column];
      b[i % out] -= mean[column] * w[i];
    }
  }
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
function actingModel(net: PolicyNet): Uint8Array {
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
  const classes = Array.from({ length: n }, (_, i) => i);
  return graph.constant(classes, [1, n]);
}

function outputDim(net: PolicyNet): number {
  if (net.actions.type === 'discrete') return net.actions.n;
  return net.head === 'squashed' ? 2 * net.actions.dim : net.actions.dim;
}

export interface ActingOutputs {
  readonly action: Float32Array;
  readonly mean: Float32Array;
  readonly logProb: Float32Array;
  readonly raw: Float32Array;
}

// One session per architecture for the life of the thread: weights are an input, so none is re-created as they change.
const sessions = new Map<string, Promise<InferenceSession>>();

/** The acting session of an architecture. */
export function actingSession(net: PolicyNet): Promise<InferenceSession> {
  const key = JSON.stringify(net);
  let session = sessions.get(key);
  if (!session) {
    session = InferenceSession.fromBytes(actingModel(net));
    sessions.set(key, session);
  }
  return session;
}

export class NetworkPolicy implements Policy {
  private versionOf: { theta: Float32Array; version: string } | undefined;

  /** @param weights the parameters of the moment; a new array whenever they change */
  constructor(
    private readonly session: InferenceSession,
    private readonly net: PolicyNet,
    private readonly weights: () => Float32Array,
  ) {}

  get version(): string {
    const theta = this.weights();
    if (this.versionOf?.theta !== theta) this.versionOf = { theta, version: weightsVersion(this.net, theta) };
    return this.versionOf.version;
  }

  async act(obs: Float32Array, rows: number, rng: Rng, options: ActOptions = {}): Promise<PolicyAction> {
    const out = await this.outputs(obs, rows, rng, options);
    return options.deterministic ? { action: out.mean } : { action: out.action, logProb: out.logProb };
  }

  network(): PolicyNetwork {
    return policyNetwork(this.net, this.weights());
  }

  /** All outputs of the acting graph; draws rows * noiseDim numbers from `rng` unless deterministic. */
  async outputs(obs: Float32Array, rows: number, rng: Rng, options: ActOptions = {}): Promise<ActingOutputs> {
    const { net } = this;
    assertObs(obs, rows, net.obsDim);
    const width = noiseDim(net);
    const theta = this.weights();
    const { acted } = await this.session.run({
      theta: float32(theta),
      obs: float32(obs, [rows, net.obsDim]),
      noise: float32(drawNoise(net, rows * width, rng, options), [rows, width]),
    });
    return unpack(acted.data as Float32Array, rows, net.actions.dim);
  }
}

/** Columns of `actingModel`'s output. */
function unpack(acted: Float32Array, rows: number, dim: number): ActingOutputs {
  const width = 3 * dim + 1;
  const columns = (start: number, count: number) => {
    const out = new Float32Array(rows * count);
    for (let row = 0; row < rows; row++) {
      for (let i = 0; i < count; i++) out[row * count + i] = acted[row * width + start + i];
    }
    return out;
  };
  return { action: columns(0, dim), mean: columns(dim, dim), raw: columns(2 * dim, dim), logProb: columns(3 * dim, 1) };
}

function drawNoise(net: PolicyNet, count: number, rng: Rng, options: ActOptions): Float32Array {
  const noise = new Float32Array(count);
  if (options.deterministic) return net.actions.type === 'box' ? noise : noise.fill(0.5);
  return net.actions.type === 'box' ? rng.fillNormal(noise) : rng.fillUniform(noise, ...UNIFORM);
}

// In float32 the ends of (0, 1) would round to 0 and 1, whose double logarithm is infinite.
const UNIFORM = [1e-7, 1 - 1e-7] as const;

function assertObs(obs: Float32Array, rows: number, obsDim: number): void {
  if (obs.length === rows * obsDim) return;
  throw reverieError('DATA_MISMATCH', {
    problem: `obs has ${obs.length} elements where ${rows * obsDim} are needed.`,
    hint: `This policy reads ${obsDim} numbers a row, and ${rows} rows were announced.`,
  });
}

/** Knows nothing: uniform over the action space. The baseline, and the explorer of the first steps. */
export class RandomPolicy implements Policy {
  readonly version: string;
  private readonly actions: Actions;

  /** @param space a Discrete, or a Box with finite bounds */
  constructor(private readonly space: VectorSpace) {
    this.actions = actionsOf(space);
    this.version = `random-${sha256(JSON.stringify(space)).slice(0, 8)}`;
  }

  /** A random policy has no mode: `deterministic` answers the middle of the Box, or the first action. */
  act(_obs: Float32Array, rows: number, rng: Rng, options: ActOptions = {}): PolicyAction {
    const { actions } = this;
    const action = new Float32Array(rows * actions.dim);
    const logProb = new Float32Array(rows);
    if (actions.type === 'discrete') {
      for (let i = 0; i < rows; i++) action[i] = actions.start + (options.deterministic ? 0 : rng.int(actions.n));
      return { action, logProb: logProb.fill(-Math.log(actions.n)) };
    }
    const { dim, scale, bias } = actions;
    if (!options.deterministic) rng.fillUniform(action, -1, 1);
    for (let i = 0; i < action.length; i++) action[i] = bias[i % dim] + scale[i % dim] * action[i];
    return { action, logProb: logProb.fill(-scale.reduce((sum, s) => sum + Math.log(2 * s), 0)) };
  }

  snapshot(): PolicySnapshot {
    return { version: this.version, loader: LOADER, payload: { kind: 'random', space: this.space } satisfies Payload };
  }
}

// Snapshots for other threads: the module that every one of them names as its loader is this one.

const LOADER = compiledUrl(import.meta.url, './policy-net.js');

type Payload =
  | { readonly kind: 'network'; readonly net: PolicyNet; readonly theta: Float32Array }
  | { readonly kind: 'random'; readonly space: VectorSpace };

/** Copies `theta`; structured-clonable. */
export function networkSnapshot(net: PolicyNet, theta: Float32Array): PolicySnapshot {
  const payload = { kind: 'network', net, theta: theta.slice() } satisfies Payload;
  return { version: weightsVersion(net, theta), loader: LOADER, payload };
}

/** The policy of a snapshot that this module made. */
export async function loadPolicy(payload: unknown): Promise<Policy> {
  const value = payload as Payload;
  if (value.kind === 'random') return new RandomPolicy(value.space);
  return new NetworkPolicy(await actingSession(value.net), value.net, () => value.theta);
}
