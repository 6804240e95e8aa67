// What learners with networks share: named arrays carried through trainers, of which one slice is the policy; and with critics,
// replayed rows stacked for gradient steps.

import type { Policy, PolicySnapshot } from '../core/policy.js';
import type { Rng } from '../core/rng.js';
import { adamScalars } from '../nn/parameters.js';
import type { InferenceSession } from '../nn/runtime.js';
import type { Trainer } from '../nn/trainer.js';
import type { TransitionBatch } from '../replay/transition.js';
import {
  assertBatch,
  assertFinite,
  assertLength,
  checkedArrays,
  type Learner,
  type LearnerKind,
  type LearnerState,
  plainSpaces,
} from './learner.js';
import { NetworkPolicy, networkSnapshot, type PolicyNet, policyModel, weightsVersion } from './policy-net.js';
import type { Spaces } from './spaces.js';

type Arrays = Readonly<Record<string, Float32Array>>;

export interface LearnerParts<Config> {
  readonly config: Config;
  readonly spaces: Spaces;
  readonly net: PolicyNet;
  readonly trainer: Trainer;
  /** `actingSession(net)`. */
  readonly session: InferenceSession;
  /** Initial state of the trainer; `theta` among them. */
  readonly arrays: Arrays;
  /** Where the policy's parameters lie in `theta`. */
  readonly policyStart: number;
  readonly policySize: number;
}

export abstract class NetworkLearner<Config> implements Learner {
  abstract readonly kind: LearnerKind;
  readonly config: Config;
  readonly spaces: Spaces;
  protected readonly net: PolicyNet;
  protected readonly live: NetworkPolicy;
  protected readonly trainer: Trainer;
  private readonly parts: LearnerParts<Config>;
  private arrays: Arrays;
  private weights: Float32Array;
  private steps = 0;

  constructor(parts: LearnerParts<Config>) {
    this.parts = parts;
    this.trainer = parts.trainer;
    this.config = parts.config;
    this.spaces = plainSpaces(parts.spaces);
    this.net = parts.net;
    this.arrays = parts.arrays;
    this.weights = this.policyWeights();
    this.live = new NetworkPolicy(parts.session, parts.net, () => this.weights);
  }

  get gradientSteps(): number {
    return this.steps;
  }

  /** The trainer's state of the moment; not to be written to. */
  protected get current(): Arrays {
    return this.arrays;
  }

  policy(): Policy {
    return this.live;
  }

  policySnapshot(): PolicySnapshot {
    return networkSnapshot(this.net, this.weights);
  }

  policyModel(): Uint8Array {
    return policyModel(this.net, this.weights, weightsVersion(this.net, this.weights));
  }

  state(): LearnerState {
    const { kind, config, spaces, steps } = this;
    const arrays = Object.fromEntries(Object.entries(this.arrays).map(([name, array]) => [name, array.slice()]));
    return { meta: { kind, config, spaces, gradientSteps: steps }, arrays };
  }

  restore(state: LearnerState): void {
    this.commit(checkedArrays(this, this.arrays, state), state.meta.gradientSteps);
  }

  async close(): Promise<void> {
    await this.trainer.release();
  }

  /** Runs `steps` gradient steps and commits them; the trainer throws NON_FINITE_VALUE first if they diverged. */
  protected async train(
    inputs: Record<string, Float32Array>,
    perStep: Record<string, Float32Array | Int32Array>,
    steps: number,
    lr: number,
    epsilon?: number,
  ): Promise<Record<string, Float32Array>> {
    const schedule = adamSchedule(this.steps, steps, lr, epsilon);
    const run = { state: this.arrays, inputs, perStep: { ...perStep, ...schedule }, steps };
    const { state, metrics } = await this.trainer.run(run);
    this.commit(state, this.steps + steps);
    return metrics;
  }

  /** Puts some of the arrays in the place of those of the moment: for a learner of several trainers. */
  protected replace(arrays: Arrays, steps: number): void {
    this.commit({ ...this.arrays, ...arrays }, steps);
  }

