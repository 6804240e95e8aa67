// Proximal policy optimisation (Schulman et al., 1707.06347) as a learner: whole rollouts in, epochs of minibatches run.

import type { z } from 'zod';
import type { Rng } from '../core/rng.js';
import { mean } from '../core/statistics.js';
import { gradients } from '../nn/autodiff.js';
import { float32, Graph, type Value } from '../nn/graph.js';
import {
  add,
  cast,
  clip,
  div,
  exp,
  gather,
  greater,
  minimum,
  mul,
  neg,
  reduceMean,
  slice,
  sqrt,
  square,
  squeeze,
  sub,
} from '../nn/ops.js';
import {
  adamStep,
  clipByGlobalNorm,
  type MlpInit,
  mlp,
  mlpSpecs,
  ParamLayout,
  type ParamSpec,
} from '../nn/parameters.js';
import { InferenceSession } from '../nn/runtime.js';
import { buildTrainer, type TrainerSpec } from '../nn/trainer.js';
import { type PpoConfig, ppoConfigSchema } from './config.js';
import { assertBatch, assertFinite, assertLength, parseConfig, type Rollout, type RolloutLearner } from './learner.js';
import { type LearnerParts, NetworkLearner, noteMoments, withMoments } from './network-learner.js';
import {
  type ActingOutputs,
  actingSession,
  density,
  type PolicyNet,
  policyNet,
  policyParams,
  standardised,
} from './policy-net.js';
import { actionsOf, type Spaces } from './spaces.js';

/** Means over the last epoch that ran. `epochs`: how many of `config.epochs` ran before `targetKl` stopped them. */
type PpoMetrics = Record<'policyLoss' | 'valueLoss' | 'entropy' | 'approxKl' | 'clipFraction' | 'epochs', number>;

/**
 * A fresh PPO learner, for a Box with finite bounds (Gaussian with its own standard deviation) or a Discrete (categorical).
 * Throws SETTING_INVALID or SCENARIO_UNFIT.
 */
export async function makePpo(config: z.input<typeof ppoConfigSchema>, spaces: Spaces, rng: Rng): Promise<Ppo> {
  const settings = parseConfig('PPO learner', ppoConfigSchema, config, spaces);
  const net: PolicyNet = { ...policyNet(spaces, settings, actionsOf(spaces.actionSpace)), standardises: true };
  const layout = ppoLayout(net, settings);
  const parts = {
    config: settings,
    spaces,
    net,
    trainer: await buildTrainer(ppoTrainer(net, settings)),
    session: await actingSession(net),
    arrays: withMoments(layout.all.init(rng)),
    policyStart: 0,
    policySize: layout.policy.size,
  };
  return new Ppo(parts, await InferenceSession.fromBytes(valueModel(net, layout.all)), layout.all);
}

/** Use `makePpo`. */
export class Ppo extends NetworkLearner<PpoConfig> implements RolloutLearner {
  readonly kind = 'ppo';
  readonly learnsFrom = 'rollouts';

  constructor(
    parts: LearnerParts<PpoConfig>,
    private readonly valueSession: InferenceSession,
    private readonly layout: ParamLayout,
  ) {
    super(parts);
  }

  /** Actions to collect a rollout with: in the environment's units, and `raw` (before clipping), which PPO learns from. */
  act(obs: Float32Array, rows: number, rng: Rng): Promise<ActingOutputs> {
    return this.live.outputs(obs, rows, rng);
  }

  /** V(obs) for obs [rows, obsDim], of rewards as they are scaled now. */
  async value(obs: Float32Array, rows: number): Promise<Float32Array> {
    const feeds = { theta: float32(this.current.theta), obs: float32(obs, [rows, this.net.obsDim]) };
    const { value } = await this.valueSession.run(feeds);
    return value.data as Float32Array;
  }

  /**
   * Epochs of minibatches over one rollout; rows beyond the last full minibatch of an epoch's shuffle are left to the next epoch.
   * Throws DATA_MISMATCH or NON_FINITE_VALUE; the learner is then as before the call.
   */
  async update(rollout: Rollout, rng: Rng): Promise<PpoMetrics> {
    assertRollout(rollout, this.net, this.config.batchSize);
    const { metrics, epochs } = await this.allOrNothing(async () => {
      // Between two rollouts, so that the policy that learns from one is the policy that acted in it; the very first is hardly one yet.
      const isFirst = this.gradientSteps === 0;
      if (isFirst) this.noteScales(rollout);
      const learned = await this.runEpochs(await this.trainingRows(rollout), rollout.batch.rows, rng);
      if (!isFirst) this.noteScales(rollout);
      return learned;
    });
    const means = Object.fromEntries(Object.entries(metrics).map(([name, values]) => [name, mean(values)]));
    return { ...(means as Omit<PpoMetrics, 'epochs'>), epochs };
  }

