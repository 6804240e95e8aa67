// TD3+BC (Fujimoto & Gu 2021, 2106.06860) as a learner: what TD3 learns, held near the actions of the data, so that it can be learned
// from records alone. The policy is a Gaussian of fixed width, TD3's exploration noise; its mode is clipped to the space where the
// paper's is squashed, and observations are seen as they are.

import type { z } from 'zod';
import type { Rng } from '../../core/rng.js';
import { mean } from '../../core/statistics.js';
import { adamScalars } from '../../nn/parameters.js';
import { buildTrainer } from '../../nn/trainer.js';
import type { TransitionBatch } from '../../replay/transition.js';
import { type Td3BcConfig, td3BcConfigSchema } from '../config.js';
import { CriticLearner } from '../critic-learner.js';
import type { ReplayLearner } from '../learner.js';
import { parseConfig } from '../learner-state.js';
import { withMoments } from '../network-learner.js';
import { actingSession } from '../network-policy.js';
import { policyNet } from '../policy-net.js';
import { boxActions, type Spaces } from '../spaces.js';
import { td3BcErrorModel, td3BcLayout, td3BcTrainer } from './td3-bc-graph.js';

/** Means over the steps of one update. */
export interface Td3BcMetrics {
  readonly criticLoss: number;
  readonly policyLoss: number;
  /** Mean squared distance to the actions of the data, in [-1, 1] units. */
  readonly cloningLoss: number;
  readonly q: number;
}

/**
 * A fresh TD3+BC learner; its initial weights come from `rng`.
 * Throws SETTING_INVALID, SCENARIO_UNFIT unless actions are a Box with finite bounds, or DEVICE_UNAVAILABLE.
 */
export async function makeTd3Bc(config: z.input<typeof td3BcConfigSchema>, spaces: Spaces, rng: Rng): Promise<Td3Bc> {
  const settings = parseConfig('TD3+BC learner', td3BcConfigSchema, config);
  const net = policyNet(spaces, settings, boxActions(spaces.actionSpace, 'TD3+BC learner'), 'gaussian');
  const layout = td3BcLayout(net, settings);
  const theta = layout.all.init(rng);
  return new Td3Bc({
    config: settings,
    spaces,
    net,
    trainer: await buildTrainer(td3BcTrainer(net, settings)),
    session: await actingSession(net),
    arrays: { ...withMoments(theta), target: theta.slice() },
    policyStart: layout.critic.size,
    policySize: layout.policy.size,
  });
}

/** Use `makeTd3Bc`. */
export class Td3Bc extends CriticLearner<Td3BcConfig> implements ReplayLearner {
  readonly kind = 'td3-bc';

  /**
   * `steps` gradient steps, the i-th on rows [i * batchSize, (i + 1) * batchSize) of `batch`.
   * @param weights importance weight per row (prioritised replay); 1 if absent
   * Throws DATA_MISMATCH or NON_FINITE_VALUE; the learner is then as before the call.
   */
  async update(batch: TransitionBatch, steps: number, rng: Rng, weights?: Float32Array): Promise<Td3BcMetrics> {
    const columns = this.columnsOf(batch, steps, weights);
    const nextNoise = this.normal(steps * this.config.batchSize, rng);
    const perStep = { ...columns, nextNoise, ...this.policySchedule(steps) };
    const metrics = await this.train({}, perStep, steps, this.config.lr);
    const { criticLoss, policyLoss, cloningLoss, q } = metrics;
    return {
      criticLoss: mean(criticLoss),
      policyLoss: mean(policyLoss),
      cloningLoss: mean(cloningLoss),
      q: mean(q),
    };
  }

  /** As of SAC: |Q - y| of every row, mean over the twins. Throws DATA_MISMATCH or NON_FINITE_VALUE. */
  tdErrors(batch: TransitionBatch, rng: Rng): Promise<Float32Array> {
    return this.errorsOf(batch, rng, ['theta', 'target']);
  }

  protected get replayed(): Td3BcConfig {
    return this.config;
  }

  protected errorModel(): Uint8Array {
    return td3BcErrorModel(this.net, this.config);
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
