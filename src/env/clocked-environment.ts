// What every vector environment of ours shares: the clock, the random stream, checks at the border, snapshots.
// A subclass says only how its world starts, moves and is saved.

import { z } from 'zod';
import type {
  EnvSnapshot,
  Info,
  KnownFunctions,
  ResetOptions,
  ResetResult,
  RestoreOptions,
  StepResult,
  SyncVectorEnvironment,
  VectorEnvironment,
  VectorSpace,
} from '../core/environment.js';
import { reverieError } from '../core/errors.js';
import type { Entry } from '../core/registry.js';
import { Rng } from '../core/rng.js';
import { fromSnapshot, requireAction, rngStateSchema, rowSize } from './space-values.js';

// Float64 numbers as JSON-safe text, bit for bit: JSON itself loses negative zero.

/** Little-endian base64 of the numbers. */
export function packNumbers(numbers: ArrayLike<number>): string {
  const bytes = new DataView(new ArrayBuffer(numbers.length * 8));
  for (let i = 0; i < numbers.length; i++) bytes.setFloat64(i * 8, numbers[i], true);
  return Buffer.from(bytes.buffer).toString('base64');
}

/** The numbers again; throws RangeError unless there are `length` of them. */
export function unpackNumbers(text: string, length: number): Float64Array {
  const bytes = Buffer.from(String(text), 'base64');
  if (bytes.length !== length * 8) throw new RangeError(`${bytes.length} bytes where ${length} numbers are needed`);
  const numbers = new Float64Array(length);
  for (let i = 0; i < length; i++) numbers[i] = bytes.readDoubleLE(i * 8);
  return numbers;
}

export interface ClockSetting {
  /** Steps before truncation: undefined for the environment's own, null for never. */
  readonly maxEpisodeSteps?: number | null;
}

/** Steps before truncation: as specified, null for never, else the environment's own. */
export function clockOf({ maxEpisodeSteps }: ClockSetting, own: number): number | undefined {
  return maxEpisodeSteps === null ? undefined : (maxEpisodeSteps ?? own);
}

export interface Advance {
  readonly reward: number;
  readonly terminated: boolean;
  readonly info: Info;
}

interface EnvironmentDescription
  extends Pick<
    VectorEnvironment,
    'id' | 'observationSpace' | 'actionSpace' | 'maxEpisodeSteps' | 'stepSeconds' | 'known'
  > {
  /** Identifies the configuration: snapshots are refused where it differs. */
  readonly configuration: string;
}

const stateSchema = z.strictObject({
  configuration: z.string(),
  rng: rngStateSchema,
  steps: z.int().min(0),
  running: z.boolean(),
  world: z.unknown(),
});
type State = z.output<typeof stateSchema>;

const NO_INFO: Info = Object.freeze({});

export abstract class ClockedEnvironment implements SyncVectorEnvironment {
  readonly id: string;
  readonly family = 'vector' as const;
  readonly synchronous = true;
  readonly observationSpace: VectorSpace;
  readonly actionSpace: VectorSpace;
  readonly maxEpisodeSteps?: number;
  readonly stepSeconds?: number;
  readonly known?: KnownFunctions;
  protected readonly obsDim: number;
  private readonly configuration: string;
  private rng = streamOf(0);
  private steps = 0;
  private running = false;
  private closed = false;

  protected constructor(description: EnvironmentDescription) {
    this.id = description.id;
    this.observationSpace = description.observationSpace;
    this.actionSpace = description.actionSpace;
    this.maxEpisodeSteps = description.maxEpisodeSteps;
    this.stepSeconds = description.stepSeconds;
    this.known = description.known;
    this.configuration = description.configuration;
    this.obsDim = rowSize(description.observationSpace);
  }

  protected abstract start(rng: Rng): void;
  /** Moves the world by one action, which is known to lie in the space. */
  protected abstract advance(action: Float32Array, rng: Rng): Advance;
  protected abstract observe(into: Float32Array): void;
  /** The world's whole state, JSON-safe and exact. */
  protected abstract saveWorld(): unknown;
  protected abstract loadWorld(world: unknown): void;

  reset(options: ResetOptions = {}): ResetResult<Float32Array> {
    this.requireOpen();
    if (options.seed !== undefined) this.rng = streamOf(options.seed);
    this.start(this.rng);
    this.steps = 0;
    this.running = true;
    return { observation: this.observation(), info: NO_INFO };
  }

  step(action: Float32Array): StepResult<Float32Array> {
    if (!this.running) throw reverieError('ENV_NOT_RESET', { id: this.id });
    requireAction(this.actionSpace, action);
    this.running = false;
    const { reward, terminated, info } = this.advance(action, this.rng);
    this.steps += 1;
    this.requireReward('The reward', reward);
    const observation = this.observation();
    const truncated = this.maxEpisodeSteps !== undefined && this.steps >= this.maxEpisodeSteps;
    this.running = !terminated && !truncated;
    return { observation, reward, terminated, truncated, info };
  }

  snapshot(): EnvSnapshot {
    this.requireOpen();
    const { configuration, steps, running } = this;
    const state: State = { configuration, rng: this.rng.state(), steps, running, world: this.saveWorld() };
    return { env: this.id, state };
  }

  restore(snapshot: EnvSnapshot, { seed }: RestoreOptions = {}): Float32Array {
    this.requireOpen();
    const state = fromSnapshot(snapshot, this.id, (saved) => {
      const found = stateSchema.parse(saved);
      if (found.configuration !== this.configuration) return undefined;
      this.loadWorld(found.world);
      return found;
    });
    this.rng = seed === undefined ? Rng.fromState(state.rng) : streamOf(seed).split('restored');
    this.steps = state.steps;
    this.running = state.running;
    return this.observation();
  }

  close(): void {
    this.running = false;
    this.closed = true;
  }

  /** Rewards are kept and learned from as float32. */
  protected requireReward(what: string, value: number, term = ''): void {
    if (Number.isFinite(Math.fround(value))) return;
    throw this.nonFinite(what, value, `${term}${Number.isFinite(value) ? ', as float32' : ''}`);
  }

  /** The error for a value that is not finite, naming environment and step. */
  protected nonFinite(what: string, value: number, more = ''): Error {
    const where = `step ${this.steps} of "${this.id}"${more}`;
    const hint = 'The simulation has diverged or a term divides by zero; shorten the timestep or bound the action.';
    return reverieError('NON_FINITE_VALUE', { what, value, where, hint });
  }

  private requireOpen(): void {
    if (this.closed) throw reverieError('ENV_CLOSED', { id: this.id });
  }

  private observation(): Float32Array {
    const observation = new Float32Array(this.obsDim);
    this.observe(observation);
    const at = observation.findIndex((value) => !Number.isFinite(value));
    if (at < 0) return observation;
    this.running = false;
    throw this.nonFinite(`Observation element ${at}`, observation[at]);
  }
}

function streamOf(seed: number): Rng {
  return Rng.fromSeed(seed).split('environment');
}

/** An environment's settings, checked: the keys of its schema, and its clock. */
interface EnvironmentSettings extends ClockSetting {
  readonly [key: string]: unknown;
}

/** `name` is the `id` that scenarios give; `schema` has the keys beside `id` and `maxEpisodeSteps`. */
export interface EnvironmentEntry extends Entry<(settings: EnvironmentSettings) => Promise<VectorEnvironment>> {
  readonly schema?: z.ZodObject;
  /** The key of its schema that names it in place of `id`: there are many environments behind one entry. */
  readonly namedBy?: string;
}
