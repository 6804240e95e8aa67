// What would happen next: the interface every kind of vector dynamics implements. Batched and stateless.

import type { VectorSpace } from '../env/index.js';
import type { Rng } from '../rng.js';

/** How an ensemble answers: one random elite per row (TS1), the elites' mean, or every member. PETS, 1805.12114, section 5. */
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
  /** Epistemic doubt per row: largest deviation norm of an elite's mean from the elites' mean, in normalised units (MOReL-style). */
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
  /** obs [rows, obsDim] and action [rows, actionDim] to what follows. Same inputs and rng state, same bytes. */
  step(obs: Float32Array, action: Float32Array, rows: number, rng: Rng, options?: StepOptions): Promise<VectorPrediction>;
  close(): Promise<void>;
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
