// A world model as an Environment: one episode at a time, indistinguishable in type from the real one.

import { z } from 'zod';
import { type Carry, type ImagineOptions, packFloats, unpackFloats } from '../core/dynamics.js';
import type {
  EnvSnapshot,
  ResetOptions,
  ResetResult,
  RestoreOptions,
  StepResult,
  VectorEnvironment,
  VectorSpace,
} from '../core/environment.js';
import { reverieError } from '../core/errors.js';
import { Rng } from '../core/rng.js';
import { fromSnapshot, requireAction, rngStateSchema } from '../env/space-values.js';
import { requireFinite } from '../replay/columns.js';
import type { VectorDynamics } from './dynamics.js';
import { INPUT_HINT, rowShape } from './model-folder.js';
import { isWithin, type ObservedRange, widenedRange } from './seen-range.js';

interface DreamOptions {
  /** Not closed by the dream: several may share one. */
  readonly model: VectorDynamics;
  /** Rows [n, obsDim] of observations, of which each episode starts from one. */
  readonly starts: Float32Array;
  /** Steps before `truncated`; no clock unless given. */
  readonly maxEpisodeSteps?: number;
  /**
   * Where the model says what it was shown, an episode is truncated, with `info.outOfRange`, once an observation lies this many widths
   * of the range beyond it; null: never. 1 unless given.
   */
  readonly range?: number | null;
  /** Name of the simulated environment; `dream` unless given. */
  readonly id?: string;
  /** How the model is asked. With `disagreement`, info holds it for every step. */
  readonly step?: ImagineOptions;
}

const stateSchema = z.strictObject({
  modelVersion: z.string(),
  rng: rngStateSchema,
  /** What the model remembers; null before the first episode. */
  carry: z.strictObject({ version: z.string(), state: z.unknown() }).nullable(),
  /** Packed float32. */
  observation: z.string().transform(unpackFloats),
  steps: z.int().min(0),
  running: z.boolean(),
});
type State = z.input<typeof stateSchema>;

export class Dream implements VectorEnvironment {
  readonly family = 'vector' as const;
  readonly id: string;
  readonly observationSpace: VectorSpace;
  readonly actionSpace: VectorSpace;
  readonly maxEpisodeSteps?: number;
  private readonly model: VectorDynamics;
  private readonly starts: Float32Array;
  private readonly range?: ObservedRange;
  private readonly stepOptions: ImagineOptions;
  private rng = streamOf(0);
  private carry: Carry | undefined;
  private observation: Float32Array;
  private steps = 0;
  private running = false;

  /** Throws SETTING_INVALID or NON_FINITE_VALUE for start states that are not rows of the observation space. */
  constructor({ model, starts, maxEpisodeSteps, range = 1, id = 'dream', step = {} }: DreamOptions) {
    this.id = id;
    this.model = model;
    this.observationSpace = model.observationSpace;
    this.actionSpace = model.actionSpace;
    this.maxEpisodeSteps = maxEpisodeSteps;
    if (model.seen !== undefined && range !== null) this.range = widenedRange(model.seen, range);
    this.stepOptions = step;
    const { obsDim } = rowShape(model);
    requireRows(starts, obsDim);
    this.starts = starts;
    this.observation = new Float32Array(obsDim);
  }

  async reset(options: ResetOptions = {}): Promise<ResetResult<Float32Array>> {
    if (options.seed !== undefined) this.rng = streamOf(options.seed);
    this.running = false;
    const width = this.observation.length;
    const row = this.rng.int(this.starts.length / width);
    const start = this.starts.slice(row * width, (row + 1) * width);
    this.carry = await this.model.begin(start, this.rng);
    this.observation = start;
    this.steps = 0;
    this.running = true;
    return { observation: this.observation.slice(), info: {} };
  }

  async step(action: Float32Array): Promise<StepResult<Float32Array>> {
    if (!this.running || this.carry === undefined) throw reverieError('ENV_NOT_RESET', { id: this.id });
    requireAction(this.actionSpace, action);
    // While the model works the episode is closed, so that a second step cannot overtake the first.
    this.running = false;
    const { carry, observation, reward, terminated, disagreement } = await this.ask(this.carry, action);
    this.carry = carry;
    this.observation = observation;
    this.steps++;
    const isTerminated = terminated[0] === 1;
    const isOut = this.range !== undefined && !isWithin(observation, 0, this.range);
    const truncated = isOut || (this.maxEpisodeSteps !== undefined && this.steps >= this.maxEpisodeSteps);
    this.running = !isTerminated && !truncated;
    const info = { ...(disagreement && { disagreement: disagreement[0] }), ...(isOut && { outOfRange: true }) };
    return { observation: observation.slice(), reward: reward[0], terminated: isTerminated, truncated, info };
  }

  async snapshot(): Promise<EnvSnapshot> {
    const { carry, model, steps, running } = this;
    const { modelVersion } = model;
    const kept = carry === undefined ? null : model.freeze(carry);
    const observation = packFloats(this.observation);
    const state: State = { modelVersion, rng: this.rng.state(), carry: kept, observation, steps, running };
    return { env: this.id, state };
  }

  /** Throws SNAPSHOT_MISMATCH for a snapshot of another environment or another version of the model. */
  async restore(snapshot: EnvSnapshot, { seed }: RestoreOptions = {}): Promise<Float32Array> {
    const state = fromSnapshot(snapshot, this.id, (saved) => {
      const { modelVersion, carry, observation, ...rest } = stateSchema.parse(saved);
      if (modelVersion !== this.model.modelVersion) return undefined;
      const revived = carry === null ? undefined : this.model.revive(carry);
      const isWhole = revived === undefined ? !rest.running : revived.rows === 1;
      if (isWhole && observation.length === this.observation.length) return { ...rest, carry: revived, observation };
      throw new RangeError('it is not of one row');
    });
    this.carry = state.carry;
    this.observation = state.observation;
    this.rng = seed === undefined ? Rng.fromState(state.rng) : streamOf(seed).split('restored');
    this.steps = state.steps;
    this.running = state.running;
    return this.observation.slice();
  }

  async close(): Promise<void> {
    this.running = false;
  }

  private async ask(carry: Carry, action: Float32Array) {
    const before = this.rng.state();
    try {
      return await this.model.imagine(carry, action, this.rng, this.stepOptions);
    } catch (error) {
      this.rng = Rng.fromState(before);
      this.running = true;
      throw error;
    }
  }
}

function streamOf(seed: number): Rng {
  return Rng.fromSeed(seed).split('dream');
}

/** Throws SETTING_INVALID or NON_FINITE_VALUE unless there are whole rows. */
function requireRows(starts: Float32Array, obsDim: number): void {
  const rows = starts.length / obsDim;
  if (!(starts instanceof Float32Array) || !Number.isInteger(rows) || rows < 1) {
    throw reverieError('SETTING_INVALID', {
      problem: `Dream: start states have ${starts.length} values where rows of ${obsDim} are needed.`,
      hint: 'Give observations of the environment the model was fitted on, e.g. first observations of its episodes.',
    });
  }
  requireFinite('The value of "start state"', starts, rows, 'the start states of a dream', INPUT_HINT);
}
