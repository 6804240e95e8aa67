// Proximal policy optimisation (Schulman et al., 1707.06347) as a learner: whole rollouts in, epochs of minibatches run.

import type { z } from 'zod';
import type { Rng } from '../../core/rng.js';
import { mean } from '../../core/statistics.js';
import { InferenceSession } from '../../nn/runtime.js';
import { buildTrainer } from '../../nn/trainer.js';
import { type PpoConfig, ppoConfigSchema } from '../config.js';
import { assertBatch, assertFinite, assertLength } from '../finite.js';
import type { RolloutLearner } from '../learner.js';
import { parseConfig } from '../learner-state.js';
import { type LearnerParts, NetworkLearner, withMoments } from '../network-learner.js';
import { type ActingOutputs, actingSession } from '../network-policy.js';
import { type PolicyNet, policyNet } from '../policy-net.js';
import type { Rollout } from '../rollout.js';
import { actionsOf, type Spaces } from '../spaces.js';
import { PPO_SCALARS, ppoLayout, ppoTrainer, valueModel } from './ppo-graph.js';

/** Means over the last epoch that ran. */
export interface PpoMetrics {
  readonly policyLoss: number;
  readonly valueLoss: number;
  readonly entropy: number;
  readonly approxKl: number;
  readonly clipFraction: number;
  /** How many of `config.epochs` ran before `targetKl` stopped them. */
  readonly epochs: number;
}

/**
 * A fresh PPO learner, for a Box with finite bounds (Gaussian with its own standard deviation) or a Discrete (categorical).
 * Throws SETTING_INVALID or SCENARIO_UNFIT.
 */
export async function makePpo(config: z.input<typeof ppoConfigSchema>, spaces: Spaces, rng: Rng): Promise<Ppo> {
  const settings = parseConfig('PPO learner', ppoConfigSchema, config);
  const net = policyNet(spaces, settings, actionsOf(spaces.actionSpace));
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
  return new Ppo(parts, await InferenceSession.fromBytes(valueModel(net)));
}

/** Use `makePpo`. */
export class Ppo extends NetworkLearner<PpoConfig> implements RolloutLearner {
  readonly kind = 'ppo';
  readonly learnsFrom = 'rollouts';
  private readonly valueSession: InferenceSession;
  private readonly policySize: number;

  constructor(parts: LearnerParts<PpoConfig>, valueSession: InferenceSession) {
    super(parts);
    this.valueSession = valueSession;
    this.policySize = parts.policySize;
  }

  /** Actions to collect a rollout with: in the environment's units, and `raw` (before clipping), which PPO learns from. */
  act(obs: Float32Array, rows: number, rng: Rng): Promise<ActingOutputs> {
    return this.live.outputs(obs, rows, rng);
  }

  /** V(obs) for obs [rows, obsDim]. */
  async value(obs: Float32Array, rows: number): Promise<Float32Array> {
    const theta = this.current.theta.subarray(this.policySize);
    const { value } = await this.valueSession.run({
      theta: { dtype: 'float32', dims: [theta.length], data: theta },
      obs: { dtype: 'float32', dims: [rows, this.net.obsDim], data: obs },
    });
    return value.data as Float32Array;
  }

  /**
   * Epochs of minibatches over one rollout; rows beyond the last full minibatch of an epoch's shuffle are left to the next epoch.
   * Throws DATA_MISMATCH or NON_FINITE_VALUE; the learner is then as before the call.
   */
  async update(rollout: Rollout, rng: Rng): Promise<PpoMetrics> {
    assertRollout(rollout, this.net, this.config.batchSize);
    const rows = await this.trainingRows(rollout);
    const { metrics, epochs } = await this.allOrNothing(() => this.runEpochs(rows, rollout.batch.rows, rng));
    return {
      policyLoss: mean(metrics.policyLoss),
      valueLoss: mean(metrics.valueLoss),
      entropy: mean(metrics.entropy),
      approxKl: mean(metrics.approxKl),
      clipFraction: mean(metrics.clipFraction),
      epochs,
    };
  }

  private async runEpochs(rows: Float32Array, count: number, rng: Rng) {
    const { epochs, batchSize, targetKl, lr } = this.config;
    const steps = Math.floor(count / batchSize);
    for (let epoch = 1; ; epoch++) {
      const indices = Int32Array.from(rng.permutation(count).subarray(0, steps * batchSize));
      const metrics = await this.train({ rows }, { indices }, steps, lr);
      const tooFar = targetKl !== null && mean(metrics.approxKl) > targetKl;
      if (tooFar || epoch === epochs) return { metrics, epochs: epoch };
    }
  }

  override async close(): Promise<void> {
    await super.close();
    await this.valueSession.release();
  }

  /** The matrix `ppoTrainer` gathers from: obs, raw action, log-probability, advantage, return, value. */
  private async trainingRows(rollout: Rollout): Promise<Float32Array> {
    const { batch, steps, envs } = rollout;
    const value = await this.value(batch.obs, batch.rows);
    const nextValue = await this.value(batch.nextObs, batch.rows);
    const { gamma, gaeLambda } = this.config;
    const { reward, terminated, truncated } = batch;
    const advantages = generalisedAdvantage({
      steps,
      envs,
      reward,
      value,
      nextValue,
      terminated,
      truncated,
      gamma,
      gaeLambda,
    });
    const scalars = { logProb: rollout.logProb, value, ...advantages };
    return packRows(this.net, rollout, scalars);
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

// Generalised advantage estimation as a plain function over time-major rows.

export interface GaeInput {
  /** Time steps T and parallel environments N; every array is [T, N], time-major. */
  readonly steps: number;
  readonly envs: number;
  readonly reward: Float32Array;
  /** V(obs) */
  readonly value: Float32Array;
  /** V(nextObs), where nextObs is the successor itself, never the first observation after a reset. */
  readonly nextValue: Float32Array;
  readonly terminated: Uint8Array;
  readonly truncated: Uint8Array;
  readonly gamma: number;
  readonly gaeLambda: number;
}

export interface GaeOutput {
  readonly advantage: Float32Array;
  /** Targets of the value function: advantage + value (TD(lambda) returns). */
  readonly returns: Float32Array;
}

/**
 * GAE (Schulman et al., 1506.02438, eq. 16). `terminated` cuts both the bootstrap and the sum; `truncated` cuts
 * the sum only, and its step still bootstraps from the value of its final observation.
 */
export function generalisedAdvantage(input: GaeInput): GaeOutput {
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
