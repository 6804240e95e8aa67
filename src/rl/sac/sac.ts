// Soft actor-critic (Haarnoja et al., 1812.05905) as a learner: batches in, K gradient steps a run.

import type { z } from 'zod';
import type { Rng } from '../../core/rng.js';
import { mean } from '../../core/statistics.js';
import { buildTrainer, type TrainingDevice } from '../../nn/trainer.js';
import type { TransitionBatch } from '../../replay/transition.js';
import { type SacConfig, sacConfigSchema } from '../config.js';
import { CriticLearner } from '../critic-learner.js';
import type { ReplayLearner } from '../learner.js';
import { parseConfig } from '../learner-state.js';
import { withMoments } from '../network-learner.js';
import { actingSession } from '../network-policy.js';
import { policyNet } from '../policy-net.js';
import { boxActions, type Spaces } from '../spaces.js';
import { nativeTrainerOf, sacLayout, sacTrainer, tdErrorModel } from './sac-graph.js';

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
 * Throws SETTING_INVALID, SCENARIO_UNFIT unless actions are a Box with finite bounds, or DEVICE_UNAVAILABLE.
 */
export async function makeSac(
  config: z.input<typeof sacConfigSchema>,
  spaces: Spaces,
  rng: Rng,
  device: TrainingDevice = 'cpu',
): Promise<Sac> {
  const settings = parseConfig('SAC learner', sacConfigSchema, config);
  const net = policyNet(spaces, settings, boxActions(spaces.actionSpace, 'SAC learner'), 'squashed');
  const layout = sacLayout(net, settings);
  const theta = layout.all.init(rng);
  return new Sac({
    config: settings,
    spaces,
    net,
    trainer: device === 'native' ? nativeTrainerOf(net, settings) : await buildTrainer(sacTrainer(net, settings)),
    session: await actingSession(net),
    arrays: { ...withMoments(theta), target: theta.slice(0, layout.critic.size) },
    policyStart: layout.critic.size,
    policySize: layout.policy.size,
  });
}

/** Use `makeSac`. */
export class Sac extends CriticLearner<SacConfig> implements ReplayLearner {
  readonly kind = 'sac';

  /**
   * `steps` gradient steps, the i-th on rows [i * batchSize, (i + 1) * batchSize) of `batch`.
   * @param batch steps * config.batchSize rows, actions in the environment's units
   * @param weights importance weight per row (prioritised replay); 1 if absent
   * Throws DATA_MISMATCH or NON_FINITE_VALUE; the learner is then as before the call.
   */
  async update(batch: TransitionBatch, steps: number, rng: Rng, weights?: Float32Array): Promise<SacMetrics> {
    const columns = this.columnsOf(batch, steps, weights);
    const rows = steps * this.config.batchSize;
    const perStep = { ...columns, noise: this.normal(rows, rng), nextNoise: this.normal(rows, rng) };
    const metrics = await this.train({}, perStep, steps, this.config.criticLr);
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
   * The next actions' noise comes from `rng`. Throws DATA_MISMATCH or NON_FINITE_VALUE.
   */
  tdErrors(batch: TransitionBatch, rng: Rng): Promise<Float32Array> {
    return this.errorsOf(batch, rng, ['theta', 'target']);
  }

  protected get replayed(): SacConfig {
    return this.config;
  }

  protected errorModel(): Uint8Array {
    return tdErrorModel(this.net, this.config);
  }
}
