// Planning in a world model by the improved cross-entropy method (iCEM, Pinneri et al. 2020, 2008.06389): sequences of actions are drawn,
// imagined as forks of one carry, and drawn again around those that went best. Its noise holds on for some steps, so that a body is moved
// and not shaken; there are fewer candidates each round; the best sequences of a round, and of the step before, are tried again; and the
// best sequence is done, not their mean.

import type { z } from 'zod';
import { sha256 } from '../core/canonical-json.js';
import type { Carry, Dynamics, FrozenCarry, NumberRows } from '../core/dynamics.js';
import type { VectorSpace } from '../core/environment.js';
import { reverieError } from '../core/errors.js';
import type { ActOptions, Policy, PolicyAction, PolicyMemory, PolicySnapshot } from '../core/policy.js';
import type { Rng } from '../core/rng.js';
import { type Bc, type BcMetrics, type Demonstrations, makeBc } from './bc.js';
import { type PetsConfig, petsConfigSchema } from './config.js';
import { type LearnerState, type PlanningLearner, parseConfig } from './learner.js';
import { boxActions, type Spaces } from './spaces.js';

type NumericDynamics<C extends Carry> = Dynamics<C, NumberRows>;

/** `candidates` are sequences imagined in the first round, `elites` the best of them, which the next round is drawn around. */
type IcemOptions = Pick<PetsConfig, 'horizon' | 'candidates' | 'elites' | 'rounds' | 'gamma'>;

/** How much slow noise outweighs fast: power falls as frequency to minus this; 0 is white noise. */
const COLOUR = 2;
/** Candidates of a round are those of the one before divided by this; never fewer than twice the elites. */
const DECAY = 1.25;
/** Share of the elites that is kept. */
const KEEP = 0.3;
/** Share of mean and spread that stays as it was in a round. */
const MOMENTUM = 0.1;

/** What one plan leaves for the next, as it is when the next one begins. Never written to. */
interface Plan {
  /** Mean of the sequences, [horizon, actionDim]. */
  readonly mean: Float64Array;
  /** Sequences that went best and are tried again, each [horizon, actionDim]. */
  readonly kept: readonly Float64Array[];
}

interface Round {
  mean: Float64Array;
  std: Float64Array;
  kept: readonly Float64Array[];
  best: Float64Array;
}

/** Plans anew at each step and does the first action (model-predictive control); the rest of a plan begins the next one. */
export class IcemPlanner<C extends Carry> {
  private readonly low: readonly number[];
  private readonly high: readonly number[];
  private readonly noise: ColouredNoise;

  /** @throws SCENARIO_UNFIT for actions that are no box with finite bounds */
  constructor(
    private readonly model: NumericDynamics<C>,
    private readonly options: IcemOptions,
  ) {
    ({ low: this.low, high: this.high } = boxActions(model.actionSpace as VectorSpace, 'planner (iCEM)'));
    this.noise = new ColouredNoise(this.options.horizon, COLOUR);
  }

  /**
   * The action [actionDim] to do in the world whose memory is the one row of `carry`, and what this plan leaves for the next; `before` is
   * what the last one left, undefined at the start of an episode. Same carry, plan and stream, same action.
   */
  async decide(carry: C, before: Plan | undefined, rng: Rng): Promise<{ action: Float32Array; next: Plan }> {
    const { candidates, elites, rounds } = this.options;
    let state: Round = {
      mean: before?.mean ?? this.middle(),
      std: this.eachElement((j) => (this.high[j] - this.low[j]) / 4),
      kept: before?.kept ?? [],
      best: this.middle(),
    };
    for (let round = 0; round < rounds; round++) {
      const count = Math.max(Math.round(candidates * DECAY ** -round), 2 * elites);
      const fresh = this.draw(state, count, rng.split('draw', round));
      const isLast = round === rounds - 1;
      const sequences = [...fresh, ...state.kept, ...(isLast ? [state.mean] : [])];
      state = await this.narrowed(state, carry, sequences, rng.split('imagine', round));
    }
    const kept = state.kept.map((sequence) => this.shifted(sequence));
    return { action: this.bounded(state.best), next: { mean: this.shifted(state.mean), kept } };
  }