  private async runEpochs(rows: Float32Array, count: number, rng: Rng) {
    const { epochs, batchSize, targetKl, lr } = this.config;
    const steps = Math.floor(count / batchSize);
    for (let epoch = 1; ; epoch++) {
      const indices = Int32Array.from(rng.permutation(count).subarray(0, steps * batchSize));
      const metrics = await this.train({ rows }, { indices }, steps, lr, ADAM_EPSILON);
      const tooFar = targetKl !== null && mean(metrics.approxKl) > targetKl;
      if (tooFar || epoch === epochs) return { metrics, epochs: epoch };
    }
  }

  override async close(): Promise<void> {
    await super.close();
    await this.valueSession.release();
  }

  /** The matrix `ppoTrainer` gathers from: obs, raw action, log-probability, advantage, return. */
  private async trainingRows(rollout: Rollout): Promise<Float32Array> {
    const { batch, steps, envs } = rollout;
    const value = await this.value(batch.obs, batch.rows);
    const nextValue = await this.value(batch.nextObs, batch.rows);
    const { gamma, gaeLambda } = this.config;
    const [scale] = this.layout.view(this.current.theta, 'return.scale');
    const reward = batch.reward.map((one) => Math.min(MOST_REWARD, Math.max(-MOST_REWARD, one * scale)));
    const advantages = generalisedAdvantage({ ...batch, reward, steps, envs, value, nextValue, gamma, gaeLambda });
    return packRows(this.net, rollout, { logProb: rollout.logProb, ...advantages });
  }

  /** Takes a rollout into what observations are scaled by, and rewards: by the deviation of the discounted sum of those so far. */
  private noteScales({ batch, steps, envs }: Rollout): void {
    const theta = this.current.theta.slice();
    const view = (name: string) => this.layout.view(theta, name);
    const isOver = (row: number) => batch.terminated[row] === 1 || batch.truncated[row] === 1;
    // An episode that the last rollout left open goes on.
    const open = view('return.open');
    const sums = new Float64Array(batch.rows);
    for (let i = 0; i < sums.length; i++) {
      const before = i < envs ? open[0] : isOver(i - envs) ? 0 : sums[i - envs];
      sums[i] = batch.reward[i] + this.config.gamma * before;
    }
    if (envs === 1) open[0] = isOver(sums.length - 1) ? 0 : sums[sums.length - 1];
    const seen = view('seen');
    noteMoments(batch.obs, seen[0], view('policy.obsMean'), view('policy.obsScale'));
    noteMoments(sums, seen[0], view('return.mean'), view('return.scale'));
    seen[0] += steps * envs;
    this.replace({ theta }, this.gradientSteps);
  }
}

function packRows(
  net: PolicyNet,
  rollout: Rollout,
  scalars: Record<(typeof PPO_SCALARS)[number], Float32Array>,
): Float32Array {
  const { obsDim, actions } = net;
  const start = obsDim + actions.dim;
  const width = start + PPO_SCALARS.length;
  const rows = new Float32Array(rollout.batch.rows * width);
  for (let i = 0; i < rollout.batch.rows; i++) {
    rows.set(rollout.batch.obs.subarray(i * obsDim, (i + 1) * obsDim), i * width);
    rows.set(rollout.raw.subarray(i * actions.dim, (i + 1) * actions.dim), i * width + obsDim);
    PPO_SCALARS.forEach((name, column) => {
      rows[i * width + start + column] = scalars[name][i];
    });
  }
  return rows;
}

function assertRollout(rollout: Rollout, net: PolicyNet, batchSize: number): void {
  const rows = rollout.steps * rollout.envs;
  assertBatch(rollout.batch, rows, net.obsDim, net.actions.dim);
  assertLength('raw', rollout.raw, rows * net.actions.dim);
  assertLength('logProb', rollout.logProb, rows);
  assertFinite('raw', rollout.raw, rows);
  assertFinite('logProb', rollout.logProb, rows);
  if (rows < batchSize) assertLength('rollout', { length: rows }, batchSize);
}

/**
 * Arrays are of T `steps` times N `envs`, time-major. `value`: V(obs); `nextValue`: V(nextObs), where nextObs is the successor itself,
 * never the first observation after a reset.
 */
export type GaeInput = Readonly<
  Record<'steps' | 'envs' | 'gamma' | 'gaeLambda', number> &
    Record<'reward' | 'value' | 'nextValue', Float32Array> &
    Record<'terminated' | 'truncated', Uint8Array>
>;

/**
 * GAE (Schulman et al., 1506.02438, eq. 16): advantages and returns, the targets of the value function. `terminated` cuts both the bootstrap and the sum; `truncated` cuts
 * the sum only, and its step still bootstraps from the value of its final observation.
 */
export function generalisedAdvantage(input: GaeInput) {
  const { steps, envs, reward, value, nextValue, terminated, truncated, gamma, gaeLambda } = input;
  const advantage = new Float32Array(steps * envs);
  const returns = new Float32Array(steps * envs);
  for (let env = 0; env < envs; env++) {
    let carried = 0;
    for (let t = steps - 1; t >= 0; t--) {
      const i = t * envs + env;
      const bootstrap = terminated[i] ? 0 : gamma * nextValue[i];
      const delta = reward[i] + bootstrap - value[i];
      carried = delta + (terminated[i] || truncated[i] ? 0 : gamma * gaeLambda * carried);
      advantage[i] = carried;
      returns[i] = carried + value[i];
    }
  }
  return { advantage, returns };
}

