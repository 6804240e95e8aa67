// What acts: declared here so that rooms which run policies need not know how one is learnt.

import type { Rng } from '../rng.js';
import type { Awaitable } from './environment.js';

export interface PolicyAction {
  /** [rows, actionDim], row-major; a discrete action is one element. */
  readonly action: Float32Array;
  /** Log-probability (density for continuous actions) of each row's action; absent for deterministic policies. */
  readonly logProb?: Float32Array;
}

export interface ActOptions {
  /** Take the mode instead of sampling. */
  readonly deterministic?: boolean;
}

/** A batched vector policy; stateless: all randomness comes from `rng`. */
export interface Policy {
  /** Identifies the exact weights; recorded with every transition. */
  readonly version: string;
  /** obs [rows, obsDim] to actions; the same inputs and rng state give the same bytes. */
  act(obs: Float32Array, rows: number, rng: Rng, options?: ActOptions): Awaitable<PolicyAction>;
}

/**
 * A policy frozen for other threads: structured-clonable. `loader` is the URL of a module of ours whose export
 * `loadPolicy(payload): Promise<Policy>` revives it, so that a worker needs no import of the room that made it.
 */
export interface PolicySnapshot {
  readonly version: string;
  readonly loader: string;
  readonly payload: unknown;
}
