// Planning in a world model by the cross-entropy method (Rubinstein 1999; PETS, Chua et al. 2018, 1805.12114, section 5.2):
// sequences of actions are drawn, imagined, and drawn again from those that went best. It knows no kind of model: candidates
// are forks of one carry, and a step of all of them is one batch.

import type { Carry, Dynamics, NumberRows } from '../../core/dynamics.js';
import { reverieError } from '../../core/errors.js';
import type { Rng } from '../../core/rng.js';
import type { VectorSpace } from '../../core/spaces.js';

export interface CemOptions {
  /** Steps that a plan looks ahead. */
  readonly horizon: number;
  /** Sequences imagined in a round. */
  readonly candidates: number;
  /** Of these, the best ones, which the next round is drawn around. */
  readonly elites: number;
  readonly rounds: number;
  /** Discount of a reward one step later. */
  readonly gamma: number;
}

export const CEM_DEFAULTS: CemOptions = { horizon: 20, candidates: 128, elites: 12, rounds: 4, gamma: 0.99 };

type NumericDynamics<C extends Carry> = Dynamics<C, NumberRows>;

/** Plans anew at each step and does the first action (model-predictive control); the rest of a plan begins the next one. */
export class CemPlanner<C extends Carry> {
  private readonly low: readonly number[];
  private readonly high: readonly number[];
  private readonly options: CemOptions;
  /** Mean of the plan of the moment, [horizon, actionDim]. */
  private mean: Float64Array;

  /** @throws SPACE_UNSUPPORTED for actions that are no box with finite bounds */
  constructor(
    private readonly model: NumericDynamics<C>,
    options: Partial<CemOptions> = {},
  ) {
    this.options = { ...CEM_DEFAULTS, ...options };
    ({ low: this.low, high: this.high } = finiteBox(model.actionSpace as VectorSpace));
    this.mean = this.middle();
  }

  /** Forgets the last plan: for a new episode. */
  reset(): void {
    this.mean = this.middle();
  }

  /** The action [actionDim] to do in the world whose memory is the one row of `carry`. Same carry, plan and stream, same action. */
  async plan(carry: C, rng: Rng): Promise<Float32Array> {
    const { horizon, candidates, elites, rounds } = this.options;
    const dim = this.low.length;
    const forks = this.model.pick(carry, new Uint32Array(candidates));
    const mean = this.mean;
    const std = Float64Array.from(mean, (_, i) => (this.high[i % dim] - this.low[i % dim]) / 4);
    for (let round = 0; round < rounds; round++) {
      const plans = this.draw(mean, std, rng.split('draw', round));
      const returns = await this.returnsOf(forks, plans, rng.split('imagine', round));
      const best = [...returns.keys()].sort((a, b) => returns[b] - returns[a] || a - b).slice(0, elites);
      for (let i = 0; i < horizon * dim; i++) {
        const values = best.map((candidate) => plans[candidate * horizon * dim + i]);
        mean[i] = values.reduce((sum, value) => sum + value, 0) / elites;
        std[i] = Math.sqrt(values.reduce((sum, value) => sum + (value - mean[i]) ** 2, 0) / elites);
      }
    }
    const action = Float32Array.from(mean.subarray(0, dim), (value, j) => this.within(value, j));
    this.mean = this.middle();
    this.mean.set(mean.subarray(dim), 0);
    return action;
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

  private async returnsOf(forks: C, plans: Float32Array, rng: Rng): Promise<Float64Array> {
    const { horizon, candidates, gamma } = this.options;
    const dim = this.low.length;
    const returns = new Float64Array(candidates);
    const isOver = new Uint8Array(candidates);
    const action = new Float32Array(candidates * dim);
    let carry = forks;
    for (let t = 0; t < horizon; t++) {
      for (let c = 0; c < candidates; c++) {
        const from = (c * horizon + t) * dim;
        action.set(plans.subarray(from, from + dim), c * dim);
      }
      const imagined = await this.model.imagine(carry, action, rng.split('step', t), { propagation: 'mean' });
      for (let c = 0; c < candidates; c++) {
        if (!isOver[c]) returns[c] += gamma ** t * imagined.reward[c];
        if (imagined.terminated[c]) isOver[c] = 1;
      }
      carry = imagined.carry;
    }
    return returns;
  }

  private within(value: number, element: number): number {
    return Math.min(Math.max(value, this.low[element]), this.high[element]);
  }

  private middle(): Float64Array {
    const dim = this.low.length;
    return Float64Array.from(
      { length: this.options.horizon * dim },
      (_, i) => (this.low[i % dim] + this.high[i % dim]) / 2,
    );
  }
}

function finiteBox(space: VectorSpace): { low: number[]; high: number[] } {
  if (space.type === 'box' && [...space.low, ...space.high].every((bound) => typeof bound === 'number')) {
    return { low: space.low as number[], high: space.high as number[] };
  }
  throw reverieError('SPACE_UNSUPPORTED', {
    learner: 'cem',
    space: space.type === 'box' ? 'an action box without finite bounds' : `a discrete action space of ${space.n}`,
    hint: 'Plan over a box of actions with finite bounds.',
  });
}
