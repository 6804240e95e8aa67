// What an environment is: one contract for real and simulated ones, so that nothing downstream can tell which it has.
// Words and meanings are Gymnasium's (gymnasium/core.py, v1): terminated = ended by the task, truncated = by the clock.

/** Kinds of worlds that can be stepped and served. */
export type EnvFamily = 'vector' | 'text' | 'tools' | 'screen';

export type Awaitable<T> = T | Promise<T>;

export interface Info {
  readonly [key: string]: unknown;
}

export interface ResetOptions {
  /** Seeds the environment's own stream; without it the stream goes on where it was (as in Gymnasium). */
  readonly seed?: number;
  /** Which task of the environment to start, where it has several. */
  readonly task?: string;
}

export interface ResetResult<Obs> {
  readonly observation: Obs;
  readonly info: Info;
}

export interface StepResult<Obs> {
  readonly observation: Obs;
  readonly reward: number;
  /** The task ended (success, failure): nothing follows, so no bootstrapping. */
  readonly terminated: boolean;
  /** The clock ended it: bootstrapping goes on. */
  readonly truncated: boolean;
  readonly info: Info;
}

/** Everything needed to go on exactly from here, the environment's random stream included; structured-clonable and JSON-safe. */
export interface EnvSnapshot {
  /** `Environment.id` it came from; restoring elsewhere is an error. */
  readonly env: string;
  readonly state: unknown;
}

export interface RestoreOptions {
  /**
   * What follows is drawn from a stream of this seed instead of the snapshot's own, so that several that go on from one
   * state may part. What was drawn before stays; an environment that draws nothing goes on the same.
   */
  readonly seed?: number;
}

export interface Environment<Obs = unknown, Act = unknown> {
  /** Stable name, e.g. `hopper`; with the configuration it identifies the dynamics. */
  readonly id: string;
  readonly family: EnvFamily;
  readonly observationSpace: Space;
  readonly actionSpace: Space;
  reset(options?: ResetOptions): Awaitable<ResetResult<Obs>>;
  /** Throws ACTION_OUT_OF_SPACE or ENV_NOT_RESET; state is unchanged when it throws. */
  step(action: Act): Awaitable<StepResult<Obs>>;
  snapshot(): Awaitable<EnvSnapshot>;
  /** Continues from a snapshot, in this or (fork) another instance; answers the observation there. */
  restore(snapshot: EnvSnapshot, options?: RestoreOptions): Awaitable<Obs>;
  /**
   * Marks this moment, before an episode too; what is answered brings it back, once. For environments that can do so
   * cheaper than by a snapshot; not while one of its promises is pending.
   */
  mark?(): () => void;
  /** None of its methods answers with a promise: no step can come too late. */
  readonly synchronous?: true;
  close(): Awaitable<void>;
}

/** Family `vector`: observations and actions are rows of float32. */
export interface VectorEnvironment extends Environment<Float32Array, Float32Array> {
  readonly family: 'vector';
  readonly observationSpace: VectorSpace;
  readonly actionSpace: VectorSpace;
  /** What is known exactly about reward and end, as functions of rows; a world model may use them instead of learning them. */
  readonly known?: KnownFunctions;
  /** Steps before `truncated`; undefined if there is no clock. */
  readonly maxEpisodeSteps?: number;
  /** How long a step takes in its world; undefined where that is not known. */
  readonly stepSeconds?: number;
}

/** A vector environment that answers at once (physics in-process): no promise per step. */
export interface SyncVectorEnvironment extends VectorEnvironment {
  readonly synchronous: true;
  reset(options?: ResetOptions): ResetResult<Float32Array>;
  step(action: Float32Array): StepResult<Float32Array>;
  snapshot(): EnvSnapshot;
  restore(snapshot: EnvSnapshot, options?: RestoreOptions): Float32Array;
  close(): void;
}

/** Functions of one transition, each row given as a slice [offset, offset + dim) of a batch. */
export interface KnownFunctions {
  /** Exact reward; absent where it depends on state the observation does not show. */
  readonly reward?: (
    obs: Float32Array,
    obsOffset: number,
    action: Float32Array,
    actionOffset: number,
    nextObs: Float32Array,
  ) => number;
  /** Exact end by the task, from the next observation alone (MBPO's termination functions). */
  readonly terminated?: (nextObs: Float32Array, offset: number) => boolean;
}

/** Real vectors; bounds per element, `null` for unbounded. */
export interface BoxSpace {
  readonly type: 'box';
  readonly shape: readonly number[];
  readonly low: readonly (number | null)[];
  readonly high: readonly (number | null)[];
}

/** Integers start .. start + n - 1. In a vector environment a row holds the integer as its one element. */
export interface DiscreteSpace {
  readonly type: 'discrete';
  readonly n: number;
  readonly start: number;
}

export interface TextSpace {
  readonly type: 'text';
  readonly maxLength: number;
}

/** Typed tool calls and messages (family `tools`); `tools` are OpenAI-style function schemas. */
export interface ToolsSpace {
  readonly type: 'tools';
  readonly tools: readonly Record<string, unknown>[];
}

export type VectorSpace = BoxSpace | DiscreteSpace;
/** What an observation or an action may be; plain JSON. Field names follow gymnasium.spaces. */
export type Space = VectorSpace | TextSpace | ToolsSpace;
