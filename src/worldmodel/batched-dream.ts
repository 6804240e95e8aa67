// Many dreamt episodes side by side, as structures of arrays: for learners that act on whole batches.

import { type Carry, exchangeRows, type FrozenCarry, type ImagineOptions } from '../core/dynamics.js';
import { reverieError } from '../core/errors.js';
import { Rng, type RngState } from '../core/rng.js';
import type { VectorDynamics } from './dynamics.js';
import { type RowShape, rowShape } from './model-spaces.js';
import { batchOfStarts, beginFrom, checkRows, type DrawStart, type StartStates, startSampler } from './starts.js';

export interface BatchedDreamOptions {
  /** Not closed by the dream: several may share one. */
  readonly model: VectorDynamics;
  /** Episodes side by side. */
  readonly rows: number;
  /** Where episodes start, and start again. */
  readonly starts: StartStates;
  readonly rng: Rng;
  /** Steps before `truncated`; no clock unless given. */
  readonly maxEpisodeSteps?: number;
  /** An episode is truncated where the model's disagreement (its units) is greater than this. */
  readonly disagreementLimit?: number;
  readonly step?: ImagineOptions;
}

/** What one step of all episodes gave; only `obs` may be written to. */
export interface BatchedStep {
  /** [rows, obsDim]: what followed, also where the episode ended. */
  readonly nextObs: Float32Array;
  readonly reward: Float32Array;
  readonly terminated: Uint8Array;
  readonly truncated: Uint8Array;
  readonly disagreement?: Float32Array;
  /** [rows, obsDim]: what to act on now: nextObs, or a new start where the episode ended. */
  readonly obs: Float32Array;
}

/** Structured-clonable. */
export interface BatchedDreamSnapshot {
  readonly modelVersion: string;
  readonly carry: FrozenCarry;
  readonly obs: Float32Array;
  readonly steps: Uint32Array;
  readonly rng: RngState;
}

/** What the episodes are acted on, and what the model remembers of them. */
interface Present {
  readonly obs: Float32Array;
  readonly carry: Carry;
}

export class BatchedDream {
  readonly rows: number;
  private readonly model: VectorDynamics;
  private readonly shape: RowShape;
  private readonly drawStart: DrawStart;
  private readonly maxEpisodeSteps: number;
  private readonly disagreementLimit: number;
  private readonly stepOptions: ImagineOptions;
  private rng: Rng;
  private present: Present | undefined;
  private steps: Uint32Array;

  /** Throws SETTING_INVALID or NON_FINITE_VALUE for bad start states or rows. */
  constructor(options: BatchedDreamOptions) {
    const {
      model,
      rows,
      starts,
      rng,
      maxEpisodeSteps = Number.POSITIVE_INFINITY,
      disagreementLimit,
      step = {},
    } = options;
    if (!Number.isInteger(rows) || rows < 1) {
      throw reverieError('SETTING_INVALID', {
        problem: `Dream: ${`${rows} rows.`}`,
        hint: 'Give a whole number of episodes from 1.',
      });
    }
    this.rows = rows;
    this.model = model;
    this.shape = rowShape(model);
    this.drawStart = startSampler(starts, this.shape.obsDim);
    this.maxEpisodeSteps = maxEpisodeSteps;
    this.disagreementLimit = disagreementLimit ?? Number.POSITIVE_INFINITY;
    this.stepOptions = disagreementLimit === undefined ? step : { ...step, disagreement: true };
    this.rng = Rng.fromState(rng.state());
    this.steps = new Uint32Array(rows);
  }

  /** Starts all episodes anew: at `starts` [rows, obsDim] if given, else at drawn ones. Answers the observations. */
  async reset(starts?: Float32Array): Promise<Float32Array> {
    if (starts) checkRows(starts, this.shape.obsDim, this.rows);
    this.present = undefined;
    const present = starts
      ? { obs: starts.slice(), carry: await beginFrom(this.model, starts, undefined, this.rng) }
      : await this.begun(this.rows);
    this.steps.fill(0);
    this.present = present;
    return present.obs.slice();
  }

