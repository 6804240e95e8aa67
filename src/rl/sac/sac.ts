// Soft actor-critic (Haarnoja et al., 1812.05905) as a learner: batches in, K gradient steps a run.

import type { z } from 'zod';
import type { Rng } from '../../core/rng.js';
import { mean } from '../../core/statistics.js';
import { buildTrainer, float32, InferenceSession } from '../../nn/index.js';
import type { TransitionBatch } from '../../replay/index.js';
import { type SacConfig, sacConfigSchema } from '../config.js';
import { assertBatch, assertFinite, assertLength } from '../finite.js';
import type { ReplayLearner } from '../learner.js';
import { parseConfig } from '../learner-state.js';
import { NetworkLearner, withMoments } from '../network-learner.js';
import { actingSession } from '../network-policy.js';
import type { PolicyNet } from '../policy-net.js';
import { boxActions, type Spaces, spaceDim } from '../spaces.js';
import { sacLayout, sacTrainer, tdErrorModel } from './sac-graph.js';

/** Means over the steps of one update; `alpha` is the last step's. */
export interface SacMetrics {
  readonly criticLoss: number;
  readonly policyLoss: number;
  readonly alpha: number;
  /** Of the action normalised to [-1, 1], nats. */
  readonly entropy: number;
  readonly q: number;
}

/**
 * A fresh SAC learner; its initial weights come from `rng`.
 * Throws LEARNER_CONFIG_INVALID, or SPACE_UNSUPPORTED unless actions are a Box with finite bounds.
 */
export async function makeSac(config: z.input<typeof sacConfigSchema>, spaces: Spaces, rng: Rng): Promise<Sac> {
  const settings = parseConfig('SAC learner', sacConfigSchema, config);
  const net: PolicyNet = {
    head: 'squashed',
    obsDim: spaceDim(spaces.observationSpace),
    hidden: settings.hidden,
    activation: settings.activation,
    actions: boxActions(spaces.actionSpace, 'SAC learner'),
  };
  const layout = sacLayout(net, settings);
  const theta = layout.all.init(rng);
  return new Sac({
    config: settings,
    spaces,
    net,
    trainer: await buildTrainer(sacTrainer(net, settings)),
    session: await actingSession(net),
    arrays: { ...withMoments(theta), target: theta.slice(0, layout.critic.size) },
    policyStart: layout.critic.size,
    policySize: layout.policy.size,
  });
}

/** Use `makeSac`. */
export class Sac extends NetworkLearner<SacConfig> implements ReplayLearner {
  readonly kind = 'sac';
  readonly learnsFrom = 'replay';
  private tdSession: Promise<InferenceSession> | undefined;

  /**
   * `steps` gradient steps, the i-th on rows [i * batchSize, (i + 1) * batchSize) of `batch`.
   * @param batch steps * config.batchSize rows, actions in the environment's units
   * @param weights importance weight per row (prioritised replay); 1 if absent
   * Throws BATCH_SHAPE_MISMATCH or NON_FINITE_VALUE; the learner is then as before the call.
   */
  async update(batch: TransitionBatch, steps: number, rng: Rng, weights?: Float32Array): Promise<SacMetrics> {
    const rows = steps * this.config.batchSize;
    assertBatch(batch, rows, this.net.obsDim, this.net.actions.dim);
    const weight = weights ?? new Float32Array(rows).fill(1);
    assertLength('weights', weight, rows);
    assertFinite('weights', weight, rows);
    const { obs, action, reward, nextObs } = batch;
    const columns = { obs, action, reward, nextObs, weight, discount: this.discounts(batch, rows) };
    const metrics = await this.train({}, { ...columns, ...this.noise(rows, rng) }, steps, this.config.criticLr);
    const { criticLoss, policyLoss, alpha, entropy, q } = metrics;
    return {
      criticLoss: mean(criticLoss),
      policyLoss: mean(policyLoss),
      alpha: alpha[steps - 1],
      entropy: mean(entropy),
      q: mean(q),
    };
  }

  /**
   * |Q - y| of every row of `batch`, mean over the twins, by the weights of now: priorities for prioritised replay.
   * The next actions' noise comes from `rng`. Throws BATCH_SHAPE_MISMATCH or NON_FINITE_VALUE.
   */
  async tdErrors(batch: TransitionBatch, rng: Rng): Promise<Float32Array> {
    const { rows } = batch;
    const { obsDim, actions } = this.net;
    assertBatch(batch, rows, obsDim, actions.dim);
    this.tdSession ??= InferenceSession.fromBytes(tdErrorModel(this.net, this.config));
    const session = await this.tdSession;
    const { theta, target } = this.current;
    const { obs, action, reward, nextObs } = batch;
    const nextNoise = rng.fillNormal(new Float32Array(rows * actions.dim));
    const result = await session.run({
      theta: float32(theta, [theta.length]),
      target: float32(target, [target.length]),
      obs: float32(obs, [rows, obsDim]),
      action: float32(action, [rows, actions.dim]),
      reward: float32(reward, [rows]),
      discount: float32(this.discounts(batch, rows), [rows]),
      nextObs: float32(nextObs, [rows, obsDim]),
      nextNoise: float32(nextNoise, [rows, actions.dim]),
    });
    return result.tdError.data as Float32Array;
  }

  override async close(): Promise<void> {
    await super.close();
    await (await this.tdSession)?.release();
  }

  private discounts(batch: TransitionBatch, rows: number): Float32Array {
    const discount = new Float32Array(rows);
    for (let i = 0; i < rows; i++) discount[i] = batch.terminated[i] ? 0 : this.config.gamma;
    return discount;
  }

  private noise(rows: number, rng: Rng): { noise: Float32Array; nextNoise: Float32Array } {
    const count = rows * this.net.actions.dim;
    return { noise: rng.fillNormal(new Float32Array(count)), nextNoise: rng.fillNormal(new Float32Array(count)) };
  }
}
