// What a rollout job asks for and what comes back: the words that engine, pool, worker and journal share.

import type { Rng } from '../../core/rng.js';
import type { Policy, PolicySnapshot } from '../../env/index.js';
import type { Provenance, TransitionBatch } from '../../replay/index.js';
import type { History, Propagation, VectorDynamics, WorldModelSnapshot } from '../../worldmodel/index.js';

/**
 * What becomes of the transition whose disagreement exceeds the limit; either way its branch ends there.
 * `drop` (default): it is not believed and not kept; the branch's row before it becomes truncated (MACURA, 2405.19014).
 * `truncate`: it is kept as the branch's last row, truncated unless terminated (a soft form of MOReL's HALT state, 2005.05951).
 */
export type OnDoubt = 'drop' | 'truncate';

/** How every branch of a job is lived; part of the job's identity. */
export interface RolloutSettings {
  /** Most steps of a branch; the row at the horizon is truncated. */
  readonly horizon: number;
  /** How an ensemble answers; the model's own default if left out. */
  readonly propagation?: Propagation;
  /** Branches end where the model's disagreement (its units) is greater than this. */
  readonly disagreementLimit?: number;
  readonly onDoubt?: OnDoubt;
  /** Compute disagreement, and from it a confidence for each row, also without a limit. */
  readonly confidence?: boolean;
  /** The policy's mode instead of samples. */
  readonly deterministicPolicy?: boolean;
  /** The model's mean instead of samples. */
  readonly deterministicModel?: boolean;
}

/** Many branches from given states. The same request with the same streams gives the same bytes, however it is run. */
export interface RolloutRequest extends RolloutSettings {
  /** Start states [rows, obsDim], row-major; `rows` is the length of `startIds`. */
  readonly starts: Float32Array;
  /** Real steps before each start; needed by models with a memory, and not read by others. `drawStarts` draws both. */
  readonly history?: History;
  /** Row id of each start in the real buffer, recorded as `parent`; -1 for none. */
  readonly startIds: ArrayLike<number>;
  /** Branches from each start; more than one makes them a `group` numbered by the start's row. Default 1. */
  readonly branches?: number;
  /** Not advanced: chunk i of the job draws from `rng.split('chunk', i)`. */
  readonly rng: Rng;
  /** Branches per chunk, the unit of work, retry and journal; changes the bytes. Default 512. */
  readonly chunkSize?: number;
  /** Episode id of the first branch, so that ids stay unique within a run. Default 0. */
  readonly firstEpisode?: number;
  /** Recorded with every row. */
  readonly scenario?: string;
  readonly task?: string;
  /** Recorded as the seed of the batch; default: the seed `rng` was made from by `Rng.fromSeed`. */
  readonly seed?: number;
}

/** Start states with their ids, and what was lived before each where models remember. */
export type Starts = Pick<RolloutRequest, 'starts' | 'history' | 'startIds'>;

/** Start states by their number. The same number gives the same state, whenever it is asked for. */
export interface StartSource {
  readonly rows: number;
  readonly obsDim: number;
  /** Those of numbers `rows`, in arrays of their own. */
  take(rows: Uint32Array): Starts;
}

/** A request whose start states are drawn as they are needed. */
export type Drawn<Request extends RolloutRequest> = Omit<Request, 'starts' | 'startIds' | 'history'> & {
  readonly starts: StartSource;
};

/** A request with the model and policy themselves, to be lived in this thread. */
export interface LiveRolloutRequest extends RolloutRequest {
  readonly model: VectorDynamics;
  readonly policy: Policy;
}

/** A request with model and policy frozen, to be lived anywhere. */
export interface FrozenRolloutRequest extends RolloutRequest {
  readonly model: WorldModelSnapshot;
  readonly policy: PolicySnapshot;
}

/** How the branches of a chunk or job ended; `episodes` = terminated + outOfHorizon + doubted. */
export interface RolloutCounts {
  readonly episodes: number;
  /** Transitions kept. */
  readonly rows: number;
  readonly terminated: number;
  readonly outOfHorizon: number;
  /** Ended because the ensemble disagreed. */
  readonly doubted: number;
  /** Of the doubted: transitions not kept (`onDoubt: 'drop'`). */
  readonly dropped: number;
}

/** Rows of one chunk, branch after branch in the order of starts, steps ascending. Columns mean what they mean in Provenance. */
export interface RolloutChunk extends TransitionBatch {
  readonly index: number;
  readonly episode: Float64Array;
  readonly step: Uint32Array;
  readonly group: Float64Array;
  readonly parent: Float64Array;
  /** 1 / (1 + disagreement); absent where disagreement was not computed. */
  readonly confidence?: Float32Array;
  /** Absent where the policy gives none. */
  readonly logProb?: Float32Array;
  readonly counts: RolloutCounts;
}

export interface RolloutResult {
  readonly batch: TransitionBatch;
  readonly provenance: Provenance;
  readonly counts: RolloutCounts;
}

/** Called as chunks are delivered, in order. */
export interface RolloutProgress {
  readonly chunksDone: number;
  readonly chunks: number;
  /** Transitions delivered so far, those of a resumed journal included. */
  readonly rows: number;
}

export interface RolloutControls {
  /** Ends the job within about one model step; the promise rejects with the signal's reason. */
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: RolloutProgress) => void;
}