  /** Runs `work`; if it throws, the learner is as before. */
  protected async allOrNothing<T>(work: () => Promise<T>): Promise<T> {
    const { arrays, steps } = this;
    try {
      return await work();
    } catch (error) {
      this.commit(arrays, steps);
      throw error;
    }
  }

  private commit(arrays: Arrays, steps: number): void {
    this.arrays = arrays;
    this.steps = steps;
    this.weights = this.policyWeights();
  }

  private policyWeights(): Float32Array {
    const { policyStart, policySize } = this.parts;
    return this.arrays.theta.slice(policyStart, policyStart + policySize);
  }
}

/** A learner from replayed rows, with critics. */
export abstract class CriticLearner<Config> extends NetworkLearner<Config> {
  readonly learnsFrom = 'replay';
  protected abstract get replayed(): { readonly batchSize: number; readonly gamma: number };

  /**
   * What `steps` steps take of `batch`, stacked; weights are 1 if absent.
   * Throws DATA_MISMATCH or NON_FINITE_VALUE.
   */
  protected columnsOf(batch: TransitionBatch, steps: number, weights?: Float32Array) {
    const rows = steps * this.replayed.batchSize;
    assertBatch(batch, rows, this.net.obsDim, this.net.actions.dim);
    const weight = weights ?? new Float32Array(rows).fill(1);
    assertLength('weights', weight, rows);
    assertFinite('weights', weight, rows);
    const { obs, action, reward, nextObs } = batch;
    return { obs, action, reward, nextObs, weight, discount: this.discounts(batch) };
  }

  /** Standard normal noise for an action a row. */
  protected normal(rows: number, rng: Rng): Float32Array {
    return rng.fillNormal(new Float32Array(rows * this.net.actions.dim));
  }

  protected discounts({ rows, terminated }: TransitionBatch): Float32Array {
    const { gamma } = this.replayed;
    return Float32Array.from({ length: rows }, (_, i) => (terminated[i] ? 0 : gamma));
  }
}

/** Fresh Adam state around initial parameters. */
export function withMoments(theta: Float32Array): { theta: Float32Array; m: Float32Array; v: Float32Array } {
  return { theta, m: new Float32Array(theta.length), v: new Float32Array(theta.length) };
}

/** Takes `rows` into the running mean and scale (1 ÷ deviation) of their columns, in place, after `seen` earlier rows. */
export function noteMoments(rows: ArrayLike<number>, seen: number, mean: Float32Array, scale: Float32Array): void {
  const [width, count] = [mean.length, rows.length / mean.length];
  for (let column = 0; column < width; column++) {
    let [sum, squares] = [0, 0];
    for (let i = column; i < rows.length; i += width) sum += rows[i];
    const average = sum / count;
    for (let i = column; i < rows.length; i += width) squares += (rows[i] - average) ** 2;
    const apart = average - mean[column];
    const before = seen === 0 ? 0 : (1 / scale[column] - LEAST_DEVIATION) ** 2;
    const variance = (before * seen + squares + (apart ** 2 * seen * count) / (seen + count)) / (seen + count);
    mean[column] += (apart * count) / (seen + count);
    scale[column] = 1 / (Math.sqrt(variance) + LEAST_DEVIATION);
  }
}

/** As TD3+BC adds to every deviation, so that a column that does not vary is not blown up. */
const LEAST_DEVIATION = 1e-3;

/** Scalars of Adam for `steps` steps after the first `done`. */
export function adamSchedule(
  done: number,
  steps: number,
  lr: number,
  epsilon = 1e-8,
): { adamAlpha: Float32Array; adamEpsilon: Float32Array } {
  const adamAlpha = new Float32Array(steps);
  const adamEpsilon = new Float32Array(steps);
  for (let i = 0; i < steps; i++) {
    const scalars = adamScalars(done + i + 1, lr, undefined, undefined, epsilon);
    adamAlpha[i] = scalars.alpha;
    adamEpsilon[i] = scalars.epsilon;
  }
  return { adamAlpha, adamEpsilon };
}
