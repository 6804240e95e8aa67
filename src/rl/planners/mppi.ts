// Model-predictive path integral control (MPPI, Williams et al. 2017, ICRA; 1707.02342): all sequences count, each by the
// exponential of what it brought in, so that the plan moves smoothly and no candidate is thrown away.

import type { Carry } from '../../core/dynamics.js';
import type { Rng } from '../../core/rng.js';
import {
  type Decision,
  type NumericDynamics,
  type Plan,
  SHOOTING_DEFAULTS,
  Shooting,
  type ShootingOptions,
} from './shooting.js';

export interface MppiOptions extends ShootingOptions {
  /** Standard deviation of the noise, as a share of half the width between an action's bounds. */
  readonly noise: number;
  /** How much better a sequence must be to count for more, in standard deviations of the candidates' returns; the limit 0 takes the best alone. */
  readonly temperature: number;
}

export const MPPI_DEFAULTS: MppiOptions = { ...SHOOTING_DEFAULTS, rounds: 2, noise: 0.5, temperature: 0.2 };

export class MppiPlanner<C extends Carry> extends Shooting<C, MppiOptions> {
  /** @throws SPACE_UNSUPPORTED for actions that are no box with finite bounds */
  constructor(model: NumericDynamics<C>, options: Partial<MppiOptions> = {}) {
    super(model, { ...MPPI_DEFAULTS, ...options }, 'mppi');
  }

  async decide(carry: C, before: Plan | undefined, rng: Rng): Promise<Decision> {
    const { candidates, noise, rounds } = this.options;
    const dim = this.low.length;
    const forks = this.forks(carry, candidates);
    let mean = before?.mean ?? this.middle();
    for (let round = 0; round < rounds; round++) {
      const plans = rng.split('draw', round).fillNormal(new Float32Array(candidates * mean.length));
      for (let i = 0; i < plans.length; i++) {
        const at = i % mean.length;
        const std = (noise * (this.high[at % dim] - this.low[at % dim])) / 2;
        // The first candidate is the plan itself, so that a good one is not lost to noise.
        const moved = i < mean.length ? mean[at] : mean[at] + std * plans[i];
        plans[i] = this.within(moved, at % dim);
      }
      const weights = this.weightsOf(await this.returnsOf(forks, plans, rng.split('imagine', round)));
      mean = mean.map((_, at) => weights.reduce((sum, weight, c) => sum + weight * plans[c * mean.length + at], 0));
    }
    return { action: this.bounded(mean), next: { mean: this.shifted(mean), kept: [] } };
  }

  /** Shares that add up to 1. */
  private weightsOf(returns: Float64Array): Float64Array {
    const best = returns.reduce((a, b) => Math.max(a, b));
    const mean = returns.reduce((sum, value) => sum + value, 0) / returns.length;
    const variance = returns.reduce((sum, value) => sum + (value - mean) ** 2, 0) / returns.length;
    const scale = this.options.temperature * Math.sqrt(variance) + 1e-12;
    const weights = returns.map((value) => Math.exp((value - best) / scale));
    const sum = weights.reduce((total, weight) => total + weight, 0);
    return weights.map((weight) => weight / sum);
  }
}