// One minibatch step as a graph, and the value network. theta = [policy | value].

type Params = Record<string, Value>;

/** Orthogonal, as in CleanRL: a nearly uniform policy at first. */
const initialised = (outputGain: number): MlpInit => ({ kind: 'orthogonal', gain: Math.SQRT2, outputGain });

export function ppoLayout(net: PolicyNet, config: PpoConfig) {
  const policy = policyParams(net, { mlp: initialised(0.01), logStd: config.initLogStd });
  const value = valueParams(net);
  return { all: new ParamLayout([...policy, ...value, ...SCALES]), policy: new ParamLayout(policy) };
}

/** Of the rewards, and rows seen; no gradient moves them. */
const SCALES: readonly ParamSpec[] = [
  { name: 'return.mean', shape: [1], init: { kind: 'constant', value: 0 } },
  { name: 'return.scale', shape: [1], init: { kind: 'constant', value: 1 } },
  { name: 'return.open', shape: [1], init: { kind: 'constant', value: 0 } },
  { name: 'seen', shape: [1], init: { kind: 'constant', value: 0 } },
];

/** What a scaled reward lies within, as in CleanRL. */
const [MOST_REWARD, ADAM_EPSILON] = [10, 1e-5];

function valueParams(net: PolicyNet): ParamSpec[] {
  return mlpSpecs('value', [net.obsDim, ...net.hidden, 1], initialised(1));
}

function stateValue(net: PolicyNet, params: Params, obs: Value): Value {
  return squeeze(mlp(params, 'value', standardised(net, params, obs), net.hidden.length + 1, net.activation), [1]);
}

/** V(obs): inputs theta, obs [batch, obsDim]; output value [batch]. */
function valueModel(net: PolicyNet, layout: ParamLayout): Uint8Array {
  const graph = new Graph('value');
  const params = layout.unpack(graph.input('theta', 'float32', [layout.size]));
  graph.output('value', stateValue(net, params, graph.input('obs', 'float32', ['batch', net.obsDim])));
  return graph.toModel();
}

/** The gradient is scaled down to this norm. */
const MAX_GRAD_NORM = 0.5;

/** Columns of the matrix a PPO update gathers its minibatches from. */
const PPO_SCALARS = ['logProb', 'advantage', 'returns'] as const;

/**
 * The trainer: state theta, m, v; input `rows` [n, obsDim + actionDim + 3] (obs, raw action, then PPO_SCALARS);
 * per step `indices` [batchSize] into it.
 */
function ppoTrainer(net: PolicyNet, config: PpoConfig): TrainerSpec {
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
      const grad = clipByGlobalNorm(gradient, MAX_GRAD_NORM);
      const { theta, m, v } = state;
      const next = adamStep({ theta, m, v, grad, alpha: perStep.adamAlpha, epsilon: perStep.adamEpsilon });
      return { state: { ...next }, metrics };
    },
  };
}

type Minibatch = Readonly<Record<'obs' | 'action' | (typeof PPO_SCALARS)[number], Value>>;

function minibatch(net: PolicyNet, rows: Value): Minibatch {
  const start = net.obsDim + net.actions.dim;
  const scalars = PPO_SCALARS.map((name, i) => [name, squeeze(slice(rows, 1, start + i, start + i + 1), [1])]);
  const [obs, action] = [slice(rows, 1, 0, net.obsDim), slice(rows, 1, net.obsDim, start)];
  return { obs, action, ...Object.fromEntries(scalars) };
}

/** Clipped surrogate (1707.06347, eq. 7) + value loss - entropy bonus, and what to watch. */
export function ppoLoss(net: PolicyNet, config: PpoConfig, params: Params, batch: Minibatch) {
  const { logProb, entropy } = density(net, params, batch.obs, batch.action);
  const logRatio = sub(logProb, batch.logProb);
  const ratio = exp(logRatio);
  const advantage = unitVariance(batch.advantage);
  const clipped = clip(ratio, 1 - config.clipRatio, 1 + config.clipRatio);
  const policyLoss = neg(reduceMean(minimum(mul(ratio, advantage), mul(clipped, advantage))));
  const valueLoss = mul(0.5, reduceMean(square(sub(stateValue(net, params, batch.obs), batch.returns))));
  const bonus = mul(config.entropyCoefficient, entropy);
  const loss = sub(add(policyLoss, mul(config.valueCoefficient, valueLoss)), bonus);
  const outside = greater(mul(sub(ratio, 1), sub(ratio, 1)), config.clipRatio ** 2);
  // The k3 estimator of KL(old || new): unbiased and never negative.
  const approxKl = reduceMean(sub(sub(ratio, 1), logRatio));
  const clipFraction = reduceMean(cast(outside, 'float32'));
  return { loss, metrics: { policyLoss, valueLoss, entropy, approxKl, clipFraction } };
}

function unitVariance(x: Value): Value {
  const centred = sub(x, reduceMean(x));
  return div(centred, add(sqrt(reduceMean(square(centred))), 1e-8));
}
