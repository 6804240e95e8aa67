// What would happen next: the interface every kind of vector dynamics implements. Batched and stateless.

import type { Rng } from '../core/rng.js';
import type { VectorSpace } from '../env/index.js';
import type { DeviceTarget } from '../nn/index.js';
import type { WholeRollout, WholeRolloutAnswer } from './whole-rollout.js';

/** How an ensemble answers: one random elite per row and step (TS1), or the elites' mean. PETS, 1805.12114, section 5. */
export type Propagation = 'ts1' | 'mean';

export interface StepOptions {
  readonly propagation?: Propagation;
  /** Also compute `disagreement` (evaluates every elite: several times the work). */
  readonly disagreement?: boolean;
  /** Use the predicted mean instead of sampling the Gaussian head. */
  readonly deterministic?: boolean;
}

/** Answer for `rows` state-action pairs, structures of arrays, row-major. */
export interface VectorPrediction {
  readonly nextObs: Float32Array;
  readonly reward: Float32Array;
  readonly terminated: Uint8Array;
  /**
   * Epistemic doubt per row: largest deviation of an elite's mean from the elites' mean (cf. MOReL, 2005.05951), as the root
   * mean square over observation elements, each in standard deviations of its change in the training data. 0 = all agree;
   * 1 = one elite is off by as much as the state usually moves.
   */
  readonly disagreement?: Float32Array;
}

export interface VectorWorldModel {
  readonly family: 'vector';
  /** Kind of dynamics, recorded as `backend` with every transition: `ensemble`, `onnx`, `exact`. */
  readonly backend: string;
  /** Hash of weights and configuration: equal versions give equal bytes. */
  readonly modelVersion: string;
  readonly observationSpace: VectorSpace;
  readonly actionSpace: VectorSpace;
  /**
   * obs [rows, obsDim] and action [rows, actionDim] to what follows. Same inputs and rng state, same bytes. Randomness is
   * drawn for the batch as a whole, so a row alone gets other noise than in a batch; without noise it gets the same answer to
   * float32 rounding. nextObs lies within the observation space's bounds. Actions are taken as they are, not clipped.
   * Throws MODEL_INPUT_INVALID for arrays of the wrong size or discrete values outside their space, NON_FINITE_VALUE for NaN or
   * infinity going in or coming out.
   */
  step(
    obs: Float32Array,
    action: Float32Array,
    rows: number,
    rng: Rng,
    options?: StepOptions,
  ): Promise<VectorPrediction>;
  /**
   * Branched rollouts as one piece of work, with the samples that as many steps would give; undefined, or not there at all,
   * where they can only be stepped. What the model thinks of its answer is left to the caller: NaN and infinity are counted.
   */
  rollout?(request: WholeRollout): Promise<WholeRolloutAnswer> | undefined;
  close(): Promise<void>;
}

/** Where a world model is to run. */
export interface ModelPlace {
  /** A GPU, or its emulation; the processor unless given. */
  readonly device?: DeviceTarget;
}

/** A world model that can be put away and sent to other threads: every kind this room makes. */
export interface StoredWorldModel extends VectorWorldModel {
  /**
   * As `step` for rows that belong to different episodes, row r with its own stream `rngs[r]`: what it answers to a row, and
   * how far that row's stream moves, are to the byte what `step` does with the row alone, whatever rows lie beside it.
   * Faster than as many steps where the arithmetic allows a batch to be exact (see src/nn/row-operators.ts), else as fast.
   * Throws as `step`; streams may have moved then.
   */
  stepRows(
    obs: Float32Array,
    action: Float32Array,
    rngs: readonly Rng[],
    options?: StepOptions,
  ): Promise<VectorPrediction>;
  /** Throws MODEL_NOT_PORTABLE if it uses functions that no environment specification names. */
  snapshot(): WorldModelSnapshot;
  /** Replaces the folder, atomically and durably. Throws MODEL_NOT_PORTABLE, STORAGE_FULL or STORAGE_FAILED. */
  save(folder: string): Promise<void>;
}

/**
 * A world model frozen for other threads: structured-clonable (weights in SharedArrayBuffers or plain buffers).
 * `loadWorldModel(snapshot)` of this room revives it.
 */
export interface WorldModelSnapshot {
  readonly backend: string;
  readonly modelVersion: string;
  readonly payload: unknown;
}