  /** The next round's distribution, from the best of these sequences. */
  private async narrowed(state: Round, carry: C, sequences: readonly Float64Array[], rng: Rng): Promise<Round> {
    const { elites } = this.options;
    const size = state.mean.length;
    const plans = new Float32Array(sequences.length * size);
    for (const [i, sequence] of sequences.entries()) plans.set(sequence, i * size);
    const forks = this.model.pick(carry, new Uint32Array(sequences.length));
    const returns = await this.returnsOf(forks, plans, rng);
    const best = bestOf(returns, elites).map((i) => sequences[i]);
    const mean = new Float64Array(size);
    const std = new Float64Array(size);
    for (let i = 0; i < size; i++) {
      const centre = best.reduce((sum, sequence) => sum + sequence[i], 0) / elites;
      const variance = best.reduce((sum, sequence) => sum + (sequence[i] - centre) ** 2, 0) / elites;
      mean[i] = MOMENTUM * state.mean[i] + (1 - MOMENTUM) * centre;
      std[i] = MOMENTUM * state.std[i] + (1 - MOMENTUM) * Math.sqrt(variance);
    }
    return { mean, std, kept: best.slice(0, Math.round(KEEP * elites)), best: best[0] };
  }

  private draw({ mean, std }: Round, count: number, rng: Rng): Float64Array[] {
    const dim = this.low.length;
    return Array.from({ length: count }, () => {
      const noise = this.noise.draw(dim, rng);
      return mean.map((centre, i) => this.within(centre + std[i] * noise[i], i % dim));
    });
  }

