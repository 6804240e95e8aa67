// What planners over sequences of actions share: candidates are forks of one carry, a step of all of them is one batch, and what
// a plan was begins the next one. They know no kind of model.

import type { Carry, Dynamics, NumberRows } from '../../core/dynamics.js';
import { reverieError } from '../../core/errors.js';
import type { Rng } from '../../core/rng.js';
import type { VectorSpace } from '../../core/spaces.js';

export type NumericDynamics<C extends Carry> = Dynamics<C, NumberRows>;

export interface ShootingOptions {
  /** Steps that a plan looks ahead. */
  readonly horizon: number;
  /** Sequences imagined in a round. */
  readonly candidates: number;
  /** Times that candidates are drawn, each round around what went best in the one before. */
  readonly rounds: number;
  /** Discount of a reward one step later. */
  readonly gamma: number;
  /** What a step is worth: its reward times `rewardWeight`, and the model's disagreement about it times `bonusWeight`. */
  readonly rewardWeight: number;
  /** More than 0 explores (Plan2Explore, Sekar et al. 2020, 2005.05960). @see Dynamics.imagine for models that cannot say */
  readonly bonusWeight: number;
}

export const SHOOTING_DEFAULTS: ShootingOptions = {
  ...{ horizon: 20, candidates: 128, rounds: 4, gamma: 0.99 },
  ...{ rewardWeight: 1, bonusWeight: 0 },
};

/** What one plan leaves for the next, as it is when the next one begins. Never written to. */
export interface Plan {
  /** Mean of the sequences, [horizon, actionDim]. */
  readonly mean: Float64Array;
  /** Sequences that went best and are tried again, each [horizon, actionDim]. */
  readonly kept: readonly Float64Array[];
}

export interface Decision {
  /** [actionDim] */
  readonly action: Float32Array;
  readonly next: Plan;
}

/** Plans anew at each step and does the first action (model-predictive control); the rest of a plan begins the next one. */
export abstract class Shooting<C extends Carry, Options extends ShootingOptions> {
  protected readonly low: readonly number[];
  protected readonly high: readonly number[];
  private last: Plan | undefined;

  /** @throws SPACE_UNSUPPORTED for actions that are no box with finite bounds */
  constructor(
    protected readonly model: NumericDynamics<C>,
    protected readonly options: Options,
    name: string,
  ) {
    ({ low: this.low, high: this.high } = finiteBox(model.actionSpace as VectorSpace, name));
  }

  /** Forgets the last plan: for a new episode. */
  reset(): void {
    this.last = undefined;
  }

  /** The action [actionDim] to do in the world whose memory is the one row of `carry`. Same carry, plan and stream, same action. */
  async plan(carry: C, rng: Rng): Promise<Float32Array> {
    const { action, next } = await this.decide(carry, this.last, rng);
    this.last = next;
    return action;
  }

  /** As `plan`, for a caller who keeps plans; undefined: none yet. */
  abstract decide(carry: C, before: Plan | undefined, rng: Rng): Promise<Decision>;

  /** Forks of one row, a candidate each. */
  protected forks(carry: C, candidates: number): C {
    return this.model.pick(carry, new Uint32Array(candidates));
  }

  /** What each of `plans` [candidates, horizon, actionDim] brings in, imagined from `forks`. */
  protected async returnsOf(forks: C, plans: Float32Array, rng: Rng): Promise<Float64Array> {
    const { horizon, gamma, rewardWeight, bonusWeight } = this.options;
    const dim = this.low.length;
    const candidates = forks.rows;
    const returns = new Float64Array(candidates);
    const isOver = new Uint8Array(candidates);
    const action = new Float32Array(candidates * dim);
    const asked = { propagation: 'mean', ...(bonusWeight > 0 && { disagreement: true }) } as const;
    let carry = forks;
    for (let t = 0; t < horizon; t++) {
      for (let c = 0; c < candidates; c++) {
        const from = (c * horizon + t) * dim;
        for (let j = 0; j < dim; j++) action[c * dim + j] = plans[from + j];
      }
      const imagined = await this.model.imagine(carry, action, rng.split('step', t), asked);
      for (let c = 0; c < candidates; c++) {
        const bonus = bonusWeight > 0 ? bonusWeight * imagined.disagreement![c] : 0;
        if (!isOver[c]) returns[c] += gamma ** t * (rewardWeight * imagined.reward[c] + bonus);
        if (imagined.terminated[c]) isOver[c] = 1;
      }
      carry = imagined.carry;
    }
    return returns;
  }

  protected within(value: number, element: number): number {
    return Math.min(Math.max(value, this.low[element]), this.high[element]);
  }

  /** The actions of one step within bounds. */
  protected bounded(sequence: ArrayLike<number>): Float32Array {
    return Float32Array.from({ length: this.low.length }, (_, j) => this.within(sequence[j], j));
  }

  /** Whole sequences between the bounds, [horizon, actionDim]. */
  protected middle(): Float64Array {
    return this.eachElement((j) => (this.low[j] + this.high[j]) / 2);
  }

  /** A number for every action of a plan, by its element. */
  protected eachElement(value: (element: number) => number): Float64Array {
    const dim = this.low.length;
    return Float64Array.from({ length: this.options.horizon * dim }, (_, i) => value(i % dim));
  }

  /** A plan one step on: its first action is done, and its last is the middle again. */
  protected shifted(sequence: Float64Array): Float64Array {
    const later = this.middle();
    later.set(sequence.subarray(this.low.length), 0);
    return later;
  }
}

/** Numbers of the best, best first; of equals the first. */
export function bestOf(returns: Float64Array, count: number): number[] {
  return [...returns.keys()].sort((a, b) => returns[b] - returns[a] || a - b).slice(0, count);
}

function finiteBox(space: VectorSpace, learner: string): { low: number[]; high: number[] } {
  if (space.type === 'box' && [...space.low, ...space.high].every((bound) => typeof bound === 'number')) {
    return { low: space.low as number[], high: space.high as number[] };
  }
  throw reverieError('SPACE_UNSUPPORTED', {
    learner,
    space: space.type === 'box' ? 'an action box without finite bounds' : `a discrete action space of ${space.n}`,
    hint: 'Plan over a box of actions with finite bounds; over discrete actions there is the tree search (MctsPlanner).',
  });
}
