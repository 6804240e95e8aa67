// What every world model of numbers is, beyond the contract of all dynamics (src/core/dynamics.ts): rows of float32, ways to
// be put away and sent to other threads, and what only some can do.

import type { Carry, Dynamics, NumberRows } from '../core/dynamics.js';
import type { VectorSpace } from '../core/environment.js';
import type { PolicyNetwork } from '../core/policy.js';
import type { Rng } from '../core/rng.js';
import type { DeviceTarget } from '../nn/cuda.js';
import type { SeenRange } from './seen-range.js';

/** How an ensemble answers: one random elite per row and step (TS1), or the elites' mean. PETS, 1805.12114, section 5. */
export type Propagation = 'ts1' | 'mean';

/**
 * Batches are row-major: observations [rows, obsDim], actions [rows, actionDim], a discrete one being one element. What is
 * imagined lies within the observation space's bounds. Actions are taken as they are, not clipped. `disagreement` is, in models
 * that learn, the largest deviation of an opinion's mean from the mean of all (cf. MOReL, 2005.05951), as the root mean square over
 * observation elements, each in standard deviations of its change in the training data: 1 = one opinion is off by as much as
 * the state usually moves.
 */
export interface VectorDynamics<C extends Carry = Carry> extends Dynamics<C, NumberRows> {
  readonly observationSpace: VectorSpace;
  readonly actionSpace: VectorSpace;
  /** What it was shown of the world; absent in models that were not fitted to rows, and in older ones. */
  readonly seen?: SeenRange;
  /** Opinions that `forecast` tells and `disagreement` compares; one where absent. */
  readonly opinions?: number;
  /** What each opinion foresees, without sampling; says the same when asked twice. Absent where it says one thing only. */
  forecast?(carry: C, action: Float32Array): Promise<Forecast>;
  /**
   * Branched rollouts as one piece of work, with the samples that as many steps would give; undefined, or not there at all,
   * where they can only be stepped. What the model thinks of its answer is left to the caller: NaN and infinity are counted.
   */
  rollout?(request: WholeRollout): Promise<WholeRolloutAnswer> | undefined;
}

/** A world model that can be put away and sent to other threads: every kind that is registered (kinds.ts). */
export interface StoredDynamics<C extends Carry = Carry> extends VectorDynamics<C> {
  /** Throws NOT_PORTABLE if it uses functions that no environment specification names. */
  snapshot(): WorldModelSnapshot;
  /** Replaces the folder, atomically and durably. Throws NOT_PORTABLE, STORAGE_FULL or STORAGE_FAILED. */
  save(folder: string): Promise<void>;
}

/**
 * A world model frozen for other threads: structured-clonable (weights in SharedArrayBuffers or plain buffers).
 * `loadWorldModel(snapshot)` of this room revives it.
 */
export interface WorldModelSnapshot {
  /** Name of its kind in the registry. */
  readonly backend: string;
  readonly modelVersion: string;
  readonly payload: unknown;
}

/** Where a world model is to run. */
export interface ModelPlace {
  /** A GPU, or its emulation; the processor unless given. */
  readonly device?: DeviceTarget;
}

/** What is foreseen of each row as an equal mixture of Gaussians, element by element; raw units. */
export interface Forecast {
  /** Gaussians of the mixture. */
  readonly components: number;
  /** [components, rows, obsDim] of the next observation. */
  readonly mean: Float32Array;
  /** [components, rows, obsDim] */
  readonly std: Float32Array;
}

// Branched rollouts that a world model runs as one piece of work, policy and all: what is asked and what comes back.

export interface WholeRollout {
  /** [branches, obsDim] */
  readonly starts: Float32Array;
  readonly branches: number;
  readonly horizon: number;
  readonly policy: PolicyNetwork;
  readonly isPolicyDeterministic: boolean;
  readonly propagation?: Propagation;
  readonly isModelDeterministic: boolean;
  /** Also compute `disagreement`; always done where there is a limit. */
  readonly withDisagreement: boolean;
  /** A branch ends where disagreement is greater than this. */
  readonly disagreementLimit?: number;
  /** The row that ended a branch by doubt is left out. */
  readonly dropsDoubted: boolean;
  /** Of the policy's and of the model's noise at step t; not moved. */
  readonly actRng: (step: number) => Rng;
  readonly modelRng: (step: number) => Rng;
}

/** Rows branch after branch in the order of starts, each branch's steps in order; columns as in a transition batch. */
export interface WholeRolloutAnswer {
  readonly rows: number;
  readonly obs: Float32Array;
  readonly action: Float32Array;
  readonly reward: Float32Array;
  readonly nextObs: Float32Array;
  readonly logProb?: Float32Array;
  readonly disagreement?: Float32Array;
  readonly terminated: Uint8Array;
  /** 1 where the branch ends for another reason than the task. */
  readonly truncated: Uint8Array;
  readonly branch: Uint32Array;
  readonly step: Uint32Array;
  /** How branches ended; those ended by doubt whether or not the doubted row was left out. */
  readonly ended: { readonly terminated: number; readonly outOfHorizon: number; readonly doubted: number };
  /** Values that were NaN or infinite: the rows are of no use then. */
  readonly nonFinite: number;
}
