// Many dreamt episodes side by side, as structures of arrays: for learners that act on whole batches.

import { reverieError } from '../core/errors.js';
import { Rng, type RngState } from '../core/rng.js';
import { rowSize } from '../env/index.js';
import { checkRows, type DrawStart, type StartStates, startSampler } from './start-states.js';
import type { StepOptions, VectorWorldModel } from './world-model.js';

export interface BatchedDreamOptions {
  /** Not closed by the dream: several may share one. */
  readonly model: VectorWorldModel;
  /** Episodes side by side. */
  readonly rows: number;
  /** Where episodes start, and start again. */
  readonly starts: StartStates;
  readonly rng: Rng;
  /** Steps before `truncated`; no clock unless given. */
  readonly maxEpisodeSteps?: number;
  /** An episode is truncated where the model's disagreement (its units) is greater than this. */
  readonly disagreementLimit?: number;
  readonly step?: StepOptions;
}

/** What one step of all episodes gave; arrays are fresh. */
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
  readonly obs: Float32Array;
  readonly steps: Uint32Array;
  readonly rng: RngState;
}

export class BatchedDream {
  readonly rows: number;
  private readonly model: VectorWorldModel;
  private readonly obsDim: number;
  private readonly drawStart: DrawStart;
  private readonly maxEpisodeSteps: number;
  private readonly disagreementLimit: number;
  private readonly stepOptions: StepOptions;
  private rng: Rng;
  private obs: Float32Array | undefined;
  private steps: Uint32Array;

  /** Throws DREAM_INVALID or NON_FINITE_VALUE for bad start states or rows. */
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
      throw reverieError('DREAM_INVALID', {
        problem: `${rows} rows.`,
        hint: 'Give a whole number of episodes from 1.',
      });
    }
    this.rows = rows;
    this.model = model;
    this.obsDim = rowSize(model.observationSpace);
    this.drawStart = startSampler(starts, this.obsDim);
    this.maxEpisodeSteps = maxEpisodeSteps;
    this.disagreementLimit = disagreementLimit ?? Number.POSITIVE_INFINITY;
    this.stepOptions = disagreementLimit === undefined ? step : { ...step, disagreement: true };
    this.rng = Rng.fromState(rng.state());
    this.steps = new Uint32Array(rows);
  }

  /** Starts all episodes anew: at `starts` [rows, obsDim] if given, else at drawn ones. Answers the observations. */
  reset(starts?: Float32Array): Float32Array {
    const obs = new Float32Array(this.rows * this.obsDim);
    if (starts) {
      checkRows(starts, this.obsDim, this.rows);
      obs.set(starts);
    } else {
      for (let row = 0; row < this.rows; row++) this.drawStart(this.rng, this.rowOf(obs, row));
    }
    this.steps.fill(0);
    this.obs = obs;
    return obs.slice();
  }

  /** One step of every episode; those that end start again at once. action [rows, actionDim], taken as it is. */
  async step(action: Float32Array): Promise<BatchedStep> {
    const { obs, rows } = this;
    if (!obs) throw reverieError('ENV_NOT_RESET', { id: 'batched dream' });
    // Until the model has answered there is nothing to step from, so that steps cannot overtake each other.
    this.obs = undefined;
    const rngBefore = this.rng.state();
    try {
      const { nextObs, reward, terminated, disagreement } = await this.model.step(
        obs,
        action,
        rows,
        this.rng,
        this.stepOptions,
      );
      const steps = this.steps.map((count) => count + 1);
      const truncated = this.truncations(steps, disagreement);
      const current = nextObs.slice();
      for (let row = 0; row < rows; row++) {
        if (!truncated[row] && !terminated[row]) continue;
        this.drawStart(this.rng, this.rowOf(current, row));
        steps[row] = 0;
      }
      this.obs = current;
      this.steps = steps;
      return { nextObs, reward, terminated, truncated, disagreement, obs: current.slice() };
    } catch (error) {
      this.obs = obs;
      this.rng = Rng.fromState(rngBefore);
      throw error;
    }
  }

  /** Everything needed to go on exactly from here. */
  snapshot(): BatchedDreamSnapshot {
    if (!this.obs) throw reverieError('ENV_NOT_RESET', { id: 'batched dream' });
    const { modelVersion } = this.model;
    return { modelVersion, obs: this.obs.slice(), steps: this.steps.slice(), rng: this.rng.state() };
  }

  /** Goes on from a snapshot of this or (fork) another batch of equal rows. Throws SNAPSHOT_MISMATCH. */
  restore({ modelVersion, obs, steps, rng }: BatchedDreamSnapshot): Float32Array {
    if (modelVersion !== this.model.modelVersion || steps.length !== this.rows) {
      const from = `${steps.length} rows of model ${modelVersion}`;
      throw reverieError('SNAPSHOT_MISMATCH', { from, into: `${this.rows} rows of model ${this.model.modelVersion}` });
    }
    this.obs = obs.slice();
    this.steps = steps.slice();
    this.rng = Rng.fromState(rng);
    return obs.slice();
  }

  /** 1 where an episode is over by the clock or by doubt. */
  private truncations(steps: Uint32Array, disagreement: Float32Array | undefined): Uint8Array {
    const { disagreementLimit: limit, maxEpisodeSteps } = this;
    if (Number.isFinite(limit) && disagreement === undefined) {
      throw reverieError('DISAGREEMENT_UNAVAILABLE', { backend: this.model.backend });
    }
    return Uint8Array.from(steps, (count, row) =>
      count >= maxEpisodeSteps || (disagreement !== undefined && !(disagreement[row] <= limit)) ? 1 : 0,
    );
  }

  private rowOf(obs: Float32Array, row: number): Float32Array {
    return obs.subarray(row * this.obsDim, (row + 1) * this.obsDim);
  }
}