  /** One step of every episode; those that end start again at once. action [rows, actionDim], taken as it is. */
  async step(action: Float32Array): Promise<BatchedStep> {
    const { present } = this;
    if (!present) throw reverieError('ENV_NOT_RESET', { id: 'batched dream' });
    // Until the model has answered there is nothing to step from, so that steps cannot overtake each other.
    this.present = undefined;
    const rngBefore = this.rng.state();
    try {
      const imagined = await this.model.imagine(present.carry, action, this.rng, this.stepOptions);
      const { observation: nextObs, reward, terminated, disagreement } = imagined;
      const steps = this.steps.map((count) => count + 1);
      const truncated = this.truncations(steps, disagreement);
      const over = Uint32Array.from(steps.keys()).filter((row) => truncated[row] || terminated[row]);
      for (const row of over) steps[row] = 0;
      const { obs, carry } = await this.restarted({ obs: nextObs, carry: imagined.carry }, over);
      this.present = { obs, carry };
      this.steps = steps;
      return { nextObs, reward, terminated, truncated, disagreement, obs: obs.slice() };
    } catch (error) {
      this.present = present;
      this.rng = Rng.fromState(rngBefore);
      throw error;
    }
  }

  /** Everything needed to go on exactly from here. */
  snapshot(): BatchedDreamSnapshot {
    if (!this.present) throw reverieError('ENV_NOT_RESET', { id: 'batched dream' });
    const { obs, carry } = this.present;
    const { modelVersion } = this.model;
    return {
      ...{ modelVersion, carry: this.model.freeze(carry) },
      ...{ obs: obs.slice(), steps: this.steps.slice(), rng: this.rng.state() },
    };
  }

  /** Goes on from a snapshot of this or (fork) another batch of equal rows. Throws SNAPSHOT_MISMATCH. */
  restore({ modelVersion, carry, obs, steps, rng }: BatchedDreamSnapshot): Float32Array {
    if (modelVersion !== this.model.modelVersion || steps.length !== this.rows) {
      const from = `${steps.length} rows of model ${modelVersion}`;
      throw reverieError('SNAPSHOT_MISMATCH', { from, into: `${this.rows} rows of model ${this.model.modelVersion}` });
    }
    this.present = { obs: obs.slice(), carry: this.model.revive(carry) };
    this.steps = steps.slice();
    this.rng = Rng.fromState(rng);
    return obs.slice();
  }

  /** So many episodes at their starts. */
  private async begun(rows: number): Promise<Present> {
    const drawn = Array.from({ length: rows }, () => this.drawStart(this.rng));
    const { starts, history } = batchOfStarts(drawn, this.shape);
    return { obs: starts, carry: await beginFrom(this.model, starts, history, this.rng) };
  }

  /** The episodes, those of rows `over` at new starts. */
  private async restarted({ obs, carry }: Present, over: Uint32Array): Promise<Present> {
    if (over.length === 0) return { obs, carry };
    const { obsDim } = this.shape;
    const fresh = await this.begun(over.length);
    const current = obs.slice();
    for (const [at, row] of over.entries()) {
      current.set(fresh.obs.subarray(at * obsDim, (at + 1) * obsDim), row * obsDim);
    }
    return { obs: current, carry: exchangeRows(this.model, carry, over, fresh.carry) };
  }

  /** 1 where an episode is over by the clock or by doubt. */
  private truncations(steps: Uint32Array, disagreement: Float32Array | undefined): Uint8Array {
    const { disagreementLimit: limit, maxEpisodeSteps } = this;
    if (Number.isFinite(limit) && disagreement === undefined) {
      throw reverieError('SETTING_INVALID', {
        problem: `World model "${this.model.backend}" gives no disagreement, which this rollout asks for.`,
        hint: 'Use an ensemble, or leave out disagreementLimit and confidence.',
      });
    }
    return Uint8Array.from(steps, (count, row) =>
      count >= maxEpisodeSteps || (disagreement !== undefined && !(disagreement[row] <= limit)) ? 1 : 0,
    );
  }
}
