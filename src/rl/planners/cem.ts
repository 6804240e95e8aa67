// Planning in a world model by the cross-entropy method (Rubinstein 1999; PETS, Chua et al. 2018, 1805.12114, section 5.2):
// sequences of actions are drawn, imagined, and drawn again from those that went best.

import type { Carry } from '../../core/dynamics.js';
import type { Rng } from '../../core/rng.js';
import {
  bestOf,
  type Decision,
  type NumericDynamics,
  type Plan,
  SHOOTING_DEFAULTS,
  Shooting,
  type ShootingOptions,
} from './shooting.js';

export interface CemOptions extends ShootingOptions {
  /** Of the candidates, the best ones, which the next round is drawn around. */
  readonly elites: number;
}

export const CEM_DEFAULTS: CemOptions = { ...SHOOTING_DEFAULTS, elites: 12 };

export class CemPlanner<C extends Carry> extends Shooting<C, CemOptions> {
  /** @throws SPACE_UNSUPPORTED for actions that are no box with finite bounds */
  constructor(model: NumericDynamics<C>, options: Partial<CemOptions> = {}) {
    super(model, { ...CEM_DEFAULTS, ...options }, 'cem');
  }

  async decide(carry: C, before: Plan | undefined, rng: Rng): Promise<Decision> {
    const { candidates, elites, rounds } = this.options;
    const forks = this.forks(carry, candidates);
    const mean = before?.mean.slice() ?? this.middle();
    const std = this.eachElement((j) => (this.high[j] - this.low[j]) / 4);
    for (let round = 0; round < rounds; round++) {
      const plans = this.draw(mean, std, rng.split('draw', round));
      const best = bestOf(await this.returnsOf(forks, plans, rng.split('imagine', round)), elites);
      for (let i = 0; i < mean.length; i++) {
        const values = best.map((candidate) => plans[candidate * mean.length + i]);
        mean[i] = values.reduce((sum, value) => sum + value, 0) / elites;
        std[i] = Math.sqrt(values.reduce((sum, value) => sum + (value - mean[i]) ** 2, 0) / elites);
      }
    }
    return { action: this.bounded(mean), next: { mean: this.shifted(mean), kept: [] } };
  }

  /** [candidates, horizon, actionDim] */
  private draw(mean: Float64Array, std: Float64Array, rng: Rng): Float32Array {
    const plans = rng.fillNormal(new Float32Array(this.options.candidates * mean.length));
    for (let i = 0; i < plans.length; i++) {
      const at = i % mean.length;
      plans[i] = this.within(mean[at] + std[at] * plans[i], at % this.low.length);
    }
    return plans;
  }
}