  /** What each of `plans` [candidates, horizon, actionDim] brings in, imagined from `forks`. */
  private async returnsOf(forks: C, plans: Float32Array, rng: Rng): Promise<Float64Array> {
    const { horizon, gamma } = this.options;
    const dim = this.low.length;
    const candidates = forks.rows;
    const returns = new Float64Array(candidates);
    const isOver = new Uint8Array(candidates);
    const action = new Float32Array(candidates * dim);
    let carry = forks;
    for (let t = 0; t < horizon; t++) {
      for (let c = 0; c < candidates; c++) {
        const from = (c * horizon + t) * dim;
        for (let j = 0; j < dim; j++) action[c * dim + j] = plans[from + j];
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

  /** The actions of one step within bounds. */
  private bounded(sequence: ArrayLike<number>): Float32Array {
    return Float32Array.from({ length: this.low.length }, (_, j) => this.within(sequence[j], j));
  }

  /** Whole sequences between the bounds, [horizon, actionDim]. */
  private middle(): Float64Array {
    return this.eachElement((j) => (this.low[j] + this.high[j]) / 2);
  }

  /** A number for every action of a plan, by its element. */
  private eachElement(value: (element: number) => number): Float64Array {
    const dim = this.low.length;
    return Float64Array.from({ length: this.options.horizon * dim }, (_, i) => value(i % dim));
  }

  /** A plan one step on: its first action is done, and its last is the middle again. */
  private shifted(sequence: Float64Array): Float64Array {
    const later = this.middle();
    later.set(sequence.subarray(this.low.length), 0);
    return later;
  }
}

/** Numbers of the best, best first; of equals the first. */
function bestOf(returns: Float64Array, count: number): number[] {
  return [...returns.keys()].sort((a, b) => returns[b] - returns[a] || a - b).slice(0, count);
}

/** Normal noise over time whose power falls with frequency (Timmer & König 1995), of variance 1 at every step. */
export class ColouredNoise {
  /** [steps, steps]: what each independent normal adds to each step. */
  private readonly basis: Float64Array;

  constructor(
    private readonly steps: number,
    colour: number,
  ) {
    const basis = new Float64Array(steps * steps);
    for (let k = 0; k < steps; k++) {
      // A cosine basis (DCT-II), which has no wrap from the last step to the first; the mean has the power of the slowest wave.
      const power = Math.max(k, 1) ** (-colour / 2);
      for (let t = 0; t < steps; t++) basis[t * steps + k] = power * Math.cos((Math.PI * k * (t + 0.5)) / steps);
    }
    for (let t = 0; t < steps; t++) {
      const row = basis.subarray(t * steps, (t + 1) * steps);
      const norm = Math.hypot(...row);
      for (let k = 0; k < steps; k++) row[k] /= norm;
    }
    this.basis = basis;
  }

  /** [steps, dim], elements independent. */
  draw(dim: number, rng: Rng): Float64Array {
    const { basis, steps } = this;
    const normals = rng.fillNormal(new Float64Array(steps * dim));
    const noise = new Float64Array(steps * dim);
    for (let t = 0; t < steps; t++) {
      for (let j = 0; j < dim; j++) {
        let sum = 0;
        for (let k = 0; k < steps; k++) sum += basis[t * steps + k] * normals[k * dim + j];
        noise[t * dim + j] = sum;
      }
    }
    return noise;
  }
}

// The planner as a policy. What it remembers is the model's memory of the episode, what it did last, and the plan that the next one
// begins with; so it can be forked, saved and resumed.

/** Begins what every planned policy's version does. */
export const PLANNED = 'planned-';

interface Episode<C extends Carry> {
  /** The model's memory of the step before, and what was done then; undefined before the first step. */
  readonly before?: { readonly carry: C; readonly action: Float32Array; readonly plan: Plan };
}

interface Episodes<C extends Carry> extends Carry {
  readonly episodes: readonly Episode<C>[];
}

/** Numbers as they are kept: JSON-safe. */
interface FrozenEpisode {
  readonly carry: FrozenCarry;
  readonly action: readonly number[];
  readonly mean: readonly number[];
  readonly kept: readonly (readonly number[])[];
}

export class PlannerPolicy<C extends Carry> implements Policy {
  readonly version: string;
  private readonly planner: IcemPlanner<C>;

  /** @throws SCENARIO_UNFIT for actions that are no box with finite bounds */
  constructor(
    private readonly model: NumericDynamics<C>,
    options: IcemOptions,
  ) {
    this.planner = new IcemPlanner(model, options);
    const asked = sha256(JSON.stringify(['icem', options])).slice(0, 8);
    this.version = `${PLANNED}icem-${model.modelVersion.slice(0, 12)}-${asked}`;
  }

  readonly memory: PolicyMemory = {
    begin: (rows): Episodes<C> => ({ rows, episodes: Array.from({ length: rows }, () => ({})) }),
    pick: (carry, rows) => ({ rows: rows.length, episodes: Array.from(rows, (row) => episodesOf<C>(carry)[row]) }),
    join: (carries) => {
      const episodes = carries.flatMap((carry) => episodesOf<C>(carry));
      return { rows: episodes.length, episodes };
    },
    freeze: (carry) => ({ version: this.version, state: episodesOf<C>(carry).map((one) => this.frozen(one)) }),
    revive: ({ version, state }) => {
      if (version !== this.version)
        throw reverieError('SNAPSHOT_MISMATCH', { from: `a policy ${version}`, into: `a policy ${this.version}` });
      const episodes = (state as (FrozenEpisode | null)[]).map((one) => this.revived(one));
      return { rows: episodes.length, episodes };
    },
  };

  /** One row after the other, each from a stream of its own. */
  async act(obs: Float32Array, rows: number, rng: Rng, options: ActOptions = {}): Promise<PolicyAction> {
    const carry = options.carry ?? this.memory.begin(rows);
    const width = obs.length / rows;
    const stream = rng.split('plan', rng.uint32());
    const episodes: Episode<C>[] = [];
    for (const [row, { before }] of episodesOf<C>(carry).entries()) {
      const seen = obs.slice(row * width, (row + 1) * width);
      const own = stream.split(row);
      const here = before
        ? await this.model.follow(before.carry, before.action, seen)
        : await this.model.begin(seen, own.split('begin'));
      const { action, next } = await this.planner.decide(here, before?.plan, own);
      episodes.push({ before: { carry: here, action, plan: next } });
    }
    const done: Episodes<C> = { rows, episodes };
    const dim = episodes[0].before!.action.length;
    const action = new Float32Array(rows * dim);
    for (const [row, { before }] of episodes.entries()) action.set(before!.action, row * dim);
    return { action, carry: done };
  }

  private frozen({ before }: Episode<C>): FrozenEpisode | null {
    if (before === undefined) return null;
    const { action, carry, plan } = before;
    const kept = plan.kept.map((sequence) => [...sequence]);
    return { carry: this.model.freeze(carry), action: [...action], mean: [...plan.mean], kept };
  }

  private revived(frozen: FrozenEpisode | null): Episode<C> {
    if (frozen === null) return {};
    const plan = {
      mean: Float64Array.from(frozen.mean),
      kept: frozen.kept.map((sequence) => Float64Array.from(sequence)),
    };
    return { before: { carry: this.model.revive(frozen.carry), action: Float32Array.from(frozen.action), plan } };
  }
}

function episodesOf<C extends Carry>(carry: Carry): readonly Episode<C>[] {
  return (carry as Episodes<C>).episodes;
}

/**
 * A fresh agent; its taught policy's initial weights come from `rng`.
 * Throws SETTING_INVALID, or SCENARIO_UNFIT unless actions are a Box with finite bounds.
 */
export async function makePets(config: z.input<typeof petsConfigSchema>, spaces: Spaces, rng: Rng): Promise<Pets> {
  const settings = parseConfig('PETS learner', petsConfigSchema, config, spaces);
  boxActions(spaces.actionSpace, 'PETS learner');
  const { hidden, activation, lr, batchSize } = settings;
  return new Pets(settings, await makeBc({ hidden, activation, lr, batchSize, loss: 'nll' }, spaces, rng));
}

/** Use `makePets`. */
export class Pets implements PlanningLearner {
  readonly kind = 'pets';
  readonly learnsFrom = 'model';

  constructor(
    readonly config: PetsConfig,
    private readonly student: Bc,
  ) {}

  get spaces(): Spaces {
    return this.student.spaces;
  }

  get gradientSteps(): number {
    return this.student.gradientSteps;
  }

  planner<C extends Carry>(model: NumericDynamics<C>): Policy {
    const { horizon, candidates, elites, rounds, gamma } = this.config;
    return new PlannerPolicy(model, { horizon, candidates, elites, rounds, gamma });
  }

  /** What was taught, without planning. */
  policy(): Policy {
    return this.student.policy();
  }

  policySnapshot(): PolicySnapshot {
    return this.student.policySnapshot();
  }

  policyModel(): Uint8Array | undefined {
    return this.gradientSteps === 0 ? undefined : this.student.policyModel();
  }

  update(planned: Demonstrations, steps: number, rng: Rng): Promise<BcMetrics> {
    return this.student.update(planned, steps, rng);
  }

  state(): LearnerState {
    const { meta, arrays } = this.student.state();
    return { meta: { ...meta, kind: this.kind, config: this.config }, arrays };
  }

  restore({ meta, arrays }: LearnerState): void {
    // Another learner's state keeps its own name, and is refused.
    const kind = meta.kind === this.kind ? this.student.kind : meta.kind;
    this.student.restore({ meta: { ...meta, kind }, arrays });
  }

  close(): Promise<void> {
    return this.student.close();
  }
}
